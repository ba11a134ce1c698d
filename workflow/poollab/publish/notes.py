"""FIELDS.md of a data package: what every column means and how it was aggregated."""

import re
from collections.abc import Mapping

import pyarrow as pa

_INTRO = """# Fields and aggregation

One row of `requests.parquet` is one scheduled request: five stamps in nanoseconds since the first scheduled
arrival of its run (`scheduled_ns`, `started_ns`, `acquired_ns`, `result_ns`, `released_ns`; empty where never
reached), its status, the number of the connection that served it and how often that connection had been used.

- scheduling delay = started - scheduled; acquisition wait = acquired - started; query round trip = result -
  acquired, as the client sees it; release = released - result; overall = released - scheduled, the sum of the four.
- Means are over requests with status `ok`, the same rows for every interval, so they add up.
- A percentile is the ceil(n x q)-th of n sorted values. In `conditions` it pools the requests of all runs with
  status `ok`; `_run_min` and `_run_max` are the smallest and largest per-run value, not a confidence interval.
- `_beyond_pNN` counts the requests beyond that rank: with fewer than 10, read the percentile as weak.
- CPU use is the counter's increase over the observed time (from zero to the later of window end and last
  release), in `conditions` weighted by that time. `throttle_ratio` is throttled periods / active periods:
  neither a share of time nor of waiting. Throttled time adds up over CPUs.
- Memory: raw usage of the cgroup at the start, mean and maximum of 10 samples a second; anonymous, shared
  (the server's shared buffers), kernel, and page cache = file - shared.
- An empty field means that the value could not be had on that machine; it never means zero.

Check the files with `sha256sum -c SHA256SUMS`.
"""

_UNITS = (
    (r"_ns$", "nanoseconds"),
    (r"_bytes$", "bytes"),
    (r"_cores$", "CPU cores"),
    (r"_of_cap$", "share of the CPU cap, 0 to 1"),
    (r"_per_s$", "per second"),
    (r"_ratio$", "share, 0 to 1"),
    (r"_s$", "seconds"),
)


def fields(schemas: Mapping[str, pa.Schema]) -> str:
    """Return FIELDS.md for some tables by name."""
    parts = [_INTRO]
    for name, schema in schemas.items():
        lines = [f"\n## {name}\n", "| column | type | unit |", "|---|---|---|"]
        lines += [f"| `{field.name}` | {field.type} | {_unit(field.name)} |" for field in schema]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


def _unit(name: str) -> str:
    return next((text for pattern, text in _UNITS if re.search(pattern, name)), "")
