"""What was near its limit at the smallest, the best and the largest pool: connections, CPU of either side, memory."""

from typing import Any

from poollab.report import words
from poollab.report.words import MIB, scale

Row = dict[str, Any]

#: From this share of a cap on, CPU is called near it.
NEAR = 0.9


def build(groups: list[Row], best: set[tuple[str, str]]) -> list[Row]:
    """
    Return one entry a workload: {label, id, lines: [{pool, text}]}, of its smallest, its best and its largest pool.

    `best` names conditions by (id of the group, arm): those with the lowest mean, where the analysis found one.
    """
    made = []
    for group in (g for g in groups if g["connections"]):
        arms = group["arms"]
        shown = [a for a in arms if a is arms[0] or a is arms[-1] or (group["id"], a["arm"]) in best]
        made.append({"label": group["label"], "id": group["id"], "lines": [_line(arm) for arm in shown]})
    return made


def _line(arm: Row) -> Row:
    if not arm["runs_ok"]:
        return {"pool": arm["label"], "text": "no run with status ok, so nothing to read."}
    found = [_connections(arm), _cpu(arm["database"], "the database"), _cpu(arm["generator"], "the load generator")]
    memory = scale(arm["database"]["memory_mean_bytes"], 1 / MIB)
    if memory is not None:
        found.append(f"the database took {words.number(memory)} MiB")
    return {"pool": arm["label"], "text": f"{'; '.join(part for part in found if part)}."}


def _connections(arm: Row) -> str:
    share, used = arm["wait"]["share"], arm["connections_used_max"]
    if share is None:
        return ""
    if share == 0:
        return f"no request found every connection taken ({used} of {arm['connections']} were used)"
    return f"{words.number(share * 100, 1)} % of the requests found every connection taken"


def _cpu(side: Row, name: str) -> str:
    if side["cpu_cores"] is None:
        return f"the CPU of {name} was not read"
    if side["cpu_of_cap"] is None:
        return f"{name} used {words.number(side['cpu_cores'], 3)} cores, without a cap"
    near = "near its CPU cap on average" if side["cpu_of_cap"] >= NEAR else "below its CPU cap on average"
    text = f"{name} was {near} ({words.number(side['cpu_of_cap'] * 100, 1)} % of it)"
    if side["throttle_ratio"]:
        return (
            f"{text}, and its group was throttled in {words.number(side['throttle_ratio'] * 100, 1)} % of the periods"
        )
    return text
