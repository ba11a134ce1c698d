"""Find the integer with which one execution of a statement costs a stated CPU time of the database."""

import random
import time
from collections.abc import Callable
from typing import Any

from poollab.errors import ConfigError, LabError
from poollab.lab.base import ROLE, Lab

#: CPU time to collect for one estimate, in ns, and the executions that it takes at least.
ENOUGH_NS, FEWEST = 300_000_000, 5
#: The server plans for five executions before it may settle on one plan.
WARM_UPS = 7
#: Good enough, and the most that is accepted, as shares of what is asked.
GOOD, ACCEPTED = 0.03, 0.10
TRIES = 10
#: A statement that waits takes no CPU however often it is sent: an estimate ends after so long, in seconds.
LONGEST_S = 30.0


def find(lab: Lab, query: dict[str, Any], place: int, at: str) -> dict[str, Any]:
    """
    Return the value with the cost that was measured for it, and every try as (value, ns).

    Raises:
        ConfigError: no value in the range costs what is asked on this machine.
        LabError: the database's CPU time cannot be read here.
    """
    import psycopg  # noqa: PLC0415 - only where a server is talked to

    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        connection.execute(f"SET ROLE {ROLE}")
        execute = _executor(connection, query, place)
        return search(lambda value: _cost_ns(lab, execute, value), query["args"][place]["calibrated"], f"{at}.args")


def search(cost_ns: Callable[[int], float], asked: dict[str, Any], at: str) -> dict[str, Any]:
    """
    Search a range for the value whose cost is what is asked, by straight lines between what is known.

    Raises:
        ConfigError: even the ends of the range lie on one side of it, or no value came near.
    """
    wanted_ns, low, high = asked["cpu_ms"] * 1e6, asked["from"], asked["to"]
    tries = [(low, cost_ns(low)), (high, cost_ns(high))]
    _refuse_out_of_reach(tries, asked, at)
    for _ in range(TRIES):
        best = min(tries, key=lambda pair: abs(pair[1] - wanted_ns))
        if abs(best[1] / wanted_ns - 1) <= GOOD:
            break
        below = max((p for p in tries if p[1] <= wanted_ns), default=tries[0])
        above = min((p for p in tries if p[1] > wanted_ns), default=tries[1])
        span = above[1] - below[1]
        share = (wanted_ns - below[1]) / span if span > 0 else 0.5
        value = round(below[0] + (above[0] - below[0]) * min(0.95, max(0.05, share)))
        if value in {value for value, _ in tries}:
            break
        tries.append((value, cost_ns(value)))
    value, cost = min(tries, key=lambda pair: abs(pair[1] - wanted_ns))
    if abs(cost / wanted_ns - 1) > ACCEPTED:
        text = f"the nearest value, {value}, costs {cost / 1e6:.3g} ms"
        raise ConfigError([f"{at}: cpu_ms = {asked['cpu_ms']:g} is not reached: {text}; choose another cpu_ms"])
    return {
        "kind": "argument",
        "value": value,
        "cpu_ms": round(cost / 1e6, 4),
        "asked_ms": asked["cpu_ms"],
        "tries": [[value, round(ns)] for value, ns in tries],
    }


def _refuse_out_of_reach(tries: list[tuple[int, float]], asked: dict[str, Any], at: str) -> None:
    wanted_ns, (low, least), (high, most) = asked["cpu_ms"] * 1e6, *tries
    allowed = "; correct it and run the same command again"
    if most < wanted_ns * (1 - GOOD):
        text = f"even to = {high} costs {most / 1e6:.3g} ms on this machine; raise to, or lower cpu_ms"
    elif least > wanted_ns * (1 + GOOD):
        text = f"even from = {low} costs {least / 1e6:.3g} ms on this machine; lower from, or raise cpu_ms"
    else:
        return
    raise ConfigError([f"{at}: cpu_ms = {asked['cpu_ms']:g} is out of reach: {text}{allowed}"])


def _executor(connection: Any, query: dict[str, Any], place: int) -> Callable[[int], None]:
    """Return what executes the statement once with a value; the other arguments are drawn as in the study."""
    draws = random.Random("poollab calibration")  # noqa: S311 - a draw, no secret
    # The study writes $1; the driver's own placeholders are not needed, as the server prepares the statement.
    answer = connection.pgconn.prepare(b"calibrated", query["sql"].encode())
    _refuse_error(answer)

    def execute(value: int) -> None:
        values = [value if i == place else draws.randint(*arg["int"]) for i, arg in enumerate(query["args"])]
        _refuse_error(connection.pgconn.exec_prepared(b"calibrated", [str(v).encode() for v in values]))

    return execute


def _refuse_error(answer: Any) -> None:
    import psycopg  # noqa: PLC0415

    good = {psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK}
    if answer.status not in good:
        raise LabError(f"the statement to be calibrated fails: {answer.get_error_message().splitlines()[0]}")


def _cost_ns(lab: Lab, execute: Callable[[int], None], value: int) -> float:
    """Return the database's CPU time for one execution, in ns, over enough of them."""
    counters = lab.database_counters()
    for _ in range(WARM_UPS):
        execute(value)
    start, done, used = counters.read_cpu(), 0, 0
    if start is None:
        raise LabError("the CPU time of the database cannot be read here, so no statement can be calibrated to it")
    deadline = time.monotonic() + LONGEST_S
    while done < FEWEST or (used < ENOUGH_NS and time.monotonic() < deadline):
        for _ in range(FEWEST):
            execute(value)
        done += FEWEST
        if (now := counters.read_cpu()) is None:
            raise LabError("the CPU time of the database cannot be read any more; run the same command again")
        used = now - start
    return used / done
