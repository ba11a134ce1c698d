"""The one rule for a run that is far from its siblings, and the study key that has such a condition measured again."""

import pytest
from pydantic import ValidationError

from poollab.stats import outliers
from poollab.study.model import Study


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([42.0, 41.0, 98.0], True),
        ([42.0, 41.0, 80.0], False),
        ([42.0, 84.0], True),
        ([42.0], False),
        ([], False),
        ([0.0, 0.0], False),
    ],
)
def test_far_is_twice_the_median_of_the_others(values: list[float], expected: bool) -> None:  # noqa: FBT001
    """98 ms beside 42 and 41 is far, 80 is not; one run alone has nothing to be far from."""
    assert outliers.far(values) is expected


def study(**keys: int) -> Study:
    """Return a small study."""
    return Study.model_validate(
        {
            "title": "t",
            "database": {"tables": {"t": {"rows": 1}}},
            "workloads": {"w": {"sql": "SELECT 1", "arrivals": {"closed": {"workers": 2}}}},
            "pools": [1],
            **keys,
        }
    )


def test_spare_repeats_leave_two_that_are_measured() -> None:
    """A spare repeat is decided on at least two runs; fewer are refused with the number that is needed."""
    assert study(repeats=4, spare_repeats=1).spare_repeats == 1
    with pytest.raises(ValidationError, match="raise repeats to 3"):
        study(repeats=2, spare_repeats=1)
