"""All numbers of the report, made once: HTML, PDF, figures and the README read this one dictionary."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from poollab.report import (
    analyses,
    answer,
    blocks,
    capstext,
    ceilings,
    checks,
    datafiles,
    drifttable,
    environment,
    groups,
    limitations,
    machinetables,
    quota,
    sections,
    seriesview,
    tables,
    verdict,
    waittable,
    words,
)
from poollab.report.load import Results, load
from poollab.report.studyview import StudyView


def build(results: Path) -> dict[str, Any]:
    """
    Build the context of a results folder: plain dictionaries, lists, texts and numbers (times in ms).

    Raises:
        DataError: a file is missing, truncated or of another shape; names it and the next step.
    """
    read = load(results)
    study = StudyView.of(read.environment)
    kind = analyses.module(study.kind)
    context = _measured_part(read, study)
    context["special"] = analyses.special(kind, context)
    context["tables"] = _tables(context)
    context["sections"] = [asdict(section) for section in sections.chosen(context, kind)]
    return {**context, "limitations": limitations.build(context)}


def _measured_part(read: Results, study: StudyView) -> dict[str, Any]:
    """Return everything that is the same for all kinds of studies."""
    recorded = read.environment
    found = groups.build(read, study)
    seriesview.attach(found, read.series)
    runs = {
        "ok": sum(r["status"] == "ok" for r in read.runs),
        "measured": len(read.runs),
        "planned": len(recorded["planned"]),
    }
    caps = capstext.build(read)
    lines = seriesview.timelines(read.series, found)
    return {
        "kind": study.kind,
        "study": {"name": study.name, "title": study.title, "file": study.file, "hash": recorded["study_hash"]},
        "design": _design(found, study),
        "measured": _measured(recorded),
        "poollab": {**recorded["poollab"], "commit_text": _commit(recorded["poollab"])},
        "lab": {**recorded["lab"], "caps_text": caps["text"]},
        "runs": runs,
        "uncapped": bool(caps["unenforced"]),
        "unenforced": caps["unenforced"],
        "unproven": [] if caps["unenforced"] else _unproven(recorded["blocks"]),
        "groups": found,
        "analysis": read.analysis,
        "verdict": verdict.build(read.analysis, runs, caps["unenforced"]),
        "timelines": lines,
        "lags": read.series.get("lags", []),
        "timeline_rule": seriesview.rule(lines) if lines else "",
        "environment": environment.build(recorded, study),
        "checks": checks.build(read),
        "drift": drifttable.build(read, found),
        "blocks": blocks.build(read),
        "order": [(r["position"], r["block"]) for r in read.runs],
        "tables_bytes": _tables_bytes(recorded["blocks"]),
        "reproduce": datafiles.reproduce(read, study),
        "data": datafiles.build(read),
    }


def _tables(context: dict[str, Any]) -> dict[str, Any]:
    found = context["groups"]
    return {
        "answer": answer.build(found, context["special"].get("marks", {})),
        "intervals": [tables.intervals(g) for g in found],
        "tail": tables.tail(found),
        "wait": waittable.build(found),
        "rates": tables.rates(found),
        "cpu": machinetables.cpu(found, "database"),
        "memory": machinetables.memory(found),
        "generator": machinetables.cpu(found, "generator"),
        "ceilings": ceilings.build(found, context["special"].get("best", set())),
        "quota": quota.build(found, context["analysis"].get("limits")),
    }


def _design(found: list[dict[str, Any]], study: StudyView) -> dict[str, Any]:
    return {
        "pools": [study.arm_label(arm, size) for arm, size in study.arms.items()],
        "repeats": study.model["repeats"],
        "client": words.listed(study.clients()),
        "seed": study.model["order"]["seed"],
        "windows": study.windows_text(),
        "margin": f"{study.margin * 100:g} %",
        "workloads": len({g["workload"] for g in found}),
        "limits": sorted({g["limits"] for g in found if g["limits"]}),
    }


def _measured(recorded: dict[str, Any]) -> dict[str, str]:
    first, last = (words.parse_time(recorded[key]) for key in ("measured_from", "measured_to"))
    end = last.strftime("%H:%M" if first.date() == last.date() else "%Y-%m-%d %H:%M")
    return {
        "from": first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": last.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "text": f"{first.strftime('%Y-%m-%d %H:%M')} to {end} UTC",
    }


def _commit(tool: dict[str, Any]) -> str:
    if not tool["commit"]:
        return "not recorded (no git checkout)"
    return f"{tool['commit']}{' with uncommitted changes' if tool['dirty'] else ''}"


def _unproven(recorded: list[dict[str, Any]]) -> list[str]:
    """Name each cap that was asked for and did not hold when CPU was burnt inside it."""
    return [
        f"block {block['block']}, {side.replace('_', ' ')}"
        for block in recorded
        for side, proof in (block.get("proof") or {}).items()
        if proof["caps"]["quota_us"] is not None and not proof["enforced"]
    ]


def _tables_bytes(recorded: list[dict[str, Any]]) -> int:
    return max((sum(t["bytes"] for t in (b.get("seed") or {}).values()) for b in recorded), default=0)
