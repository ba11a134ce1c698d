"""What is compared: a client with its pool, and the sums that such an arm needs."""

from typing import Annotated, Literal

from pydantic import Field

from poollab.study.parts import Part

Client = Literal["asyncpg", "psycopg-async", "psycopg-threads", "psycopg-executor", "sqlalchemy-threads"]

#: Worker threads where neither the arm nor the arrivals say how many requests may be under way at once.
THREADS = 100

#: Keys that only some clients know, with the clients that do.
KEYS_OF: dict[str, tuple[Client, ...]] = {
    "threads": ("psycopg-threads",),
    "executor": ("psycopg-executor",),
    "reset": ("asyncpg", "psycopg-async", "psycopg-threads"),
    "check": ("psycopg-async", "psycopg-threads", "psycopg-executor", "asyncpg", "sqlalchemy-threads"),
    "lifo": ("sqlalchemy-threads",),
    "min_size": ("asyncpg", "psycopg-async", "psycopg-threads"),
}


#: Of these keys, clients that know them in benchmarks only.
BENCHMARKS_ONLY: dict[str, tuple[Client, ...]] = {
    "reset": ("psycopg-async", "psycopg-threads"),
    "check": ("asyncpg", "sqlalchemy-threads"),
}


class Arm(Part):
    """A labelled pool with its client: what is compared."""

    size: Annotated[int, Field(ge=1, le=10_000)]
    """Connections in the pool of each process, all established before the run."""
    client: Client | None = None
    """Driver, execution model and pool class of this arm; absent means the study's client."""
    processes: Annotated[int, Field(ge=1, le=64)] = 1
    """Load generator processes, each with a pool of its own, as instances of an application have."""
    threads: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Worker threads of each process (psycopg-threads); absent means as many as requests may be under way."""
    executor: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Threads of the executor of each process (psycopg-executor); absent means as many as connections."""
    compute_in: Literal["caller", "processes"] = "caller"
    """Where compute steps run: in the thread or loop that sends the request, or in a pool of processes."""
    reset: bool | None = None
    """Whether a connection is reset when it is given back (asyncpg does by default; psycopg in benchmarks only)."""
    check: bool | None = None
    """Whether a connection is checked by a round trip when it is taken (not by default; asyncpg in benchmarks only)."""
    lifo: bool | None = None
    """Whether the connection given back last is taken first (sqlalchemy-threads; it is not by default)."""
    min_size: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Connections that a pool of cold-start-ramp has before its callers come (none by default; benchmarks only)."""

    @property
    def connections(self) -> int:
        """Connections of all processes together."""
        return self.size * self.processes


def faults(at: str, arm: Arm, client: str) -> list[str]:
    """Say which keys of an arm its client does not know, and where its threads cannot use its pool."""
    found = [
        f"{at}.{key}: {client} has no such setting; remove it, or take one of: {', '.join(clients)}"
        for key, clients in KEYS_OF.items()
        if getattr(arm, key) is not None and client not in clients
    ]
    for key, what in (("threads", "worker threads"), ("executor", "executor threads")):
        number = getattr(arm, key)
        if number is not None and client in KEYS_OF[key] and number < arm.size:
            found.append(
                f"{at}.{key} = {number}: {number} {what} never hold more than {number} of its {arm.size} connections; "
                f"use a size of at most {number}, or at least {arm.size} {what}"
            )
    return found
