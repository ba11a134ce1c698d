"""The page: templates filled from the context, for the screen (`html`) or for paper (`pdf`)."""

import base64
import re
from pathlib import Path
from typing import Any, Literal

import jinja2
from markupsafe import Markup, escape

from poollab.errors import DataError
from poollab.report import cells, figures, words
from poollab.report import context as contexts

Target = Literal["html", "pdf"]

#: A table with more rows than this is cut on paper; the whole stands in the attached CSV.
PAPER_ROWS = 200


def page(context: dict[str, Any], templates: Path, target: Target, *, pdf_available: bool) -> str:
    """
    Fill the templates; the result fetches nothing and is complete without JavaScript.

    Raises:
        DataError: the templates' folder is not there or a template is broken.
    """
    drawn = figures.draw_all(context)
    for part in (part for figure in drawn.values() for part in figure["parts"]):
        # As an image a figure brings neither ids nor style rules into the page, and no text of it is markup.
        part["uri"] = f"data:image/svg+xml;base64,{base64.b64encode(part['svg']).decode()}"
    values = {**context, "figures": drawn, "target": target, "pdf_available": pdf_available, "paper_rows": PAPER_ROWS}
    try:
        return _environment(templates).get_template("report.html.j2").render(values)
    except jinja2.TemplateError as error:
        where = getattr(error, "name", None) or templates
        raise DataError(f"{where}: the report's template cannot be filled ({type(error).__name__}: {error})") from error


def build(results: Path, templates: Path, target: Target, *, pdf_available: bool) -> tuple[dict[str, Any], str]:
    """Read the results and return (context, page)."""
    context = contexts.build(results)
    return context, page(context, templates, target, pdf_available=pdf_available)


def together(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(r"(?<=\d) (?=(%|ms|s|MiB|cores?)(\W|$))", "\u00a0", text)


def breakable(text: str) -> Markup:
    """Let a long name go on in the next line behind an underscore or a dot, and nowhere inside a word."""
    # Escaped first, so the only markup is ours.
    return Markup(str(escape(text)).replace("_", "_<wbr>").replace(".", ".<wbr>"))  # noqa: S704


def _environment(templates: Path) -> jinja2.Environment:
    text = templates.parent / "text"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plural"] = words.plural
    environment.filters["listed"] = words.listed
    environment.filters["whole"] = words.number
    environment.filters["breakable"] = breakable
    environment.filters["together"] = together
    environment.globals["column_notes"] = _column_notes(text / "columns.txt")
    environment.globals["not_shown"] = _lines(text / "not-shown.txt")
    return environment


def _column_notes(path: Path) -> cells.Table:
    notes = (line.partition(":") for line in _lines(path))
    rows = [cells.row(name.strip(), [cells.text(note.strip())]) for name, _, note in notes]
    columns = [cells.column("column"), cells.column("what it holds")]
    return cells.table(
        "columns", f"{len(rows)} notes on the columns of runs.csv and conditions.csv", columns, [("", rows)]
    )


def _lines(path: Path) -> list[str]:
    """Read a file of authored text, one sentence a line; # starts a remark."""
    if not path.is_file():
        raise DataError(f"{path}: is missing; the report's templates and its text belong together")
    return [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
