"""Reading a rendered page back: its tree, its tables, its text."""

from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html

from poollab.report import html
from poollab.report.figures import style

#: Stands for a drawing where a test is about the page and not about its figures.
BLANK = b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"></svg>'


def undrawn(results: Path, templates: Path) -> str:
    """Render results as `rendered` does, with a blank in the place of each drawing: most of the time goes there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "svg", lambda _draw, _title: BLANK)
        return rendered(results, templates)


def rendered(results: Path, templates: Path, *, pdf_available: bool = True) -> str:
    """Render results beside themselves and return the page."""
    out = results / "report" / "index.html"
    html.render(results, templates, out, pdf_available)
    return out.read_text("utf-8")


def tree(page: str) -> Any:
    """Parse a page."""
    return lxml_html.document_fromstring(page)


def strict_errors(page: str) -> list[str]:
    """List what an XML parser finds wrong once void elements are closed."""
    closed = page.replace("<!DOCTYPE html>", "").replace("<wbr>", "<wbr/>").replace("<br>", "<br/>")
    for name in ("meta", "img", "br"):
        parts = closed.split(f"<{name} ")
        closed = parts[0] + "".join(f"<{name} " + part.replace(">", "/>", 1) for part in parts[1:])
    parser = etree.XMLParser(recover=True, huge_tree=True)
    etree.fromstring(closed.replace("&middot;", "").replace("&nbsp;", " ").encode(), parser)
    return [str(entry) for entry in parser.error_log]


def text(element: Any) -> str:
    """Return an element's text with single blanks."""
    return " ".join(element.text_content().split())


def table_rows(page: str, name: str) -> dict[tuple[str, str], list[str]]:
    """Return a table's cells by (body, row heading); ranges, notes and marks are cut off."""
    rows: dict[tuple[str, str], list[str]] = {}
    body = ""
    for row in tree(page).get_element_by_id(f"table-{name}").iterfind(".//tbody/tr"):
        for extra in row.findall("th/span[@class='mark']"):
            extra.drop_tree()
        head = text(row.find("th"))
        if row.get("class") == "body":
            body = head
            continue
        for extra in row.findall(".//span[@class='range']"):
            extra.drop_tree()
        rows[body, head] = [text(cell) for cell in row.findall("td")]
    return rows
