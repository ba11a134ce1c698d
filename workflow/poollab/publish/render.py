"""The report again, from a package alone: no lab, no measurement, no other file of the study."""

from dataclasses import dataclass
from pathlib import Path

from poollab.data import store
from poollab.errors import DataError, PoollabError
from poollab.publish import describe
from poollab.publish.verify import verify
from poollab.report import html, pdf


@dataclass(frozen=True, slots=True)
class Rendered:
    """What was written: `same` tells whether the page has the package's bytes; `no_pdf` why there is none."""

    page: Path
    pdf: Path | None
    same: bool
    no_pdf: str


def render(package: Path, templates: Path, out: Path) -> Rendered:
    """
    Write index.html, result.txt and, where the package has one and it can be made here, report.pdf into `out`.

    Raises:
        DataError: the package is not as it was published, lacks what the report needs, or `out` is (in) it.
    """
    verify(package)
    if out.resolve() == package.resolve() or package.resolve() in out.resolve().parents:
        raise DataError(f"{out} lies in the package {package}, which is never changed; name another folder (OUT=...)")
    paper = (package / "report.pdf").is_file()
    page = out / "index.html"
    try:
        html.render(package, templates, page, paper)
    except DataError as error:
        raise DataError(f"{error} ({_origin(package)}: make the report with that version)") from error
    same = page.read_bytes() == (package / "index.html").read_bytes()
    (out / "report.pdf").unlink(missing_ok=True)
    if not paper:
        return Rendered(page, None, same, "the package has none")
    try:
        pdf.render(package, templates, out / "report.pdf")
    except DataError:
        raise
    except PoollabError as error:
        return Rendered(page, None, same, str(error))
    return Rendered(page, out / "report.pdf", same, "")


def _origin(package: Path) -> str:
    about = store.read_json(package / describe.NAME).get("poollab", {})
    return f"the package was made by Poollab {about.get('version')}, commit {about.get('commit') or 'not recorded'}"


def sentence(made: Rendered) -> str:
    """Say what was made and whether it is the package's own page."""
    first = f"Report: {made.page}" + (f" and {made.pdf.name}" if made.pdf else f" (no PDF: {made.no_pdf})")
    if made.same:
        return f"{first}. The page has the same bytes as the package's."
    return f"{first}. The page differs from the package's: report code or templates are not those that made it."
