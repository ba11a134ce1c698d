"""Numbers and lists in the words of sentences."""

from collections.abc import Sequence


def ms(value_ns: float | None) -> str:
    """Return nanoseconds as milliseconds without the unit: at least two digits that count, at most two decimals."""
    if value_ns is None:
        return "not known"
    value = value_ns / 1e6
    return f"{value:.{3 if value < 0.1 else 2 if value < 10 else 1}f}"


def between(before_ns: float | None, after_ns: float | None) -> str:
    """Return two times as `9.90 against 15.0 ms`."""
    return f"{ms(before_ns)} against {ms(after_ns)} ms"


def percent(ratio: float | None) -> str:
    """Return a ratio as a signed change in per cent, with a decimal below ten."""
    if ratio is None:
        return "not known"
    change = (ratio - 1) * 100
    return f"{change:+.{1 if abs(change) < 9.95 else 0}f} %"


def span(low: float | None, high: float | None) -> str:
    """Return an interval of ratios as changes in per cent."""
    return f"{percent(low)} to {percent(high)}"


def listed(items: Sequence[str], word: str = "and") -> str:
    """Join with commas and a word before the last."""
    return f" {word} ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def counted(number: int, word: str) -> str:
    """Say a number of things."""
    return f"{number} {word}{'' if number == 1 else 's'}"
