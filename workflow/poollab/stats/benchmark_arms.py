"""What the two arms of a benchmark row are to one another: the same twice, or not to be compared at all."""

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]

#: The family whose pools do not begin full, so that a least size shows.
FRESH = "cold-start-ramp"
#: What an arm does that does not say otherwise; only asyncpg resets a connection by itself.
DEFAULTS: Row = {"processes": 1, "compute_in": "caller", "reset": False, "check": False, "lifo": False, "min_size": 0}
OWN_DEFAULTS: dict[str, Row] = {"asyncpg": {"reset": True}}
#: Clients without a pipeline mode: asked for one, they do without.
WITHOUT_PIPELINE = frozenset({"asyncpg"})
ROLES = ("baseline", "candidate")


def equal_arms(model: Mapping[str, Any], pair: Mapping[str, str], family: str) -> bool:
    """
    Tell whether a pair does the same twice in a row of a family: an A/A comparison, where every difference is noise.

    What an arm does not say is what its pool does by default. Its size is not compared, since the row has its own.
    """
    one, other = (_does(model, pair[role], family) for role in ROLES)
    return one == other


def _does(model: Mapping[str, Any], arm: str, family: str) -> Row:
    """Return what an arm does in a row of a family, with every default filled in."""
    told = {"client": model.get("client"), **{k: v for k, v in model["arms"][arm].items() if v is not None}}
    full = {**DEFAULTS, **OWN_DEFAULTS.get(str(told["client"]), {}), **told}
    return {k: v for k, v in full.items() if k != "size" and (k != "min_size" or family == FRESH)}


def lacks_pipeline(model: Mapping[str, Any], workload: str, pair: Mapping[str, str]) -> list[str]:
    """Name the arms of a pair that have no pipeline, where a row asks for one."""
    if not model["workloads"][workload]["benchmark"].get("pipeline"):
        return []
    arms = [pair[role] for role in ROLES]
    return [arm for arm in arms if (model["arms"][arm].get("client") or model.get("client")) in WITHOUT_PIPELINE]
