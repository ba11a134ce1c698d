"""The report as a tagged, archivable PDF with its data attached; the same bytes from the same data."""

import hashlib
import importlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from poollab.data.store import read_json, write_bytes
from poollab.errors import PoollabError
from poollab.report import page, words

#: Attached to the PDF as (file, description).
ATTACHED = (
    ("runs.csv", "One row for each run"),
    ("conditions.csv", "One row for each condition, over its runs with status ok"),
    ("environment.json", "Study, plan, blocks, server and machine as read back"),
    ("analysis.json", "Comparisons, verdicts, drift, Little's law and the delivered load"),
)

STUDY_WORDS = "The study as it was measured, with every key that its file left to the default"

#: Log lines that are no fault of the report, each with its reason.
ALLOWED_WARNINGS = (
    # libharfbuzz-subset is absent: fonts are subset by fontTools instead; SOURCE_DATE_EPOCH keeps the bytes equal.
    "Using fontTools instead of HarfBuzz-Subset",
)

LOGGERS = ("weasyprint", "fontTools")  # both log, neither raises


def render(results: Path, templates: Path, out: Path) -> None:
    """
    Write the report of a results folder as PDF/A-3a (asked for; no validator has seen it).

    Raises:
        DataError: a file of the results is missing, truncated or of another shape.
        PoollabError: WeasyPrint cannot be loaded, or warned about the page.
    """
    weasyprint = _weasyprint()
    context, text = page.build(results, templates, "pdf", pdf_available=True)
    measured = words.parse_time(context["measured"]["to"])
    with _fixed_time(measured), _no_warnings(out):
        attachments = [_attachment(weasyprint, n, (results / n).read_bytes(), what, measured) for n, what in ATTACHED]
        attachments.append(_attachment(weasyprint, "study.json", _study(results), STUDY_WORDS, measured))
        document = weasyprint.HTML(string=text, base_url=None, url_fetcher=_refuse(weasyprint))
        data: bytes = document.write_pdf(
            attachments=attachments, pdf_variant="pdf/a-3a", pdf_identifier=_identifier(context), pdf_tags=True
        )
    write_bytes(out, data)


def _weasyprint() -> Any:
    """Import late: without Pango the import itself fails, and the HTML report must not depend on it."""
    try:
        return importlib.import_module("weasyprint")
    except (ImportError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PoollabError(
            f"The PDF cannot be made: WeasyPrint does not load ({reason}). The measurements and the HTML report are "
            "untouched. Install its libraries (Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0 "
            "libharfbuzz-subset0 fonts-dejavu-core) and run the same command again."
        ) from error


def _identifier(context: dict[str, Any]) -> bytes:
    """One PDF id for one measurement of one study."""
    text = f"poollab {context['study']['hash']} {context['measured']['from']} {context['measured']['to']}"
    return hashlib.sha256(text.encode()).digest()[:16]


def _study(results: Path) -> bytes:
    """Return the study as it was measured, with every key that its file left to the default."""
    model = read_json(results / "environment.json")["study"]["model"]
    return (json.dumps(model, indent=1, ensure_ascii=False) + "\n").encode()


def _attachment(weasyprint: Any, name: str, data: bytes, description: str, at: datetime) -> Any:
    return weasyprint.Attachment(
        string=data, name=name, description=description, relationship="Data", created=at, modified=at
    )


def _refuse(weasyprint: Any) -> Any:
    """Return a fetcher that lets data URIs through and nothing else."""
    return weasyprint.urls.URLFetcher(allowed_protocols=["data"])


@contextmanager
def _fixed_time(at: datetime) -> Iterator[None]:
    """Fonts would be stamped with the present time otherwise."""
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = str(int(at.timestamp()))
    try:
        yield
    finally:
        if before is None:
            del os.environ["SOURCE_DATE_EPOCH"]
        else:
            os.environ["SOURCE_DATE_EPOCH"] = before


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not any(known in text for known in ALLOWED_WARNINGS):
            self.lines.append(text)


@contextmanager
def _no_warnings(out: Path) -> Iterator[None]:
    """Turn anything WeasyPrint warns about into an error: a warning is something missing from the page."""
    collector = _Collector()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addHandler(collector)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(collector)
    if collector.lines:
        shown = "\n  ".join(dict.fromkeys(collector.lines[:10]))
        raise PoollabError(
            f"{out}: not written, since WeasyPrint warned about the page ({len(collector.lines)} times):\n  "
            f"{shown}\nThe HTML report is untouched. Mend the template or style named above."
        )
