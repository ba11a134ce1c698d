"""Runs that are far out and spare runs, in words: what triggered each spare run, and how it ended."""

from typing import Any

from poollab.report import cells, words

Row = dict[str, Any]


def outlier(found: Row) -> str:
    """Say how far out a run is, and what became of it when it was measured again."""
    others = words.plural(found["others"], "other run")
    weak = "" if cells.support(found["beyond"]) == "plain" else f" (weak, {found['beyond']} beyond)"
    lead = (
        f"{found['cell']}: p99 {found['p99_ns'] / 1e6:.2f} ms{weak}, {found['times']:.1f} times the median of {others}."
    )
    said = [lead, *(["It is itself a spare run."] if found["spare"] else []), *_again(found["again"])]
    said += [f"Measured again: {s['cell']}, which ended {s['status']} and is in no number." for s in found["lost"]]
    if not (found["spare"] or found["again"] or found["lost"]):
        said.append(_not_again(found))
    return " ".join(said)


def _again(again: list[Row]) -> list[str]:
    if not again:
        return []
    shown = words.listed([f"{a['cell']} {a['p99_ns'] / 1e6:.2f} ms" for a in again])
    same = any(a["same"] for a in again)
    return [f"Measured again: {shown}; {'it came back' if same else 'it did not come back'}."]


def _not_again(found: Row) -> str:
    why = (
        "a spare run goes by the overall p99 of the ordinary runs, which called for none"
        if found["spares_planned"]
        else "the study has no spare repeats"
    )
    return f"It was not measured again: {why}."


def spare(found: Row) -> str:
    """Say what triggered a spare run, and how it ended."""
    counts = "ended ok and counts as the others do" if found["status"] == "ok" else _lost(found["status"])
    if not found["trigger"]:
        return (
            f"{found['cell']} {counts}. None of the ordinary runs that are here calls for it: when that was decided, "
            "one of them was not there yet, or was another than now."
        )
    far = [
        f"{t['cell']} ({t['overall_p99_ns'] / 1e6:.2f} ms, {t['times']:.1f} times the median of other ordinary runs)"
        for t in found["trigger"]
    ]
    return f"{found['cell']} {counts}. What called for it is the overall p99 of {words.listed(far)}."


def _lost(status: str) -> str:
    return f"ended {status} and is in no number"
