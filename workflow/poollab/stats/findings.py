"""analysis.json: what the study's analysis says, and what is said of every study beside it."""

from typing import Any

from poollab.stats import analyses, comparisons, drift, groups, stability

Row = dict[str, Any]
FORMAT = 1


def whole(context: analyses.Context) -> Row:
    """
    Return the content of analysis.json: plain JSON values.

    `analysis`, `headline`, `verdicts` and what else the analysis gives; `margin`; `comparisons` (see
    comparisons.build); `limits`, the same rows for each arm under each level of limits against the first (`from` and
    `to` name levels); `drift` (see drift.drift); `warnings` (see stability.warnings); `littles` and `stimulus`, one row
    for each measured run.
    """
    found = groups.groups(context.runs, context.conditions, context.model.get("arms"))
    moved = drift.drift(context.runs)
    own = analyses.build(context)
    return {
        "format": FORMAT,
        "margin": context.margin,
        **own,
        "comparisons": comparisons.build(found, context.margin),
        "limits": _across_limits(context),
        "drift": moved,
        "warnings": own.get("warnings", stability.warnings(found, moved, context.margin, own.get("outside", ""))),
        "littles": [{"cell": run["cell"], **context.per_run[run["cell"]]["littles"]} for run in context.runs],
        "stimulus": [{"cell": run["cell"], **context.per_run[run["cell"]]["stimulus"]} for run in context.runs],
    }


def _across_limits(context: analyses.Context) -> list[Row]:
    rows = comparisons.build(groups.by_limits(context.runs, context.conditions), context.margin)
    return [
        {("arm" if k == "limits" else k): v for k, v in row.items() if k not in ("from_size", "to_size")}
        for row in rows
        if row["kind"] == "baseline"
    ]
