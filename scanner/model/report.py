"""A report: the public shape of a scan's results (``docs/schema/scan-v1.json``), row by row.

A row is what one endpoint gets in JSON. Formats read rows, never observations: what a format can say is what the
schema says, and a saved scan can be printed again in any format. Rows are produced while the scan runs and kept in a
file, so that a report of 10,000 endpoints never lies in memory whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from scanner.model.finding import SEVERITIES, Severity, Verdict

SCHEMA = "adhere.scan/v1"


class FindingRow(TypedDict):
    """One finding. Texts are as received: a format escapes them for its own medium."""

    rule: str
    severity: str
    verdict: str
    status: str
    message: str
    expected: list[str]
    observed: list[str]
    fix: str | None
    reproduce: str | None
    evidence: list[str]
    second_opinion: str | None
    waiver: str | None


class KeyRow(TypedDict):
    algorithm: str | None
    size: int | None
    curve: str | None


class CertificateRow(TypedDict):
    """One certificate of the chain; a field that could not be read is null and named in ``unreadable``."""

    subject: str | None
    issuer: str | None
    sans: list[str] | None
    not_before: str | None
    not_after: str | None
    key: KeyRow
    signature: str | None
    sha256: str
    unreadable: dict[str, str]


class VersionRow(TypedDict):
    suites: list[str] | None
    """Accepted, IANA names, in the order in which they were chosen."""
    refused: list[str]
    enumerated: bool
    preference: str | None
    groups: list[str] | None


class NegotiatedRow(TypedDict):
    version: str
    suite: str
    group: str | None


class ExpectedRow(TypedDict):
    profile: str | None
    min_version: str | None
    suites: list[str]
    groups: list[str] | None
    because: list[str]


class ObservedRow(TypedDict):
    """Null is "not known", and ``reasons`` says why under the same key; an empty list is "asked, and none"."""

    versions: dict[str, VersionRow | None] | None
    """Every version that was asked: refused has empty ``suites``; null could not be told."""
    groups: list[str] | None
    client_certificate: str | None
    alpn: str | None
    ocsp_stapled: bool | None
    negotiated: NegotiatedRow | None
    chain: list[CertificateRow] | None
    connections: int
    attempts: list[str]
    """One line a connection: the offer, the reply, milliseconds."""


class OwnerRow(TypedDict):
    kind: str
    namespace: str | None
    name: str


class EndpointRow(TypedDict):
    id: str
    instance: str
    owner: OwnerRow
    component: str | None
    segment: str | None
    origins: list[str]
    binding: str
    address: str
    port: int
    server_name: str | None
    transport: str
    verdict: str
    status: str
    reach: str
    detail: str
    expected: ExpectedRow
    observed: ObservedRow
    reasons: dict[str, str]
    findings: list[FindingRow]


class RuleRow(TypedDict):
    id: str
    title: str
    severity: str
    page: str
    references: list[str]


class ScannerRow(TypedDict):
    name: str
    version: str
    mode: str
    profile: str
    arguments: list[str]


class Coverage(TypedDict):
    """Whether everything that was asked for was judged."""

    endpoints: int
    judged: int
    not_judged: int
    """Declared or hinted endpoints without a verdict of pass or fail."""
    interrupted: str | None
    """Why the scan stopped early: ``SIGTERM``."""
    complete: bool


@dataclass(slots=True)
class Summary:
    """Counts over all rows, kept while they pass by."""

    endpoints: int = 0
    verdicts: dict[str, int] = field(
        default_factory=lambda: {"pass": 0, "fail": 0, "inconclusive": 0, "not_applicable": 0}
    )
    statuses: dict[str, int] = field(default_factory=dict)
    failures: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(SEVERITIES, 0))
    """Findings with verdict fail by severity, waived and readiness left out: what ``--fail-on`` looks at."""
    rules: dict[str, int] = field(default_factory=dict)
    """Failing findings by rule."""
    connections: int = 0
    unsettled: int = 0
    """Endpoints that fail and of which something else that matters could not be told: a failure below ``--fail-on``
    must not make up for what is not known."""

    def add(self, row: EndpointRow) -> None:
        """Count one endpoint."""
        self.endpoints += 1
        self.verdicts[row["verdict"]] += 1
        self.statuses[row["status"]] = self.statuses.get(row["status"], 0) + 1
        self.connections += row["observed"]["connections"]
        self.unsettled += row["verdict"] == "fail" and any(map(_unsettled, row["findings"]))
        self.add_findings(row["findings"])

    def add_findings(self, findings: Iterable[FindingRow]) -> None:
        """Count findings; used alone for those that belong to no endpoint."""
        for finding in findings:
            if finding["verdict"] == "fail" and finding["status"] not in NEVER_FAILS:
                severity = SEVERITIES[SEVERITIES.index(finding["severity"])]
                self.failures[severity] += 1
                self.rules[finding["rule"]] = self.rules.get(finding["rule"], 0) + 1


NEVER_FAILS = frozenset({"waived", "readiness", "informational", "converging"})
"""Statuses that are kept and counted and never reach ``--fail-on``."""


def _unsettled(finding: FindingRow) -> bool:
    """Whether it could not be told and might have failed (``info`` never does)."""
    return (
        finding["verdict"] == "inconclusive" and finding["severity"] != "info" and finding["status"] not in NEVER_FAILS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a format needs. ``rows`` can be called any number of times."""

    scanner: ScannerRow
    started: str
    """RFC 3339, UTC."""
    finished: str
    cluster: dict[str, object] | None
    coverage: Coverage
    rules: list[RuleRow]
    summary: Summary
    findings: list[FindingRow]
    """Those that belong to no endpoint."""
    rows: Callable[[], Iterator[EndpointRow]]
    lines: Callable[[], Iterator[str]] | None = None
    """The same rows as lines of JSON, where they are kept as such: nothing has to be encoded twice."""


FailOn = Literal["low", "medium", "high", "critical", "never"]

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_INTERNAL = 0, 1, 2, 3, 4, 70


def exit_code(report: Report, fail_on: FailOn) -> int:
    """The exit code that a report earns (design, "Exit codes"). Findings win over an incomplete scan."""
    if fail_on != "never":
        threshold = SEVERITIES.index(fail_on)
        if any(report.summary.failures[severity] for severity in SEVERITIES[threshold:]):
            return EXIT_FINDINGS
    if not report.coverage["complete"] or report.summary.unsettled:
        return EXIT_INCOMPLETE
    return EXIT_OK if report.summary.endpoints else EXIT_NOTHING


VERDICTS: tuple[Verdict, ...] = ("fail", "inconclusive", "pass", "not_applicable")
"""In the order of importance to a reader."""
