"""CPU of the load generator for each request beside a bare acquire / fetchval / release loop."""

import statistics

import rig

PAIRS, SECONDS = 9, 8.0


def main() -> None:
    """Print both for each pair, and the median of the ratios."""
    plan, ratios = rig.short(rig.light_plan(), SECONDS), []
    print("CPU for each request, light-uniform, same timer and time-outs, both capped at 0.5 core on one server")
    with rig.capped_lab(plan) as lab:
        for pair in range(1, PAIRS + 1):
            # The order alternates, so that drift within a pair falls on both alike.
            order = [None, rig.BARE] if pair % 2 else [rig.BARE, None]
            found = {program: rig.run(lab, plan, program)["cpu_ns"] / 1000 for program in order}
            ratios.append(found[None] / found[rig.BARE])
            print(f"  pair {pair}: poollab {found[None]:.1f} us, bare {found[rig.BARE]:.1f} us, ratio {ratios[-1]:.3f}")
    print(f"  median ratio {statistics.median(ratios):.3f}x (goal 1.10x)")


if __name__ == "__main__":
    main()
