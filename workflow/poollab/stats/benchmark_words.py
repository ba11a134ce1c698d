"""What is said of the rows of a benchmark: sentences, verdicts, the headline, warnings and the A/A count."""

from collections.abc import Mapping, Sequence
from typing import Any

from poollab.stats import speedup
from poollab.stats.benchmark_arms import ROLES
from poollab.stats.benchmark_rows import NOT_NEEDED
from poollab.stats.say import counted, listed

Row = dict[str, Any]

#: At most this share of the rows of an A/A comparison may be called different.
AA_GOAL = 0.05
#: Word of a family whose rows got different words.
DIFFERS = "differs by row"
#: A row whose clock is drawn holds and stated pauses for more than this share could hardly have shown a difference.
HOLD_BOUND = 0.9
#: A trend as clear as this is told.
SIGNIFICANT = 0.05
_BUSY = "Quiet the host and measure the row again, in a results folder of its own."


def sentence(row: Row, threshold: float) -> str:
    """Say what was found of a row, with each pass and with what the median says where it says otherwise."""
    name, times = row["called"], [row["arms"][role]["times"] for role in ROLES]
    lead = f"{name['candidate']} against {name['baseline']}: "
    if row["incomparable"]:
        return f"{lead}not compared, since {listed(row['incomparable'])} cannot use the pipeline that the row asks for."
    split = "".join(f" Pass {number} is left out: its arms lie in different blocks." for number in row["split"])
    if row["ratio"] is None:
        return f"{lead}no pass in which both arms have a run that counts.{split}"
    passes = ", ".join(f"{r:.2f}" for r in row["ratios"] if r is not None)
    text = (
        f"{lead}mean {times[0]['mean_ns'] / 1e6:.3g} ms / {times[1]['mean_ns'] / 1e6:.3g} ms = {row['ratio']:.2f} over "
        f"{times[0]['n']} and {times[1]['n']} iterations (by pass {passes}).{split}"
    )
    if row["disagree"]:
        text += (
            f" The median says otherwise: {row['median_ratio']:.2f}, on the other side of the threshold of "
            f"{threshold:.0%}."
        )
    if row["hold_bound"]:
        text += f" Holds and pauses alone are {row['unhurried_share']:.0%} of the clock."
    return text


def compared(rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose arms do the same."""
    return [row for row in rows if row["word"] != speedup.NOT_COMPARABLE]


def verdicts(rows: Sequence[Row]) -> list[Row]:
    """Return one verdict for each family and pair of arms, with how many of its rows got which word."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["family"], row["called"]["baseline"], row["called"]["candidate"]), []).append(row)
    return [_verdict(key, mine) for key, mine in found.items()]


def _verdict(key: tuple[str, ...], mine: list[Row]) -> Row:
    family, baseline, candidate = key
    words = [word for word in speedup.WORDS if any(row["word"] == word for row in mine)]
    ratios = [row["ratio"] for row in mine if row["ratio"] is not None]
    span = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}" if ratios else "none"
    odd = [row["workload"] for row in mine if row["disagree"]]
    median = f" The median says otherwise in {', '.join(odd)}." if odd else ""
    return {
        "subject": f"{family}: {candidate} against {baseline}",
        "sentence": f"{counted(len(mine), 'row')}: {_counts(mine)}; ratio of means {span}.{median}",
        "word": words[0] if len(words) == 1 else DIFFERS if words else speedup.NOT_COMPARABLE,
    }


def _counts(rows: Sequence[Row]) -> str:
    """Say how many rows got which word; those that their holds bind apart, as they could have got no other."""
    parts = []
    for word in (*speedup.WORDS, speedup.NOT_COMPARABLE):
        mine = [row for row in rows if row["word"] == word]
        bound = [row for row in mine if _bound(row)]
        if len(mine) > len(bound):
            parts.append(f"{len(mine) - len(bound)} {word}")
        if bound:
            parts.append(f"{len(bound)} {word} but hold-bound")
    return ", ".join(parts)


def headline(rows: Sequence[Row]) -> str:
    """Say in a sentence how many rows got which word, and where the largest difference is."""
    mine = compared(rows)
    if not mine:
        return f"Nothing was compared: no row has a pair of arms{' that do the same' if rows else ''}."
    left = len(rows) - len(mine)
    tail = f"{counted(len(mine), 'row')}: {_counts(mine)}"
    tail += f"; {counted(left, 'further row')} {'is' if left == 1 else 'are'} not comparable" if left else ""
    decided = [row for row in mine if row["word"] in {speedup.FASTER, speedup.SLOWER}]
    if all(row["aa"] for row in mine):
        return f"The same implementation twice, {tail}."
    if not decided:
        return f"No confirmed difference in {tail}."
    largest = _largest(decided)
    return f"Candidate against baseline in {tail}{largest}."


def _largest(decided: Sequence[Row]) -> str:
    # A mean over all passes can lie on the other side of 1 than most of them; such a row is no example.
    shown = [row for row in decided if (row["ratio"] > 1) == (row["word"] == speedup.FASTER)]
    if not shown:
        return ""
    most = max(shown, key=lambda row: abs(row["ratio"] - 1) if row["ratio"] >= 1 else 1 / row["ratio"] - 1)
    times, than = (most["ratio"], "faster") if most["ratio"] >= 1 else (1 / most["ratio"], "slower")
    return f"; largest: {most['called']['candidate']} {times:.1f} times {than} in {most['workload']}"


def warnings(rows: Sequence[Row], moved: Mapping[str, Any]) -> list[Row]:
    """Name the rows of which a pass does not count, and say where times moved over the order of the runs."""
    found = [
        {
            "kind": "lost-pass",
            "subject": row["workload"],
            "text": f"These passes do not count: {', '.join(lost)}.",
            "advice": _BUSY,
        }
        for row in rows
        if (lost := _lost(row))
    ]
    for kind, p in (("drift", moved["p"]), ("blocks", moved["blocks_p"])):
        if p is not None and p < SIGNIFICANT:
            advice = "The arms of a row follow one another, so their ratios stand; do not compare times between rows."
            return [*found, {"kind": kind, "subject": "study", "text": moved["sentence"], "advice": advice}]
    return found


def _lost(row: Row) -> list[str]:
    lost = [
        f"{row[role]} pass {number} ({word})"
        for role in ROLES
        for number, word in enumerate(row["arms"][role]["statuses"], start=1)
        if word not in {"ok", NOT_NEEDED}
    ]
    return lost + [f"pass {number} (its arms lie in different blocks)" for number in row["split"]]


def aa(rows: Sequence[Row]) -> Row | None:
    """
    Say how many rows of equal arms were called different; None where no pair is of equal arms.

    A row of which nothing can be told, or whose clock is holds, could not have been called different, so it is none of
    those that were right.
    """
    mine = [row for row in rows if row["aa"]]
    if not mine:
        return None
    told = [row for row in compared(mine) if row["word"] != speedup.CANNOT_TELL and not _bound(row)]
    claimed = [row["workload"] for row in told if row["word"] in {speedup.FASTER, speedup.SLOWER}]
    return {
        "rows": len(told),
        "untold": len(mine) - len(told),
        "claimed": claimed,
        "goal": AA_GOAL,
        "kept": bool(told) and len(claimed) <= AA_GOAL * len(told),
    }


def _bound(row: Row) -> bool:
    return bool(row["word"] == speedup.NO_DIFFERENCE and row["hold_bound"])
