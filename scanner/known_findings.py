"""The baseline: write the failures of a complete run to a file, and mark them as known in later reports.

A known failure stays in the report and does not count. What is inconclusive is never known.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Final, TextIO, TypedDict, TypeVar, cast

from scanner.cross_endpoint import with_findings
from scanner.errors import InputError, UsageError
from scanner.files.regular_file import content
from scanner.model.finding import KNOWN, NEVER_FAILS, SEVERITIES
from scanner.model.fingerprint import SCHEMA, Baseline, BaselineRow, KnownRow, fingerprint, is_requirement
from scanner.model.inventory import CertificateReport, InventoryRow, certificate_report, moment
from scanner.model.lint_report import SCHEMA as LINT
from scanner.model.lint_report import LintFindingRow, LintReport, ObjectRow
from scanner.model.report import SCHEMA as SCAN
from scanner.model.report import EndpointRow, Report, Summary, counts
from scanner.model.row import FindingRow
from scanner.model.serialization import DecodeError, codec
from scanner.report.escape import plain
from scanner.report.results import CLUSTER, Results, file_of
from scanner.report.stream import dumps, row_text, write_document
from scanner.values import replace

F = TypeVar("F", bound=FindingRow)

_MOST_BYTES: Final = 64 << 20
_NAMED: Final = 5
"""Endpoints in an error."""
_HINT = "write it with adhere baseline RESULTS FILE"


class _File(TypedDict):
    of: str
    findings: list[KnownRow]


def write_baseline(results: Results, out: TextIO, *, accept_undecided: bool = False) -> None:
    """Write the failures, a line for each, sorted. Raises ``UsageError`` for a run that is not complete, because it has
    not seen all of them."""
    judged = any(each.outcome in ("fails", "excused", "passes") for each in results.subjects.values())
    short = results.shortfall or ("" if judged else "nothing was judged")
    if results.undecided and not accept_undecided:
        short = "; ".join(filter(None, (short, f"lint could not decide everything: {results.undecided}")))
    if short:
        unknown = sorted(each.id for each in results.subjects.values() if each.outcome == "inconclusive")
        named = ", ".join(plain(each, 200) for each in unknown[:_NAMED]) + (", ..." if unknown[_NAMED:] else "")
        those = f" ({named})" if named else ""
        hint = f"correct this and run it again, or in the policy file exclude the endpoints{those} with scope, and "
        hint += "accept unreadable kinds with scope.acceptUnreadable"
        if results.undecided and not results.shortfall:
            hint = "lint with --cluster or the missing objects, or use adhere baseline --accept-undecided"
        raise UsageError(f"{results.source}: no baseline of a run that is not complete: {short}", hint=hint)
    failing = [each for each in results.failing() if not is_requirement(each["rule"])]
    failing.sort(key=lambda each: (each["subject"], each["rule"], each["fingerprint"]))
    write_document(out, {"schema": SCHEMA, "of": results.of, "findings": map(dumps, failing)})


def load_baseline(path: str, of: str) -> Baseline:
    """Load a baseline of results with the schema ``of``. Raises ``ScannerError``."""
    data = content(path, _MOST_BYTES)
    try:
        document = json.loads(data) if len(data) <= _MOST_BYTES else None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise DecodeError(f"not an {SCHEMA}")
        file: _File = codec(_File).decode(document)
        if wrong := next((each["severity"] for each in file["findings"] if each["severity"] not in SEVERITIES), None):
            raise DecodeError(f"unknown severity {wrong[:40]!r}", "findings")
    except DecodeError as error:
        raise InputError(f"{path}: {f'{error.path}: ' if error.path else ''}{error.problem}", hint=_HINT) from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON", hint=_HINT) from None
    if file["of"] != of:
        command = {SCAN: "scan", LINT: "lint"}[of]
        raise UsageError(f"{path}: a baseline of {file['of']}", hint=f"use a baseline of adhere {command}")
    known = {each["fingerprint"]: each for each in file["findings"] if not is_requirement(each["rule"])}
    return Baseline(source=path, of=of, known=known)


def scan_with_baseline(report: Report, baseline: Baseline) -> Report:
    """Mark the known failures of a scan, and count again."""
    results = Results(source="", of=SCAN, started=report.started)
    results.add_endpoints(report.rows())
    results.add_findings(report.findings)
    known, row = _applied(results, baseline)

    def rows() -> Iterator[EndpointRow]:
        return (_endpoint(each, known) for each in report.rows())

    summary, findings = Summary(), [_wide(each, known) for each in report.findings]
    for each in rows():
        summary.add(each)
    summary.add_findings(findings)
    return replace(
        report,
        rows=rows,
        lines=lambda: map(row_text, rows()),
        summary=summary,
        findings=findings,
        certificates=report.certificates and _certificates(report.certificates, known, report.finished),
        baseline=row,
    )


def lint_with_baseline(report: LintReport, baseline: Baseline) -> LintReport:
    """Mark the known failures of lint."""
    results = Results(source="", of=LINT, started=report.started)
    results.add_objects(report.objects, report.findings)
    known, row = _applied(results, baseline)

    def mark(found: list[LintFindingRow]) -> list[LintFindingRow]:
        return [_marked(each, known, CLUSTER, file_of(each)) for each in found]

    objects: list[ObjectRow] = [{**each, "findings": mark(each["findings"])} for each in report.objects]
    return replace(report, objects=objects, findings=mark(report.findings), baseline=row)


def _applied(results: Results, baseline: Baseline) -> tuple[frozenset[str], BaselineRow]:
    """Return the fingerprints of the known failures, and the numbers for the report."""
    failing = list(results.failing())
    known = baseline.recognised(failing)
    absent = baseline.known.keys() - {each["fingerprint"] for each in failing}
    return known, BaselineRow(known=len(known), new=len(failing) - len(known), absent=len(absent))


def _marked(finding: F, known: Collection[str], endpoint: str, file: str = "") -> F:
    if not counts(finding) or fingerprint(finding, endpoint, file) not in known:
        return finding
    return cast("F", {**finding, "status": KNOWN})


def _wide(finding: FindingRow, known: Collection[str]) -> FindingRow:
    return _marked(finding, known, CLUSTER)


def _endpoint(row: EndpointRow, known: Collection[str]) -> EndpointRow:
    findings = [_marked(each, known, row["id"]) for each in row["findings"]]
    return row if findings == row["findings"] else with_findings(row, findings)


def _certificates(found: CertificateReport, known: Collection[str], finished: str) -> CertificateReport:
    def rows() -> Iterator[InventoryRow]:
        return (_certificate(each, known) for each in found.rows())

    now = moment(finished)
    assert now is not None  # noqa: S101 - the scan has written it
    return certificate_report(rows, found.summary["configurations"], now, found.summary["names"])


def _certificate(row: InventoryRow, known: Collection[str]) -> InventoryRow:
    findings = [_wide(each, known) for each in row["findings"]]
    counted = row["verdict"] == "fail" and row["status"] not in NEVER_FAILS
    status = KNOWN if counted and not any(map(counts, findings)) else row["status"]
    return {**row, "findings": findings, "status": status}
