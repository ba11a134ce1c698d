"""FIELDS.md of a data package: every file, how numbers were aggregated, and every column."""

from collections.abc import Mapping

from poollab.publish.dictionary import Column

_INTRO = """# Fields and aggregation

One row of `requests` is one scheduled request: stamps in nanoseconds since the first scheduled arrival of its run's
measurement (empty where never reached), its status, the number of the connection that served it and how often that
connection had been used.

- scheduling delay = started - scheduled; acquisition wait = acquired - started; query round trip = result -
  acquired, as the client sees it; release = released - result; overall = released - scheduled, the sum of the four.
  Where a request does something before it asks for a connection or after it gave it back, `asked_ns` and `ended_ns`
  are filled: then the acquisition wait begins at asked, and the overall time ends at ended.
- Means are over requests with status `ok`, the same rows for every interval, so they add up.
- A percentile is the ceil(n x q)-th of n sorted values. In `conditions` it pools the requests of all runs with
  status `ok`; `_run_min` and `_run_max` are the smallest and largest per-run value, not a confidence interval.
- `_beyond_pNN` counts the requests beyond that rank: with fewer than 10, read the percentile as weak.
- CPU use is the counter's increase over the observed time (from zero to the later of window end and last
  release), in `conditions` weighted by that time. `throttle_ratio` is throttled periods / active periods:
  neither a share of time nor of waiting. Throttled time adds up over CPUs.
- Memory: raw usage of the cgroup at the start, mean and maximum of 10 samples a second; anonymous, shared
  (the server's shared buffers), kernel, and page cache = file - shared. The working set is memory - inactive file.
- An empty field means that the value could not be had on that machine; it never means zero.

`datapackage.json` says the same for programs (Frictionless Data Package). Check the files with
`sha256sum -c SHA256SUMS`; in a checkout of Poollab `make verify FROM=<this folder>` also finds files that are missing
or do not belong here, and `make report FROM=<this folder>` makes the report again from these files.
"""


def fields(tables: Mapping[str, list[Column]], files: Mapping[str, str]) -> str:
    """Return FIELDS.md: what each file holds, then each table's columns with type, unit and meaning."""
    rows = [f"| `{name}` | {what} |" for name, what in files.items()]
    parts = [_INTRO, "\n".join(["\n## Files\n", "| file | holds |", "|---|---|", *rows]) + "\n"]
    for name, columns in tables.items():
        lines = [f"\n## {name}\n", "| column | type | unit | meaning |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.kind} | {c.unit} | {c.meaning} |" for c in columns]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)
