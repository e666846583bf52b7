"""JSON: the document that scripts rely on (``docs/schema/lint-v1.json``)."""

from __future__ import annotations

from typing import TextIO

from scanner.model.lint_report import SCHEMA, LintReport
from scanner.report.stream import dumps


def write(report: LintReport, out: TextIO) -> None:
    """One object: a line for every member, and one for every object that was looked at."""
    header: dict[str, object] = {
        "schema": SCHEMA,
        "scanner": report.scanner,
        "started": report.started,
        "sources": list(report.sources),
        "files": report.files,
        "others": report.others,
        "summary": {"objects": len(report.objects), **report.counts()},
        "rules": report.rules,
        "unreadable": report.unreadable,
        "skipped": report.skipped,
        "findings": report.findings,
    }
    out.write("{\n")
    for key, value in header.items():
        out.write(f"{dumps(key)}: {dumps(value)},\n")
    out.write(f"{dumps('objects')}: [")
    out.write(",".join(f"\n{dumps(each)}" for each in report.objects))
    out.write("\n]\n}\n")
