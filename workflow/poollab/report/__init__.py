"""The report: one dictionary of numbers, one template a section, one figure a file; HTML and PDF from the same."""

from typing import Any

__all__ = ["result_sentence"]


def result_sentence(context: dict[str, Any]) -> str:
    """
    Return what was observed in one sentence, for the last line in the terminal.

    It tells of the workload with the longest mean acquisition wait at its smallest pool (the one where a
    larger pool has most to gain), from numbers that `context.build` has made; ends with a full stop.
    """
    return str(context["short"]["result"])
