"""series.json, in ms and beside the arms and runs that it belongs to."""

from typing import Any

from poollab.report.cells import support
from poollab.report.words import listed, to_ms

Row = dict[str, Any]


def attach(groups: list[Row], series: Row) -> None:
    """Give each run its `spectrum`, each arm its `slowest`, `delivered` and `spectrum` (median over its ok runs)."""
    conditions = {(c["workload"], c["arm"], c["limits"]): c for c in series["conditions"]}
    for group in groups:
        for arm in group["arms"]:
            mine = conditions.get((group["workload"], arm["arm"], group["limits"]), {})
            for run in arm["runs"]:
                run["spectrum"] = [_point(*p) for p in series["runs"].get(run["cell"], [])]
            arm["spectrum"] = _median([r["spectrum"] for r in arm["runs"] if r["ok"]])
            arm["slowest"] = _slowest(mine.get("slowest"))
            arm["delivered"] = _delivered(mine.get("delivered"))


def _point(share: float, value_ns: float, beyond: int) -> Row:
    return {"share": share, "ms": to_ms(value_ns), "support": support(beyond), "beyond": beyond}


def _median(spectra: list[list[Row]]) -> list[Row]:
    """Return the median over runs at each share that all of them reach (the mean of the two in the middle)."""
    points = []
    for at in range(min((len(s) for s in spectra), default=0)):
        each = sorted(s[at]["ms"] for s in spectra)
        middle = (each[(len(each) - 1) // 2] + each[len(each) // 2]) / 2
        least = min(s[at]["beyond"] for s in spectra)
        points.append({"share": spectra[0][at]["share"], "ms": middle, "support": support(least), "beyond": least})
    return points


def _slowest(entry: Row | None) -> Row:
    if not entry or not entry["means_ns"]:
        return {"requests": 0, "means_ms": None}
    return {"requests": entry["requests"], "means_ms": {k: to_ms(v) for k, v in entry["means_ns"].items()}}


def _delivered(entry: Row | None) -> Row | None:
    """Return rates in requests per second of one run, the mean over the ok runs, and the largest delay in ms."""
    if not entry:
        return None
    whole = entry["runs"] * entry["bin_s"]
    return {
        "bin_s": entry["bin_s"],
        "offered_per_s": [n / whole for n in entry["offered"]],
        "completed_per_s": [n / whole for n in entry["completed"]],
        "latest_ms": [to_ms(v) for v in entry["latest_ns"]],
    }


def timelines(series: Row, groups: list[Row]) -> list[Row]:
    """Return the runs over time with the labels of their workload and pool; times in ns, as they are drawn."""
    arms = {(g["workload"], g["limits"], a["arm"]): (g, a) for g in groups for a in g["arms"]}
    found = []
    for line in series["timelines"]:
        group, arm = arms[line["workload"], line["limits"], line["arm"]]
        found.append({**line, "group": group["label"], "label": arm["label"], "runs_ok": arm["runs_ok"]})
    return found


def rule(lines: list[Row]) -> str:
    """Say by which rule the runs over time were chosen, and which those are."""
    shown = listed([f"{line['cell']} (p99 {line['overall_p99_ns'] / 1e6:.2f} ms)" for line in lines])
    return (
        "The workload with the longest mean acquisition wait at its smallest pool; of it the smallest and the largest "
        "pool; of each the ok run whose p99 of the overall time is the median (of an even number the lower one in the "
        f"middle). That gives {shown}."
    )
