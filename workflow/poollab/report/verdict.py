"""The verdict box: what the analysis concluded, as it says it."""

from typing import Any

from poollab.report import words

Row = dict[str, Any]


def build(found: Row, runs: dict[str, int], unenforced: list[str]) -> Row:
    """
    Return {headline, sentences: [{id, subject, sentence, word, range}], warnings: [{text, advice}]}.

    A sentence stands right behind its subject: what repeats the subject is taken off its beginning. Without enforced
    caps, or where planned runs are not ok, the headline says so.
    """
    headline = str(found["headline"])
    if unenforced and not headline.lower().startswith("uncapped"):
        both = len(unenforced) > 1
        headline = f"Uncapped{'' if both else f' ({unenforced[0]})'}: {headline}"
    if runs["ok"] < runs["planned"]:
        headline = f"{headline.rstrip('.')} ({runs['ok']} of {words.plural(runs['planned'], 'planned run')} ok)."
    sentences = [_sentence(f"{i}", v) for i, v in enumerate(found["verdicts"], 1)]
    warnings = _warnings(found["warnings"])
    return {"headline": headline, "sentences": sentences, "warnings": warnings}


def _sentence(name: str, found: Row) -> Row:
    subject, text = str(found["subject"]), str(found["sentence"])
    behind = text.removeprefix(subject) if text.startswith(subject) else f": {text}"
    advice = str((found.get("range") or {}).get("sentence") or "")
    return {
        "id": name,
        "subject": subject,
        "sentence": behind,
        "word": str(found["word"]),
        "range": _upper(advice.removeprefix(subject).lstrip(",: ")),
    }


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _warnings(found: list[Row]) -> list[Row]:
    """Return {text, advice} of each warning; one that stands for several subjects in the same words stands once."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for warning in found:
        key = str(warning["text"]), str(warning.get("advice") or "")
        subjects.setdefault(key, []).append(str(warning.get("subject") or "study"))
    return [
        {"text": text if about == ["study"] else f"{'; '.join(about)}: {text}", "advice": advice}
        for (text, advice), about in subjects.items()
    ]
