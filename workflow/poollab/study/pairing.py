"""Which arms a benchmark's row meets, and the checks that need the whole of such a study."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from poollab.study.arms import BENCHMARKS_ONLY, KEYS_OF, Arm
from poollab.study.benchmarks import Benchmark, Pair

if TYPE_CHECKING:
    from poollab.study.model import Study

#: Clients of each kind of pair.
CLIENTS = {"async": ("asyncpg", "psycopg-async"), "sync": ("psycopg-threads", "sqlalchemy-threads")}
#: Clients that no schedule of requests can be sent with.
ONLY_HERE = ("sqlalchemy-threads",)
#: The one analysis of benchmarks, and of nothing else.
ANALYSIS = "pool-implementations"
KEYS = ("baseline", "candidate", "pairs", "confirm")
#: Settings of an arm that only rows with a fresh pool know: every other pool is full before the clock starts.
FRESH_ONLY, FRESH = "min_size", "cold-start-ramp"
#: Settings of an arm that mean nothing to a row: it has its own callers, and its pool is full or empty.
NOT_HERE = ("threads", "executor")


def rows(study: "Study") -> dict[str, Benchmark]:
    """Return the rows of a study by the names of their workloads."""
    return {name: own.benchmark for name, own in study.workloads.items() if own.benchmark is not None}


def pair_of(study: "Study", kind: str) -> Pair | None:
    """Return the pair of a kind of row (async, sync), None where the study has none."""
    if study.pairs is not None:
        return study.pairs.of(kind)
    if study.baseline is None or study.candidate is None or study.baseline == study.candidate:
        return None
    known = study.client_of(study.baseline) if study.baseline in study.arm_map else ""
    return Pair(baseline=study.baseline, candidate=study.candidate) if known in CLIENTS[kind] else None


def arms_of(study: "Study", row: Benchmark) -> list[str]:
    """Return the two arms that a row meets, the baseline first; none where the study has no such pair."""
    pair = pair_of(study, row.kind)
    return [] if pair is None else [arm for arm in (pair.baseline, pair.candidate) if arm in study.arm_map]


def partner(study: "Study", row: Benchmark, arm: str) -> str | None:
    """Return the synchronous arm that stands beside an asynchronous one in a mixed row, by its role."""
    mine, other = pair_of(study, "async"), pair_of(study, "sync")
    if row.mode != "mixed" or mine is None or other is None:
        return None
    return other.baseline if arm == mine.baseline else other.candidate


def faults(study: "Study") -> list[str]:
    """Check what benchmarks need of a study, and that other studies use nothing of theirs."""
    found = rows(study)
    if not found:
        return [*_strangers(study)]
    if len(found) < len(study.workloads):
        other = next(name for name in study.workloads if name not in found)
        return [f"workloads.{other}: stands beside benchmarks; give it a benchmark too, or a study of its own"]
    if study.arms is None:
        return ["pools: a benchmark compares arms; name them under arms, each with its client"]
    if wrong := [*_named(study)]:
        return wrong
    return [
        *_whole(study),
        *_least(study, found),
        *(line for label, arm in study.arms.items() for line in _arm(f"arms.{label}", arm)),
        *(line for name, row in found.items() for line in _row(study, name, row)),
    ]


def _strangers(study: "Study") -> Iterator[str]:
    """Name what belongs to benchmarks in a study that has none."""
    if study.analysis == ANALYSIS:
        yield f"analysis = {ANALYSIS}: compares benchmarks, and no workload is one; take another analysis"
    for key in KEYS:
        if getattr(study, key) is not None:
            yield f"{key}: belongs to a study whose workloads are benchmarks; remove it"
    for label, arm in study.arm_map.items():
        yield from _strange(label, arm, study.client_of(label))


def _strange(label: str, arm: Arm, client: str) -> Iterator[str]:
    """Name what only a benchmark could make of an arm."""
    if arm.min_size is not None:
        yield (
            f"arms.{label}.{FRESH_ONLY}: belongs to benchmarks ({FRESH}); here every connection is made before "
            "the run; remove it"
        )
    for key, clients in BENCHMARKS_ONLY.items():
        if getattr(arm, key) is not None and client in clients:
            others = ", ".join(known for known in KEYS_OF[key] if known not in clients)
            yield (
                f"arms.{label}.{key}: {client} has no such setting outside benchmarks; remove it, or take one of: "
                f"{others}"
            )
    if client in ONLY_HERE:
        yield (
            f"arms.{label}.client = {client}: serves benchmarks only; use one of: asyncpg, psycopg-async, "
            "psycopg-threads, psycopg-executor"
        )


def _named(study: "Study") -> Iterator[str]:
    """Check that the pairs are given once, of arms that exist and are of the right kind."""
    short = (study.baseline, study.candidate)
    if (study.pairs is None) == (short == (None, None)) or (study.pairs is None and None in short):
        yield "pairs: give either pairs, or baseline and candidate (one pair); each names an arm"
        return
    if study.pairs is None and short[0] == short[1]:
        yield f"candidate = {short[1]}: is the baseline too; name equal pools as two arms"
        return
    pairs = [(f"pairs.{k}", k, p) for k in CLIENTS if study.pairs and (p := study.pairs.of(k)) is not None]
    for at, kind, role, arm in [(a, k, r, getattr(p, r)) for a, k, p in pairs for r in ("baseline", "candidate")] or [
        ("", "", role, str(getattr(study, role))) for role in ("baseline", "candidate")
    ]:
        where = f"{at}.{role}" if at else role
        if arm not in study.arm_map:
            yield f"{where} = {arm}: there is no such arm; name one of: {', '.join(study.arm_map)}"
        elif kind and study.client_of(arm) not in CLIENTS[kind]:
            yield f"{where} = {arm}: its client is {study.client_of(arm)}; allowed here: {', '.join(CLIENTS[kind])}"
    if study.pairs is None and not any(pair_of(study, kind) for kind in CLIENTS):
        yield f"baseline = {short[0]}: its client is no pool of a benchmark; use one of: asyncpg, psycopg-async"


def _whole(study: "Study") -> Iterator[str]:
    if study.analysis != ANALYSIS:
        yield f"analysis = {study.analysis}: has nothing to say about benchmarks; use {ANALYSIS}"
    if study.spare_repeats:
        yield f"spare_repeats = {study.spare_repeats}: means nothing in a benchmark; say with confirm what is repeated"
    passes = study.confirm.passes if study.confirm else study.repeats
    if passes != study.repeats:
        yield f"repeats = {study.repeats}: each pass is a repeat, and confirm.passes is {passes}; make them equal"
    if study.pairs is None:
        clients = {study.client_of(str(arm)) for arm in (study.baseline, study.candidate)}
        if not any(clients <= set(known) for known in CLIENTS.values()):
            yield f"baseline, candidate: {' and '.join(sorted(clients))} have no kind of caller in common"


def _least(study: "Study", found: dict[str, Benchmark]) -> Iterator[str]:
    """Refuse a least size that no row would show."""
    for label, arm in (study.arms or {}).items():
        if arm.min_size is not None and all(row.family != FRESH for row in found.values()):
            yield f"arms.{label}.{FRESH_ONLY}: no row is of {FRESH}, and all others start full; remove it or add one"


def _arm(at: str, arm: Arm) -> Iterator[str]:
    for key in NOT_HERE:
        if getattr(arm, key) is not None:
            yield f"{at}.{key}: means nothing in a benchmark, whose rows say how many callers there are; remove it"
    if arm.processes != 1:
        yield f"{at}.processes = {arm.processes}: a benchmark runs in one process; remove it"
    if arm.compute_in != "caller":
        yield f"{at}.compute_in = {arm.compute_in}: a benchmark has no compute steps; remove it"


def _row(study: "Study", name: str, row: Benchmark) -> Iterator[str]:
    at, met = f"workloads.{name}.benchmark", arms_of(study, row)
    kinds = ("async", "sync") if row.mode == "mixed" else (row.kind,)
    lacking = [kind for kind in kinds if pair_of(study, kind) is None]
    if lacking:
        missing = " and ".join(lacking)
        yield f"{at}.mode = {row.mode}: no pair is given for {missing}; add it under pairs, or remove the row"
        return
    partners = [other for arm in met if (other := partner(study, row, arm)) is not None]
    for label in [*met, *partners]:
        if row.pool > study.arm_map[label].size:
            size = study.arm_map[label].size
            yield f"{at}.pool = {row.pool}: arms.{label}.size is {size}; use at most that, or raise it"
        least = study.arm_map[label].min_size
        if row.family == FRESH and least is not None and least > row.pool:
            yield f"{at}.pool = {row.pool}: arms.{label}.min_size is {least}; lower it to at most {row.pool}"
