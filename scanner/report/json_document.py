"""JSON: the document that scripts rely on (``docs/schema/scan-v1.json``), written row by row."""

from __future__ import annotations

from typing import TextIO

from scanner.model.report import SCHEMA, Report, Summary
from scanner.report.stream import dumps


def write(report: Report, out: TextIO) -> None:
    """One object: a line for every member of the header, then a line for every endpoint (easy to ``grep``)."""
    header: dict[str, object] = {
        "schema": SCHEMA,
        "scanner": report.scanner,
        "started": report.started,
        "finished": report.finished,
        "cluster": report.cluster,
        "coverage": report.coverage,
        "rules": report.rules,
        "summary": summary(report.summary),
        "components": report.summary.components.rows(),
        "findings": report.findings,
    }
    out.write("{\n")
    for key, value in header.items():
        out.write(f"{dumps(key)}: {dumps(value)},\n")
    out.write('"endpoints": [')
    separator = "\n"
    for line in report.lines() if report.lines is not None else map(dumps, report.rows()):
        out.write(separator)
        out.write(line)  # apart, because a line is long
        separator = ",\n"
    out.write("\n]\n}\n")


def summary(counts: Summary) -> dict[str, object]:
    """The summary, in the order of the schema."""
    return {
        "endpoints": counts.endpoints,
        **{verdict: counts.verdicts[verdict] for verdict in ("pass", "fail", "inconclusive", "not_applicable")},
        "statuses": dict(sorted(counts.statuses.items())),
        "failures": dict(counts.failures),
        "rules": dict(sorted(counts.rules.items())),
        "connections": counts.connections,
    }
