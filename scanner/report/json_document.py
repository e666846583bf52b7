"""JSON: the document that scripts rely on (``docs/schema/scan-v1.json``), written row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from scanner.model.report import SCHEMA, Report, Summary, exit_code
from scanner.report.coverage import exit_line
from scanner.report.stream import dumps


def write(report: Report, out: TextIO) -> None:
    """One object: a line for every member of the header, for every finding on no endpoint, every certificate, and every
    endpoint (easy to ``grep``)."""
    header: dict[str, object] = {
        "schema": SCHEMA,
        "scanner": report.scanner,
        "started": report.started,
        "finished": report.finished,
        "cluster": report.cluster,
        "coverage": report.coverage,
        "rules": report.rules,
        "summary": summary(report.summary),
        "exit": {"code": exit_code(report, report.fail_on), "fail_on": report.fail_on, "reasons": exit_line(report)},
        "components": report.summary.components.rows(),
    }
    certificates = report.certificates
    out.write("{\n")
    for key, value in header.items():
        out.write(f"{dumps(key)}: {dumps(value)},\n")
    _array(out, "findings", map(dumps, report.findings))
    inventory = certificates.summary if certificates else None
    out.write(f',\n"inventory": {dumps(inventory)},\n')
    _array(out, "certificates", map(dumps, certificates.rows() if certificates else ()))
    out.write(",\n")
    _array(out, "endpoints", report.lines() if report.lines is not None else map(dumps, report.rows()))
    out.write("\n}\n")


def _array(out: TextIO, name: str, lines: Iterable[str]) -> None:
    """A member with one line for each of its values."""
    out.write(f"{dumps(name)}: [")
    separator = "\n"
    for line in lines:
        out.write(separator)
        out.write(line)  # apart, because a line is long
        separator = ",\n"
    out.write("\n]")


def summary(counts: Summary) -> dict[str, object]:
    """The summary, in the order of the schema."""
    return {
        "endpoints": counts.endpoints,
        **{verdict: counts.verdicts[verdict] for verdict in ("pass", "fail", "inconclusive", "not_applicable")},
        "outcomes": dict(counts.outcomes),
        "statuses": dict(sorted(counts.statuses.items())),
        "failures": dict(counts.failures),
        "rules": dict(sorted(counts.rules.items())),
        "trust": {"not_checked": counts.trust_unchecked, "self_signed": counts.self_signed},
        "names": {"not_checked": counts.names_unchecked},
        "connections": counts.connections,
    }
