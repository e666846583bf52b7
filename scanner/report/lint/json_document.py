"""JSON: the document that scripts rely on (``docs/schema/lint-v1.json``)."""

from __future__ import annotations

from typing import TextIO

from scanner.model.lint_report import SCHEMA, LintReport
from scanner.report.stream import dumps, write_document


def write(report: LintReport, out: TextIO) -> None:
    """One object: a line for every member, and one for every object that was looked at."""
    members: dict[str, object] = {
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
        "objects": map(dumps, report.objects),
    }
    write_document(out, members)
