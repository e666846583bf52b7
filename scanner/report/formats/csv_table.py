"""CSV (RFC 4180) for spreadsheets: a row for each finding, and for each subject whose verdict no finding has.

So what could not be determined always has a row of its own. Line ends are LF, and every cell is quoted.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO, TypedDict

from scanner.model.endpoint import host_port
from scanner.model.finding import outcome as outcome_of
from scanner.model.fingerprint import fingerprint
from scanner.model.inventory import InventoryRow
from scanner.model.lint_report import LintReport, ObjectRow
from scanner.model.report import EndpointRow, FindingRow, OwnerRow, Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.formats.lint_text import named
from scanner.report.issues import gaps
from scanner.report.results import file_of

_LONGEST = 32_000
"""Characters of a cell; spreadsheets have 32,767."""
_FORMULA = tuple("=+-@＝＋－＠")
"""First characters of a formula, also in their wide forms. A tab or CR is escaped like every control character."""


class Line(TypedDict, total=False):
    """One row; the keys are the columns, in their order."""

    kind: str
    """``endpoint``, ``object``, ``certificate`` or ``coverage``."""
    subject: str
    address: str
    owner: str
    namespace: str
    component: str
    profile: str
    subject_outcome: str
    """Outcome of the endpoint or object, in each of its rows."""
    rule: str
    """Empty: the row has the verdict of the subject."""
    severity: str
    verdict: str
    status: str
    outcome: str
    message: str
    observed: str
    expected: str
    fix: str
    waiver: str
    file: str
    line: str
    fingerprint: str
    controls: str
    """Published controls that the rule helps to answer."""


COLUMNS = tuple(Line.__annotations__)


def write(report: Report | LintReport, out: TextIO) -> None:
    """Write the header, then row by row."""
    controls = {each["id"]: "; ".join(each.get("controls", [])) for each in report.rules}
    lines = ({**line, "controls": controls.get(line.get("rule", ""), "")} for line in _lines(report))
    write_table(COLUMNS, lines, out)


def write_table(columns: Sequence[str], lines: Iterable[Mapping[str, object]], out: TextIO) -> None:
    """Write the header, then a row for each line. Items of a list are separated by ``; ``; a missing value is empty."""
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow(columns)
    for line in lines:
        table.writerow([_cell(line.get(name)) for name in columns])


def _cell(value: object) -> str:
    """Escape a text, with an apostrophe before what a spreadsheet would run as a formula (OWASP, CSV injection)."""
    text = "; ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    shown = plain(text, _LONGEST)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _lines(report: Report | LintReport) -> Iterator[Line]:
    for gap in gaps(report):
        yield _stated("coverage", "", "inconclusive", "not-tested", gap)
    if isinstance(report, LintReport):
        for finding in report.findings:
            yield {"kind": "object", "subject": finding["about"] or "", **_judged(finding, "", file_of(finding))}
        for each in report.objects:
            yield from _object(each)
        return
    for wide in report.findings:
        yield {"kind": "object", "subject": wide["about"] or "", **_judged(wide, "objects")}
    for row in report.rows():
        yield from _endpoint(row)
    yield from map(_certificate, report.certificates.rows() if report.certificates else ())


def _endpoint(row: EndpointRow) -> Iterator[Line]:
    result = headline.outcome(row)
    about: Line = {
        "address": host_port(row["address"], row["port"]),
        "component": row["component"] or "",
        "profile": row["expected"]["profile"] or "",
        "subject_outcome": result,
        **_owner(row["owner"]),
    }
    if not _said(row["findings"], row["verdict"]):
        yield {**_stated("endpoint", row["id"], row["verdict"], row["status"], headline.reason(row)), **about}
    for each in row["findings"]:
        yield {"kind": "endpoint", "subject": row["id"], **about, **_judged(each, row["id"])}


def _object(row: ObjectRow) -> Iterator[Line]:
    name, place = named(row["object"]), row["place"]
    about: Line = {"subject_outcome": row["verdict"], **_owner(row["object"])}
    if not _said(row["findings"], row["verdict"]):
        where: Line = {"file": place["file"], "line": str(place["line"])} if place else {}
        passed = f"passed {len(row['passed'])} rules"
        yield {**_stated("object", name, row["verdict"], row["verdict"], passed), **about, **where}
    for each in row["findings"]:
        line = str(each["place"]["line"]) if each["place"] else ""
        yield {"kind": "object", "subject": name, **about, **_judged(each, name, file_of(each)), "line": line}


def _certificate(row: InventoryRow) -> Line:
    name = " or ".join(row["names"]) or row["subject"] or row["sha256"]
    stated = _stated("certificate", name, row["verdict"], row["status"], row["why"])
    more = {"namespace": row["namespace"] or "", "component": row["component"] or ""}
    return {**stated, **more, "observed": "; ".join(row["places"]), "fingerprint": row["sha256"]}  # type: ignore[typeddict-item]


def _said(findings: Iterable[FindingRow], verdict: str) -> bool:
    """True if a finding has the verdict, so that it needs no row of its own."""
    return any(each["verdict"] == verdict for each in findings)


def _stated(kind: str, subject: str, verdict: str, status: str, message: str) -> Line:
    result = outcome_of(verdict, status)
    shown: Line = {"kind": kind, "subject": subject, "verdict": verdict, "status": status}
    return {**shown, "outcome": result, "subject_outcome": result, "message": message}


def _judged(finding: FindingRow, subject: str, file: str = "") -> Line:
    return {
        "rule": finding["rule"],
        "severity": finding["severity"],
        "verdict": finding["verdict"],
        "status": finding["status"],
        "outcome": outcome_of(finding["verdict"], finding["status"]),
        "message": finding["message"],
        "observed": "; ".join(finding["observed"]),
        "expected": "; ".join(finding["expected"]),
        "fix": finding["fix"] or "",
        "waiver": finding["waiver"] or "",
        "file": file,
        "fingerprint": fingerprint(finding, subject, file),
    }


def _owner(owner: OwnerRow) -> Line:
    return {"owner": f"{owner['kind']}/{owner['name']}", "namespace": owner["namespace"] or ""}
