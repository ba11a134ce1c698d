"""Which side was capped, said of each side by itself: one may be capped and the other not."""

from typing import Any

from poollab.report import words
from poollab.report.load import Results

SIDES = (("database", "database", "database"), ("generator", "load_generator", "load generator"))


def build(results: Results) -> dict[str, Any]:
    """
    Return {text, unenforced}: caps of both sides in words, and the names of the sides whose caps were not enforced.

    A side without a cap in the study is uncapped by design and not called unenforced.
    """
    unenforced = [] if results.environment["lab"]["caps_enforced"] else _unenforced(results.environment["blocks"])
    parts = []
    for key, _, name in SIDES:
        found = {run[f"{key}_cap_cores"] for run in results.runs}
        parts.append(f"{name} {_state(found, enforced=name not in unenforced)}")
    return {"text": ", ".join(parts), "unenforced": unenforced}


def _unenforced(blocks: list[dict[str, Any]]) -> list[str]:
    proofs = [block.get("proof") or {} for block in blocks]
    names = [name for _, side, name in SIDES if any(not (p.get(side) or {}).get("enforced") for p in proofs)]
    return names or [name for _, _, name in SIDES]


def _state(found: set[float | None], *, enforced: bool) -> str:
    if not enforced:
        return "uncapped (its cap was not enforced)"
    levels = sorted(cap for cap in found if cap is not None)
    if not levels:
        return "without a CPU cap" if found else "not measured"
    text = f"capped at {words.listed([f'{cap:g}' for cap in levels])} {'core' if levels == [1.0] else 'cores'}"
    return f"{text}, and in some runs without a cap" if None in found else text
