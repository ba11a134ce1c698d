"""The report: one dictionary of numbers, one template a section, one figure a file; HTML and PDF from the same."""

from typing import Any

__all__ = ["result_sentence"]


def result_sentence(context: dict[str, Any]) -> str:
    """Return the verdict's headline, for the last line in the terminal; ends with a full stop."""
    return str(context["verdict"]["headline"])
