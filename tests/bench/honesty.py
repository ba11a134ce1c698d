"""
Does a verdict claim a difference where there is none, and does it find one that is there?

Simulated studies of the main study's size (three workloads, three arms, three repeats) go through the product's own
statistics. A study claims when any word in it does: mean, p95, p99 or rate, the acquisition wait, or an interval.
"""

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import simulator

from poollab.stats import analyses, comparisons, groups, verdict

STUDIES = 200
SPREADS = (0.01, 0.02, 0.03, 0.04)


def words(world: simulator.World, seed: int, repeats: int = 3) -> dict[str, Any]:
    """Simulate a study and return its claims by kind, and whether the true effect was found in each workload."""
    made = simulator.study(world, seed, repeats)
    context = analyses.Context(model={"analysis": "pool-size", "margin": 0.05}, runs=made.runs,
                               conditions=made.conditions)  # fmt: skip
    found = groups.groups(context.runs, context.conditions)
    told = analyses.build(context)
    rows = comparisons.build(found, context.margin)
    claims = Counter(row["metric"] for row in rows if row["word"] in comparisons.CLAIMS)
    for entry in told["verdicts"]:
        for arm in entry["arms"]:
            claims["wait"] += arm["wait"] == verdict.FELL
            claims["intervals"] += len(arm["longer"]) + len(arm["shorter"])
        claims["range"] += any(not size["inside"] for size in entry["range"]["sizes"])
    last = [arm for entry in told["verdicts"] for arm in entry["arms"] if arm["to"] == "pool-22"]
    mean = [r for r in rows if r["metric"] == "overall_mean" and r["kind"] == "baseline" and r["to"] == "pool-22"]
    return {"claims": +claims, "found": sum(a["word"] == "slower" for a in last), "of": len(last),
            "small": sum(r["word"] == "a small difference" for r in mean)}  # fmt: skip


def false_claims(studies: int, repeats: int = 3) -> tuple[int, Counter[str]]:
    """Count the A/A studies, over all spreads and with every harm among them, that claim anything, and by what."""
    claiming, kinds = 0, Counter[str]()
    for seed in range(studies):
        world = simulator.harmful(simulator.World(spread=SPREADS[seed % len(SPREADS)]), seed)
        claims = words(world, seed, repeats)["claims"]
        claiming += bool(claims)
        kinds.update(claims.keys())
    return claiming, kinds


def _found(world: simulator.World, repeats: int) -> tuple[float, float]:
    """Return the shares of comparisons with the baseline that find the true effect: slower, and any difference."""
    some = [words(world, 10_000 + seed, repeats) for seed in range(20)]
    asked, slower = (sum(r[key] for r in some) for key in ("of", "found"))
    return slower / asked, (slower + sum(r["small"] for r in some)) / asked


def main() -> None:
    """Print both tables."""
    begun = time.perf_counter()
    claiming, kinds = false_claims(STUDIES)
    by = ", ".join(f"{name} {count}" for name, count in kinds.most_common()) or "none"
    print(f"honesty: {claiming} of {STUDIES} A/A studies claim a difference ({claiming / STUDIES:.1%}); by: {by}")
    print("  true effect   spread   3 repeats: slower, any difference   5 repeats: slower, any difference")
    for effect in (0.10, 0.33):
        for spread in (0.01, 0.02, 0.04):
            shares = [_found(simulator.World(spread=spread, effect=effect), repeats) for repeats in (3, 5)]
            cells = "   ".join(f"{slower:>18.0%} {either:>15.0%}" for slower, either in shares)
            print(f"  {effect:>10.0%}   {spread:>6.0%}   {cells}", flush=True)
    print(f"  ({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
