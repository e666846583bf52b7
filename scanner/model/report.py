"""A report: the public shape of a scan's results (``docs/schema/scan-v1.json``), row by row.

A row is the JSON of one endpoint. Formats read rows, never observations, so that a saved scan can be printed in any
format. Rows are written to a file during the scan, so that a report of 10,000 endpoints is never completely in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from msgspec import Struct, field

from scanner.model.component_tally import ComponentTally, component_of
from scanner.model.finding import NEVER_FAILS, OUTCOMES, SEVERITIES, Outcome, Severity, Verdict, outcome
from scanner.model.fingerprint import BaselineRow
from scanner.model.row import (
    CertificateRow,
    EndpointRow,
    ExpectedRow,
    FindingRow,
    KeyRow,
    NegotiatedRow,
    ObservedRow,
    OwnerRow,
    VersionRow,
)

if TYPE_CHECKING:
    from scanner.model.inventory import CertificateReport

__all__ = [
    "EXIT_FINDINGS",
    "EXIT_INCOMPLETE",
    "EXIT_INTERNAL",
    "EXIT_NOTHING",
    "EXIT_OK",
    "EXIT_USAGE",
    "NEVER_FAILS",
    "OUTCOMES",
    "SCHEMA",
    "VERDICTS",
    "BaselineRow",
    "CertificateRow",
    "CountRow",
    "Coverage",
    "DiscoveryRow",
    "EndpointRow",
    "ExpectedRow",
    "FailOn",
    "FindingRow",
    "KeyRow",
    "NegotiatedRow",
    "ObservedRow",
    "OwnerRow",
    "PolicyRow",
    "Report",
    "RuleRow",
    "ScannerRow",
    "Summary",
    "UnreadableRow",
    "VersionRow",
    "counts",
    "exit_code",
    "post_quantum",
]

SCHEMA = "adhere.scan/v1"
BRIEF_SCHEMA = "adhere.scan-brief/v1"
"""Schema of ``--brief``: for programs that read only results."""


class RuleRow(TypedDict):
    id: str
    title: str
    severity: str
    page: str
    references: list[str]
    controls: NotRequired[list[str]]
    """Published controls that the rule helps to answer; missing if there are none."""


class ScannerRow(TypedDict):
    name: str
    version: str
    mode: str
    profile: str
    arguments: list[str]


class CountRow(TypedDict):
    """A count with its reason."""

    reason: str
    count: int


class GroupRow(TypedDict):
    """Equal findings of several endpoints, with the same fix."""

    rule: str
    outcome: Outcome
    status: str
    severity: str
    message: str
    """``<workload>``, ``<listener>``, ``<address>``, ``<component>`` and kinds (``<Service>``) stand for names."""
    expected: list[str]
    fix: str | None
    """With the same placeholders, and the names of the first objects of a kind."""
    endpoints: int
    listeners: int
    examples: list[str]
    """Ids of the first listeners."""


class UnreadableRow(TypedDict):
    """A kind whose objects could not all be read."""

    resource: str
    """``routes.route.openshift.io``."""
    gap: str
    """``forbidden``, ``failed``, ``not-asked`` or ``not-saved``."""
    reason: str
    remedy: str
    """Command or setting that allows it."""
    accepted: bool
    """True if the policy file accepts the gap."""


class PolicyRow(TypedDict):
    """A NetworkPolicy, with the number of silent listeners that it blocks for the scanner."""

    policy: str
    endpoints: int


class DiscoveryRow(TypedDict):
    """The coverage of a cluster. ``discovered`` = ``left_out`` + ``not_reached`` + ``probed``, and
    ``probed`` = ``judged`` + ``undetermined`` + ``not_applicable``."""

    discovered: int
    not_reached: int
    """Found, but not reached before the end of the scan."""
    probed: int
    judged: int
    """Pass or fail."""
    undetermined: int
    not_applicable: int
    left_out: list[CountRow]
    """Excluded: outside of the scope, never TLS, UDP."""
    unreadable: list[UnreadableRow]
    network_policies: list[PolicyRow]


class NotStarted(TypedDict):
    """Endpoints that a stopped scan had not started."""

    total: int
    by_namespace: dict[str, int]
    """With several clusters ``<cluster>/<namespace>``."""
    without_namespace: NotRequired[int]
    """Targets, nodes and API servers."""


class Coverage(TypedDict):
    """The completeness of the scan."""

    endpoints: int
    judged: int
    not_judged: int
    """Declared or hinted endpoints without a verdict of pass or fail."""
    interrupted: str | None
    """The reason of an early stop: ``SIGTERM``."""
    in_progress: NotRequired[int]
    """Endpoints in progress when the scan was stopped."""
    not_started: NotRequired[NotStarted]
    complete: bool
    discovery: NotRequired[DiscoveryRow | None]
    """Coverage of a cluster; absent or null for a list of targets."""


class Summary(Struct):
    """Counts over all rows, added one by one."""

    endpoints: int = 0
    verdicts: dict[str, int] = field(
        default_factory=lambda: {"pass": 0, "fail": 0, "inconclusive": 0, "not_applicable": 0}
    )
    statuses: dict[str, int] = field(default_factory=dict)
    failures: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(SEVERITIES, 0))
    """Failing findings by severity, without waived and readiness ones: ``--fail-on`` uses them."""
    rules: dict[str, int] = field(default_factory=dict)
    """Failing findings by rule."""
    found: dict[tuple[Severity, str], int] = field(default_factory=dict)
    """Failing findings by severity and rule."""
    worst: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(SEVERITIES, 0))
    """Endpoints by their most severe failing finding."""
    failing: dict[tuple[Severity, str], int] = field(default_factory=dict)
    """The same of a cluster, by severity and displayed name of the component."""
    trust_unchecked: int = 0
    """Endpoints with a chain but without a known trust anchor."""
    self_signed: int = 0
    """Endpoints among these with a self-signed leaf."""
    names_unchecked: int = 0
    """Endpoints with a certificate but without a known name: targets by IP address."""
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    """Endpoints by outcome."""
    connections: int = 0
    unsettled: int = 0
    """Endpoints with a failure and another inconclusive finding: a failure below ``--fail-on`` must not hide it."""
    policies: dict[str, int] = field(default_factory=dict)
    """NetworkPolicies that explain silent endpoints, with the number of these."""
    components: ComponentTally = field(default_factory=ComponentTally)

    def add(self, row: EndpointRow) -> None:
        """Count one endpoint."""
        self.endpoints += 1
        self.verdicts[row["verdict"]] += 1
        self.statuses[row["status"]] = self.statuses.get(row["status"], 0) + 1
        self.outcomes[outcome(row["verdict"], row["status"])] += 1
        self.connections += row["observed"]["connections"]
        self.unsettled += row["verdict"] == "fail" and any(map(_unsettled, row["findings"]))
        for policy in row["blocked_by"]:
            self.policies[policy] = self.policies.get(policy, 0) + 1
        self.components.add(row)
        self.add_findings(row["findings"])
        counted = [SEVERITIES.index(one["severity"]) for one in row["findings"] if counts(one)]
        if counted:
            worst = SEVERITIES[max(counted)]
            self.worst[worst] += 1
            if name := component_of(row):
                self.failing[worst, name] = self.failing.get((worst, name), 0) + 1
        trust = unchecked_trust(row)
        self.trust_unchecked += trust is not None
        self.self_signed += trust == "self-signed"
        self.names_unchecked += unchecked_name(row)

    def add_findings(self, findings: Iterable[FindingRow]) -> None:
        """Count findings; called directly for those without an endpoint."""
        for finding in findings:
            if counts(finding):
                severity, rule = SEVERITIES[SEVERITIES.index(finding["severity"])], finding["rule"]
                self.failures[severity] += 1
                self.rules[rule] = self.rules.get(rule, 0) + 1
                self.found[severity, rule] = self.found.get((severity, rule), 0) + 1


CHAIN_RULE = "cert-chain"
"""Rule whose finding is not applicable without a trust anchor."""
NAME_RULE = "cert-name"
"""Rule whose finding is not applicable without a name."""


def unchecked_trust(row: EndpointRow) -> Literal["self-signed", "issued"] | None:
    """The kind of leaf of a chain that was not verified because no trust anchor is known; None if it was, or there
    is no chain."""
    chain = row["observed"]["chain"]
    if not chain or not _unjudged(row, CHAIN_RULE):
        return None
    return "self-signed" if chain[0]["subject"] == chain[0]["issuer"] else "issued"


def unchecked_name(row: EndpointRow) -> bool:
    """True if the names of a served certificate were not checked, because no name is known."""
    return _unjudged(row, NAME_RULE)


def _unjudged(row: EndpointRow, rule: str) -> bool:
    return any(one["rule"] == rule and one["verdict"] == "not_applicable" for one in row["findings"])


def post_quantum(row: EndpointRow) -> bool | None:
    """True if the endpoint accepts a post-quantum group; None if that is not known."""
    finding = next((one for one in row["findings"] if one["rule"] == "tls-pq-readiness"), None)
    if finding is None or finding["verdict"] == "inconclusive":
        return None
    required = bool(finding["expected"])
    return finding["verdict"] == "pass" if required else bool(finding["observed"])


def counts(finding: FindingRow) -> bool:
    """True for a failure that the exit code may count."""
    return finding["verdict"] == "fail" and finding["status"] not in NEVER_FAILS


def _unsettled(finding: FindingRow) -> bool:
    """True if it is inconclusive and could be a failure (``info`` cannot); also while converging."""
    excused = finding["status"] in NEVER_FAILS and finding["status"] != "converging"
    return finding["verdict"] == "inconclusive" and finding["severity"] != "info" and not excused


FailOn = Literal["low", "medium", "high", "critical", "never"]


class Posture(Struct, frozen=True, kw_only=True):
    """The outcomes of a complete scan."""

    at: datetime
    """Its start."""
    outcomes: Mapping[Outcome, int]
    """Endpoints by outcome."""


class Report(Struct, frozen=True, kw_only=True):
    """Input of a format. ``rows`` can be called several times."""

    scanner: ScannerRow
    started: str
    """RFC 3339, UTC."""
    finished: str
    cluster: dict[str, object] | None
    coverage: Coverage
    rules: list[RuleRow]
    summary: Summary
    findings: list[FindingRow]
    """Findings without an endpoint."""
    rows: Callable[[], Iterator[EndpointRow]]
    lines: Callable[[], Iterator[str]] | None = None
    """The rows as lines of JSON, if available, to save encoding them again."""
    fail_on: FailOn = "medium"
    """Lowest severity that makes the exit code 1."""
    certificates: CertificateReport | None = None
    """All certificates of the clusters; None for a list of targets."""
    baseline: BaselineRow | None = None
    """Known findings; None without ``--baseline``."""
    history: tuple[Posture, ...] = ()
    """Earlier complete scans of the same clusters, oldest first (``--history``)."""


EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_INTERNAL = 0, 1, 2, 3, 4, 70


def fails(finding: FindingRow, fail_on: FailOn) -> bool:
    """True if a finding counts for ``--fail-on``."""
    return counts(finding) and finding["severity"] in counted_severities(fail_on)


def counted_severities(fail_on: FailOn) -> tuple[Severity, ...]:
    """Severities that make the exit code 1."""
    return () if fail_on == "never" else SEVERITIES[SEVERITIES.index(fail_on) :]


def exit_code(report: Report, fail_on: FailOn) -> int:
    """The exit code of a report (design, "Exit codes"). Failures come before incompleteness."""
    if any(report.summary.failures[severity] for severity in counted_severities(fail_on)):
        return EXIT_FINDINGS
    if not report.coverage["complete"] or report.summary.unsettled:
        return EXIT_INCOMPLETE
    verdicts = report.summary.verdicts
    if verdicts["pass"] or verdicts["fail"]:
        return EXIT_OK
    return EXIT_INCOMPLETE if verdicts["inconclusive"] else EXIT_NOTHING  # nothing was found to comply


VERDICTS: tuple[Verdict, ...] = ("fail", "inconclusive", "pass", "not_applicable")
"""The most important first."""
