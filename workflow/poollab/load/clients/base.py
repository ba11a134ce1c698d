"""What every client is to the engines: driver, pool class and execution model behind the same few calls."""

from collections.abc import Sequence
from typing import Any, Protocol

from poollab.load.steps import Values

#: PostgreSQL plans a prepared statement five times for its arguments before it may settle on one plan.
CUSTOM_PLANS = 5
#: Executions on each connection before the warm-up.
WARM_UPS = CUSTOM_PLANS + 2
#: Asks the server what became of a statement's plan.
GENERIC_PLANS = "SELECT generic_plans FROM pg_prepared_statements WHERE statement = $1"
#: A connection is made, and what it is asked before a run is answered, within this time or the study's own bound if
#: that is longer: a bound of some milliseconds on waiting for a connection is none on making one.
AT_START_S = 10.0
#: Ten years in seconds: psycopg's pool has no way to say "never".
NEVER_S = 3.15e8
#: A statement and the arguments it is warmed with.
Statements = Sequence[tuple[str, Sequence[Values]]]


class Client(Protocol):
    """
    A pool of an asynchronous client.

    `acquire`, `query` and `release` are awaited; a wait that was too long raises one of `timeouts`.
    """

    timeouts: tuple[type[BaseException], ...]
    backends: list[int]
    """Server process ids of the connections, in order of establishment."""
    connects: int
    """Connections that were made so far, those after a loss included."""

    async def open(self) -> None:
        """Establish every connection of the pool, one after another."""
        ...

    async def settle(self, statements: Statements) -> str | None:
        """
        Execute the statements on every connection until their plans are settled.

        Returns `generic`, `custom` (the server keeps planning for each argument), `mixed` where
        connections or statements differ, None without a statement.
        """
        ...

    def acquire(self) -> Any:
        """Take a connection."""
        ...

    def query(self, connection: Any, sql: str, values: Values) -> Any:
        """Execute a statement and take all of its answer."""
        ...

    def release(self, connection: Any) -> Any:
        """Give a connection back."""
        ...

    def backend(self, connection: Any) -> int:
        """Return the server process id of a connection."""
        ...

    def facts(self) -> dict[str, Any]:
        """Name driver and pool as they really ran."""
        ...

    async def close(self) -> int:
        """Close one connection after another; return how many the pool could still hand out."""
        ...


class SyncClient(Protocol):
    """The same for threads: nothing is awaited."""

    timeouts: tuple[type[BaseException], ...]
    backends: list[int]
    connects: int

    def open(self) -> None:
        """See `Client`."""
        ...

    def settle(self, statements: Statements) -> str | None:
        """See `Client`."""
        ...

    def acquire(self) -> Any:
        """See `Client`."""
        ...

    def query(self, connection: Any, sql: str, values: Values) -> None:
        """See `Client`."""
        ...

    def release(self, connection: Any) -> None:
        """See `Client`."""
        ...

    def backend(self, connection: Any) -> int:
        """See `Client`."""
        ...

    def facts(self) -> dict[str, Any]:
        """See `Client`."""
        ...

    def abort(self) -> None:
        """Cut off every query that is under way, so that no thread waits for ever."""
        ...

    def close(self) -> int:
        """See `Client`."""
        ...


def one_word(kinds: set[str]) -> str | None:
    """Return the one kind of plan, `mixed` for several, None for none."""
    return "mixed" if len(kinds) > 1 else next(iter(kinds), None)


def describe(error: BaseException) -> str:
    """Return an error's class and the first line of its text (which may hold no secret: there is none)."""
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
