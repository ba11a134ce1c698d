"""The report as one HTML file."""

from pathlib import Path

from poollab.data.store import write_bytes
from poollab.report import page, result_sentence


def render(results: Path, templates: Path, out: Path, pdf_available: bool) -> None:  # noqa: FBT001 - the rule passes it
    """
    Write the report of a results folder as one file that fetches nothing, and beside it result.txt, its one sentence.

    Args:
        results: folder of one study's results.
        templates: folder of the templates; authored text lies beside it in `text`.
        out: the file to write; replaced as a whole.
        pdf_available: whether `report.pdf` will lie beside it and may be linked.

    Raises:
        DataError: a file of the results is missing, truncated or of another shape.
    """
    context, text = page.build(results, templates, "html", pdf_available=pdf_available)
    write_bytes(out, text.encode())
    write_bytes(out.with_name("result.txt"), (result_sentence(context) + "\n").encode())
