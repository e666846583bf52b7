"""JSON documents, written row by row: ``scan-v1.json``, ``scan-brief-v1.json`` and ``lint-v1.json`` in docs/schema."""

from __future__ import annotations

from typing import TextIO

from scanner.model.lint_report import SCHEMA as LINT_SCHEMA
from scanner.model.lint_report import LintReport
from scanner.model.report import BRIEF_SCHEMA, SCHEMA, BaselineRow, EndpointRow, Report, Summary, exit_code
from scanner.report.coverage import exit_line
from scanner.report.grouping import groups
from scanner.report.stream import dumps, write_document


def write(report: Report, out: TextIO, *, brief: bool = False) -> None:
    """Write a scan as one object: a line for each member, cluster-wide finding, certificate and endpoint. ``brief``:
    without refused suites, attempts and the details of what passed."""
    certificates = report.certificates
    members: dict[str, object] = {
        "schema": BRIEF_SCHEMA if brief else SCHEMA,
        "scanner": report.scanner,
        "started": report.started,
        "finished": report.finished,
        "cluster": report.cluster,
        "coverage": report.coverage,
        "rules": report.rules,
        "summary": {**summary(report.summary), **_baseline(report.baseline)},
        "exit": {"code": exit_code(report, report.fail_on), "fail_on": report.fail_on, "reasons": exit_line(report)},
        "groups": [each.row for each in groups(report.rows())],
        "components": report.summary.components.rows(),
        "findings": map(dumps, report.findings),
        "inventory": certificates.summary if certificates else None,
        "certificates": map(dumps, certificates.rows() if certificates else ()),
        "endpoints": map(dumps, report.rows()) if report.lines is None else iter(report.lines()),
    }
    if brief:
        members["endpoints"] = map(dumps, map(_brief, report.rows()))
    write_document(out, members)


def _brief(row: EndpointRow) -> dict[str, object]:
    """Return a row without what takes most of its bytes. Whatever did not pass is complete."""
    observed: dict[str, object] = {key: value for key, value in row["observed"].items() if key != "attempts"}
    observed["versions"] = row["observed"]["versions"] and {
        name: version and {key: value for key, value in version.items() if key != "refused"}
        for name, version in row["observed"]["versions"].items()
    }
    passed = [each["rule"] for each in row["findings"] if each["verdict"] == "pass"]
    findings = [each for each in row["findings"] if each["verdict"] != "pass"]
    return {**row, "observed": observed, "passed": passed, "findings": findings}


def summary(counts: Summary) -> dict[str, object]:
    """Return the summary, in the order of the schema."""
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


def _baseline(row: BaselineRow | None) -> dict[str, object]:
    return {"baseline": row} if row else {}


def write_lint(report: LintReport, out: TextIO) -> None:
    """Write lint's report as one object: a line for each member and each object."""
    waived = {"waived": report.waived} if report.waived else {}
    members: dict[str, object] = {
        "schema": LINT_SCHEMA,
        "scanner": report.scanner,
        "started": report.started,
        "sources": list(report.sources),
        "files": report.files,
        "others": report.others,
        "summary": {"objects": len(report.objects), **report.counts(), **waived, **_baseline(report.baseline)},
        "rules": report.rules,
        "unreadable": report.unreadable,
        "skipped": report.skipped,
        "findings": report.findings,
        "objects": map(dumps, report.objects),
    }
    write_document(out, members)
