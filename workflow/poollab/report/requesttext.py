"""What a request does and when requests arrive, in words, from a recorded workload."""

from typing import Any

from poollab.report import words

Row = dict[str, Any]

#: Steps for which a request holds a connection.
HOLDING = ("query", "hold")


def request(own: Row, other: Row) -> Row:
    """
    Return {sql, request, connections} of a workload, with what it takes from another.

    `sql` is its statement (the first of several, empty where there is none), `request` its steps in words (empty for
    the one statement), `connections` whether it uses the database at all.
    """
    sql = own.get("sql") or other.get("sql") or ""
    steps = [_only(step) for step in own.get("request") or other.get("request") or []]
    queries = [str(values.get("sql")) for name, values in steps if name == "query"]
    benchmark = own.get("benchmark") or other.get("benchmark")
    return {
        "sql": sql or next(iter(queries), ""),
        "request": [_step(name, values) for name, values in steps],
        "connections": bool(sql or benchmark or any(name in HOLDING for name, _ in steps)),
    }


def _only(step: Row) -> tuple[str, Row]:
    return next(((name, values) for name, values in step.items() if values), ("", {}))


def _step(name: str, values: Row) -> str:
    if name == "query":
        times = f", {_range(values['times'])} times in a row" if values.get("times") not in (None, 1) else ""
        share = values.get("share")
        part = f", by {share * 100:g} % of the requests" if share not in (None, 1, 1.0) else ""
        return f"query {values.get('sql')}{times}{part}"
    text = {"hold": "hold the connection", "compute": "compute in the client", "wait": "wait"}.get(name, name)
    length = f" for {_range(values['ms'])} ms" if values.get("ms") is not None else ""
    only = f", only request {words.listed([str(n) for n in values['at']])}" if values.get("at") else ""
    return f"{text}{length}{only}"


def _range(value: Any) -> str:
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, (list, tuple)) else f"{value:g}"


def arrivals(kind: str, values: Row) -> Row:
    """Return {arrivals, batch, rate_per_s, closed}; the rate is None where the study file does not fix it."""
    made = _MADE.get(kind, _unknown)(values)
    if not values:
        made = {"arrivals": kind or "as its own analysis says"}
    return {"batch": 1, "rate_per_s": None, "closed": kind == "closed", **made}


def _rate(values: Row, size: int = 1) -> tuple[str, float | None]:
    """Return how a rate is asked for in words, and requests per second where that is fixed."""
    if values.get("every_ms"):
        every = float(values["every_ms"])
        return f"every {every:g} ms", 1000 * size / every
    if values.get("rate_per_s"):
        return f"{float(values['rate_per_s']):g} per second", float(values["rate_per_s"])
    return f"{float(values['share_of_capacity']) * 100:g} % of the calibrated capacity", None


def _uniform(values: Row) -> Row:
    text, rate = _rate(values)
    return {"arrivals": f"1 {text}" if values.get("every_ms") else f"evenly, {text}", "rate_per_s": rate}


def _bursts(values: Row) -> Row:
    size = int(values["size"])
    text, rate = _rate(values, size)
    shown = f"{size} {text}" if values.get("every_ms") else f"bursts of {size}, {text}"
    return {"arrivals": shown, "batch": size, "rate_per_s": rate}


def _poisson(values: Row) -> Row:
    text, rate = _rate(values)
    return {"arrivals": f"Poisson, mean {text}", "rate_per_s": rate}


def _steps(values: Any) -> Row:
    parts, largest = [], 1
    for step in values:
        kind, inner = next((k, v) for k, v in step.items() if k != "for_s" and v)
        made = arrivals(kind, inner)
        largest = max(largest, made["batch"])
        parts.append(f"{made['arrivals']} for {step['for_s']:g} s")
    return {"arrivals": f"in steps: {'; '.join(parts)}", "batch": largest}


def _ramp(values: Row) -> Row:
    ends = [values.get("from_per_s"), values.get("to_per_s")]
    unit = "per second"
    if None in ends:
        ends, unit = [100 * values["from_share"], 100 * values["to_share"]], "% of the calibrated capacity"
    shape = {"poisson": "Poisson", "bursts": f"bursts of {values.get('size')}"}.get(values["shape"], values["shape"])
    size = int(values.get("size") or 1)
    return {"arrivals": f"{shape}, rising from {ends[0]:g} to {ends[1]:g} {unit}", "batch": size}


def _batch(values: Row) -> Row:
    return {"arrivals": f"{int(values['size'])} at once, one time", "batch": int(values["size"])}


def _closed(values: Row) -> Row:
    think = float(values.get("think_ms") or 0)
    pause = f", {think:g} ms of think time between" if think else ", without think time"
    return {"arrivals": f"closed: {words.plural(int(values['workers']), 'worker')} in a loop{pause}"}


def _unknown(_values: Row) -> Row:
    return {"arrivals": "unknown"}


_MADE: Any = {
    "uniform": _uniform, "bursts": _bursts, "poisson": _poisson, "steps": _steps, "ramp": _ramp, "batch": _batch,
    "closed": _closed,
}  # fmt: skip
