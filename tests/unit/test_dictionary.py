"""The data dictionary: no column without a meaning, and meanings that say the right thing."""

import pyarrow as pa
import pytest

from poollab.data import schemas
from poollab.publish import dictionary
from poollab.publish.meanings import meaning

#: Every schema of the package by the name of its table.
TABLES = {
    {"ALL_REQUESTS": "requests"}.get(name, name.lower()): value
    for name, value in vars(schemas).items()
    if isinstance(value, pa.Schema)
}


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_column_has_a_meaning(table: str) -> None:
    """Whoever adds a column says in publish/meanings.py what it means; FIELDS.md would call it undescribed."""
    assert list(dictionary.unknown(table, TABLES[table])) == []


def test_the_tables_of_a_package_are_among_them() -> None:
    """The test above looks at what is published, however the schemas are found."""
    assert {"requests", "runs", "conditions", "samples"} <= set(TABLES)


def test_an_undescribed_column_is_found_and_says_so() -> None:
    """A column that nobody described is named by the check and is no empty cell in FIELDS.md."""
    schema = pa.schema([("overall_mean_ns", pa.float64()), ("colour", pa.string())])
    assert list(dictionary.unknown("runs", schema)) == ["colour"]
    assert [c.meaning for c in dictionary.columns("runs", schema)][1] == "not described"


def test_a_field_may_say_its_own_meaning() -> None:
    """A meaning in the schema's own metadata is taken before what is known of the name."""
    field = pa.field("colour", pa.string(), metadata={"meaning": "colour of the pool"})
    assert dictionary.columns("runs", pa.schema([field]))[0].meaning == "colour of the pool"


@pytest.mark.parametrize(
    ("table", "column", "says"),
    [
        ("runs", "acquisition_wait_mean_ns", "mean acquisition wait (asked for to acquired) of the requests with"),
        ("runs", "overall_p99_ns", "p99 of the overall time"),
        ("runs", "overall_p999_ns", "p99.9 of the overall time"),
        ("conditions", "overall_beyond_p95", "requests beyond the p95 of the overall time"),
        ("conditions", "overall_p50_run_min_ns", "smallest value of a run"),
        ("conditions", "release_mean_run_max_ns", "largest value of a run"),
        ("runs", "generator_cpu_of_cap", "share of its cap"),
        ("runs", "scheduling_delay_p99_ns", "over requests that were started"),
        ("requests", "status", "how the request ended"),
        ("runs", "status", "wrong with the run"),
        ("requests", "unheard_of", None),
    ],
)
def test_meanings_of_names_made_of_parts(table: str, column: str, says: str | None) -> None:
    """Side, interval, percentile and extreme in a name come out as words, and a table's own meaning wins."""
    found = meaning(table, column)
    assert (found is None) if says is None else (found is not None and says in found)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("overall_mean_ns", "nanoseconds"),
        ("observed_s", "seconds"),
        ("offered_per_s", "per second"),
        ("database_cpu_of_cap", "share of the CPU cap"),
        ("memory_bytes", "bytes"),
        ("runs_ok", ""),
    ],
)
def test_units_follow_the_name(name: str, unit: str) -> None:
    """A rate is no duration although both end in _s, and a count has no unit."""
    assert dictionary.unit(name) == unit


def test_types_for_programs() -> None:
    """Each Arrow type becomes a type that a Frictionless reader knows."""
    kinds = [pa.int32(), pa.float64(), pa.bool_(), pa.timestamp("ms", tz="UTC"), pa.dictionary(pa.int8(), pa.string())]
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])
    found = [column.frictionless["type"] for column in dictionary.columns("x", schema)]
    assert found == ["integer", "number", "boolean", "datetime", "string"]
