"""Which sections a study gets, and what a request and its arrivals are called."""

from types import ModuleType, SimpleNamespace

import pytest

from poollab.errors import DataError
from poollab.report import analyses, requesttext, sections

ALL = [section.id for section in sections.SECTIONS]
ALWAYS = {"verdict", "method", "environment", "validity", "limitations", "reproduce", "data", "own"}


def kind(*left_out: str) -> ModuleType:
    """A kind of study with a figure of its own."""
    figure = SimpleNamespace(NAME="own-figure")
    found: ModuleType = SimpleNamespace(HEADING="Own", LEAVES_OUT=frozenset(left_out), FIGURES=(figure,))  # type: ignore[assignment]
    return found


def study(
    *, closed: bool = False, connections: bool = True, limits: tuple[str, ...] = ("",), lines: int = 1, lags: int = 1
):
    """What the rule looks at."""
    return {
        "groups": [{"closed": closed, "connections": connections, "limits": level} for level in limits],
        "timelines": [{}] * lines,
        "lags": [{}] * lags,
    }


def ids(context, module) -> list[str]:
    """Return the ids of the sections that a study gets."""
    return [section.id for section in sections.chosen(context, module)]


def test_order_is_that_of_the_question():
    """The verdict comes first, what the reader can do with it last, and the limits between figures and data."""
    found = ids(study(limits=("half", "none")), kind())
    assert found == ALL
    assert (found[0], found[1], found[-1]) == ("verdict", "answer", "own")


@pytest.mark.parametrize(
    ("context", "gone"),
    [
        (study(), {"quota"}),
        (study(closed=True), {"quota", "answer", "tail", "delivered"}),
        (study(connections=False), {"quota", "wait", "time", "timeline", "limiter", "own"}),
        (study(lines=0), {"quota", "timeline"}),
        (study(lags=0), {"quota", "lag"}),
        (study(limits=(), lines=0, lags=0), set(ALL) - ALWAYS),
    ],
    ids=["plain", "closed", "no connection", "no run to show", "all kept their rate", "nothing measured"],
)
def test_sections_without_matter_are_left_out(context, gone):
    """A section whose question a study cannot ask is not there at all."""
    assert set(ALL) - set(ids(context, kind())) == gone


def test_kind_leaves_out_and_brings_its_own():
    """What a kind names is gone, and its own section has its heading and its figures."""
    found = {s.id: s for s in sections.chosen(study(), kind("answer"))}
    assert "answer" not in found
    assert (found["analysis"].heading, found["analysis"].figures) == ("Own", ("own-figure",))


@pytest.mark.parametrize("name", analyses.kinds())
def test_every_kind_fits_the_plug_in_point(name, templates):
    """Each kind has the four names, its template, and leaves out only sections that there are."""
    found = analyses.module(name)
    assert found.HEADING
    assert set(ALL) >= found.LEAVES_OUT
    assert callable(found.build)
    assert all(figure.NAME and callable(figure.draw) for figure in found.FIGURES)
    assert (templates / "sections" / f"analysis-{name}.html.j2").is_file()


def test_unknown_kind_is_named():
    """A kind that this version does not know is a fault with a name, and no empty report."""
    with pytest.raises(DataError, match=r"'mind-reading'.*pool-size"):
        analyses.module("mind-reading")


@pytest.mark.parametrize(
    ("kind_of", "values", "text", "rate", "batch"),
    [
        ("uniform", {"every_ms": 25.0}, "1 every 25 ms", 40.0, 1),
        ("uniform", {"rate_per_s": 90.0}, "evenly, 90 per second", 90.0, 1),
        ("bursts", {"size": 10, "every_ms": 250.0}, "10 every 250 ms", 40.0, 10),
        ("bursts", {"size": 4, "share_of_capacity": 0.6}, "bursts of 4, 60 % of the calibrated capacity", None, 4),
        ("poisson", {"rate_per_s": 50.0}, "Poisson, mean 50 per second", 50.0, 1),
        ("batch", {"size": 100}, "100 at once, one time", None, 100),
        ("closed", {"workers": 8, "think_ms": 0.0}, "closed: 8 workers in a loop, without think time", None, 1),
        (
            "ramp",
            {"shape": "poisson", "from_share": 0.2, "to_share": 1.1},
            "Poisson, rising from 20 to 110 % of the calibrated capacity",
            None,
            1,
        ),
        (
            "steps",
            [{"for_s": 20.0, "poisson": {"rate_per_s": 5.0}}, {"for_s": 10.0, "bursts": {"size": 3, "every_ms": 9.0}}],
            "in steps: Poisson, mean 5 per second for 20 s; 3 every 9 ms for 10 s",
            None,
            3,
        ),
    ],
)
def test_arrivals_in_words(kind_of, values, text, rate, batch):
    """Every schedule of the study grammar reads as what it is, with its rate where the file fixes one."""
    found = requesttext.arrivals(kind_of, values)
    assert (found["arrivals"], found["rate_per_s"], found["batch"]) == (text, rate, batch)
    assert found["closed"] is (kind_of == "closed")


def test_steps_of_a_request_in_words():
    """A request of several steps reads in their order, and whether it takes a connection is told from them."""
    steps = [
        {"wait": {"ms": 200.0}},
        {"query": {"sql": "SELECT 1", "times": [5, 15], "share": 0.5}},
        {"compute": {"ms": [1.0, 2.0], "at": [60]}},
    ]
    found = requesttext.request({"request": steps}, {})
    assert found["request"] == [
        "wait for 200 ms",
        "query SELECT 1, 5 to 15 times in a row, by 50 % of the requests",
        "compute in the client for 1 to 2 ms, only request 60",
    ]
    assert (found["sql"], found["connections"]) == ("SELECT 1", True)
    assert requesttext.request({"request": [{"compute": {"ms": 3.0}}]}, {})["connections"] is False
