"""What a test wants of a study: the options of the fake results, and the study's model as it is recorded."""

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
HEAVY = "SELECT sum(length(md5(payload || id::text))) FROM pool_lab WHERE id BETWEEN $1 AND $1 + 1999"
LIGHT = "SELECT balance FROM pool_lab WHERE id = $1"


@dataclass(frozen=True)
class Fake:
    """What a test wants to differ from plain results."""

    title: str = "Does a larger connection pool make the whole operation faster?"
    pools: tuple[int, ...] = (5, 20, 100)
    repeats: int = 3
    window_s: float = 12.0
    blocks: int = 1
    capped: bool = True
    bad: dict[str, str] = field(default_factory=dict)  # cell -> status
    bad_condition: str = ""  # workload.arm of which no run is ok
    far_out: float = 1.0  # times by which a bad run is slower
    unmeasured: int = 0  # planned cells at the end that were not measured
    swapped: bool = False  # the first two cells ran in the other order
    sql: str = HEAVY
    limits: tuple[str, ...] = ("",)
    confirmed: bool = True
    arms: dict[str, int] | None = None

    @property
    def arm_sizes(self) -> dict[str, int]:
        """Pool size by label of the arm."""
        return self.arms or {f"pool-{n}": n for n in self.pools}

    @property
    def workloads(self) -> dict[str, Row]:
        """The model's dump of the three workloads."""
        arg = [{"int": [1, 18001]}]
        none = {"uniform": None, "bursts": None, "poisson": None}
        return {
            "light-uniform": {
                "same": None,
                "sql": LIGHT,
                "args": arg,
                "arrivals": none | {"uniform": {"every_ms": 5.0}},
            },
            "heavy-uniform": {
                "same": None,
                "sql": self.sql,
                "args": arg,
                "arrivals": none | {"uniform": {"every_ms": 25.0}},
            },
            "heavy-bursts": {
                "same": "heavy-uniform",
                "sql": None,
                "args": None,
                "arrivals": none | {"bursts": {"size": 10, "every_ms": 250.0}},
            },
        }


def model(fake: Fake) -> Row:
    """Return the dump of the study's model."""
    caps = {"cpus": 0.5, "period_ms": 10.0, "memory_mib": 768}
    return {
        "title": fake.title,
        "database": {
            "major": 16,
            "tables": {"pool_lab": {"rows": 20000}},
            "settings": {"max_connections": 110, "shared_buffers": "64MB", "work_mem": "1MB", "jit": "off"},
            "limits": caps,
            "lifetime": "block",
        },
        "load_generator": {"limits": caps | {"memory_mib": None}},
        "workloads": fake.workloads,
        "client": "asyncpg",
        "pools": None if fake.arms else list(fake.pools),
        "arms": {k: {"size": v} for k, v in fake.arms.items()} if fake.arms else None,
        "limits": None
        if fake.limits == ("",)
        else {k: {"database": None, "load_generator": None} for k in fake.limits},
        "repeats": fake.repeats,
        "windows": {"warm_up_s": 2.0, "measure_s": fake.window_s},
        "timeouts": {"acquire_s": 10.0, "query_s": 30.0, "drain_s": 20.0},
        "allowed_errors": 0.0,
        "order": {"seed": 20},
    }
