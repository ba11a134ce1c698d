"""Numbers and lists as the report writes them; rounding happens here and nowhere else."""

from collections.abc import Sequence
from datetime import UTC, datetime

#: In the place of a value that does not exist.
MISSING = "-"

MIB = 1024 * 1024


def number(value: float | None, decimals: int = 0) -> str:
    """Return the value with thousands separated by commas, or a dash for None."""
    return MISSING if value is None else f"{value:,.{decimals}f}"


def span(low: float | None, high: float | None, decimals: int = 0) -> str:
    """Return `low-high` with an en dash (one number where both read the same), or a dash where either is None."""
    if low is None or high is None:
        return MISSING
    first, last = number(low, decimals), number(high, decimals)
    return first if first == last else f"{first}\u2013{last}"


def decimals_for(largest: float | None) -> int:
    """Return one number of decimals for a table of milliseconds whose largest value is given."""
    return 3 if largest is not None and largest < 1 else 2


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return the count with its noun: `1 run`, `3 runs`."""
    return f"{count:,} {one if count == 1 else many or one + ('es' if one.endswith('s') else 's')}"


def listed(items: Sequence[str]) -> str:
    """Join names as prose: `a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "none"


def scale(value: float | None, factor: float) -> float | None:
    """Multiply a value that may be missing."""
    return None if value is None else value * factor


def to_ms(value_ns: float | None) -> float | None:
    """Turn nanoseconds into milliseconds."""
    return None if value_ns is None else value_ns / 1e6


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 instant; one without an offset is UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def clock(text: str | None) -> str:
    """Return an ISO 8601 instant as `2026-11-30 13:00:05` (UTC), or a dash."""
    return parse_time(text).strftime("%Y-%m-%d %H:%M:%S") if text else MISSING
