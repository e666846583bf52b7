"""A report: the public shape of a scan's results (``docs/schema/scan-v1.json``), row by row.

A row is what one endpoint gets in JSON. Formats read rows, never observations: what a format can say is what the
schema says, and a saved scan can be printed again in any format. Rows are produced while the scan runs and kept in a
file, so that a report of 10,000 endpoints never lies in memory whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NotRequired, TypedDict

from scanner.model.component_tally import ComponentTally
from scanner.model.finding import NEVER_FAILS, OUTCOMES, SEVERITIES, Outcome, Severity, Verdict, outcome
from scanner.model.inventory import CertificateReport
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
    "exit_code",
]

SCHEMA = "adhere.scan/v1"


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


class CountRow(TypedDict):
    """How many, and why."""

    reason: str
    count: int


class UnreadableRow(TypedDict):
    """A kind of which the cluster may have objects that nobody saw."""

    resource: str
    """``routes.route.openshift.io``."""
    gap: str
    """``forbidden``, ``failed``, ``not-asked`` or ``not-saved``."""
    reason: str
    remedy: str
    """What would allow it."""
    accepted: bool
    """Whether the policy file accepts that it is missing."""


class PolicyRow(TypedDict):
    """A NetworkPolicy, and how many listeners did not answer that it closes to the scanner."""

    policy: str
    endpoints: int


class DiscoveryRow(TypedDict):
    """The coverage of a cluster. ``discovered`` = ``left_out`` + ``not_reached`` + ``probed``, and
    ``probed`` = ``judged`` + ``undetermined`` + ``not_applicable``."""

    discovered: int
    not_reached: int
    """Found, and the scan ended before them."""
    probed: int
    judged: int
    """Pass or fail."""
    undetermined: int
    not_applicable: int
    left_out: list[CountRow]
    """Seen and not asked: outside the scope, never TLS, UDP."""
    unreadable: list[UnreadableRow]
    network_policies: list[PolicyRow]


class NotStarted(TypedDict):
    """What a scan that was stopped had not begun with."""

    total: int
    by_namespace: dict[str, int]
    """With several clusters ``<cluster>/<namespace>``."""
    without_namespace: NotRequired[int]
    """Targets, nodes and API servers."""


class Coverage(TypedDict):
    """Whether everything that was asked for was judged."""

    endpoints: int
    judged: int
    not_judged: int
    """Declared or hinted endpoints without a verdict of pass or fail."""
    interrupted: str | None
    """Why the scan stopped early: ``SIGTERM``."""
    in_progress: NotRequired[int]
    """Endpoints without a verdict because the scan was stopped while it asked them."""
    not_started: NotRequired[NotStarted]
    complete: bool
    discovery: NotRequired[DiscoveryRow | None]
    """What a cluster showed and what it did not; absent or null for a list of targets."""


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
    found: dict[tuple[Severity, str], int] = field(default_factory=dict)
    """The same by severity and rule."""
    worst: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(SEVERITIES, 0))
    """Endpoints by the most severe of these findings."""
    trust_unchecked: int = 0
    """Endpoints that served a chain for which no trust anchor is known."""
    self_signed: int = 0
    """Those of them whose leaf is its own issuer."""
    names_unchecked: int = 0
    """Endpoints with a certificate and without a known name: targets given by an IP address."""
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    """Endpoints by the word that every format has for them."""
    connections: int = 0
    unsettled: int = 0
    """Endpoints that fail and with another inconclusive finding: a failure below ``--fail-on``
    must not make up for what is not known."""
    policies: dict[str, int] = field(default_factory=dict)
    """NetworkPolicies that explain silence, by how many endpoints each does."""
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
        counted = [SEVERITIES.index(one["severity"]) for one in row["findings"] if _counts(one)]
        if counted:
            self.worst[SEVERITIES[max(counted)]] += 1
        trust = unchecked_trust(row)
        self.trust_unchecked += trust is not None
        self.self_signed += trust == "self-signed"
        self.names_unchecked += unchecked_name(row)

    def add_findings(self, findings: Iterable[FindingRow]) -> None:
        """Count findings; used alone for those that belong to no endpoint."""
        for finding in findings:
            if _counts(finding):
                severity, rule = SEVERITIES[SEVERITIES.index(finding["severity"])], finding["rule"]
                self.failures[severity] += 1
                self.rules[rule] = self.rules.get(rule, 0) + 1
                self.found[severity, rule] = self.found.get((severity, rule), 0) + 1


CHAIN_RULE = "cert-chain"
"""Its finding is not applicable where no trust anchor is known."""
NAME_RULE = "cert-name"
"""Its finding is not applicable where no name is known."""


def unchecked_trust(row: EndpointRow) -> Literal["self-signed", "issued"] | None:
    """Whether a served chain was not verified for want of a trust anchor, and which kind of leaf it has; None: it was
    verified, or there was none."""
    chain = row["observed"]["chain"]
    if not chain or not _unjudged(row, CHAIN_RULE):
        return None
    return "self-signed" if chain[0]["subject"] == chain[0]["issuer"] else "issued"


def unchecked_name(row: EndpointRow) -> bool:
    """Whether the names of a served certificate were not checked for want of a name."""
    return _unjudged(row, NAME_RULE)


def _unjudged(row: EndpointRow, rule: str) -> bool:
    return any(one["rule"] == rule and one["verdict"] == "not_applicable" for one in row["findings"])


def _counts(finding: FindingRow) -> bool:
    return finding["verdict"] == "fail" and finding["status"] not in NEVER_FAILS


def _unsettled(finding: FindingRow) -> bool:
    """Whether it could not be determined and might have failed (``info`` never does); so might what still converges."""
    excused = finding["status"] in NEVER_FAILS and finding["status"] != "converging"
    return finding["verdict"] == "inconclusive" and finding["severity"] != "info" and not excused


FailOn = Literal["low", "medium", "high", "critical", "never"]


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
    fail_on: FailOn = "medium"
    """The lowest severity that makes the exit code 1."""
    certificates: CertificateReport | None = None
    """Every certificate that the clusters hold and serve; None for a list of targets."""


EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_INTERNAL = 0, 1, 2, 3, 4, 70


def fails(finding: FindingRow, fail_on: FailOn) -> bool:
    """Whether a finding counts against ``--fail-on``."""
    return _counts(finding) and finding["severity"] in counted_severities(fail_on)


def counted_severities(fail_on: FailOn) -> tuple[Severity, ...]:
    """Those that make the exit code 1."""
    return () if fail_on == "never" else SEVERITIES[SEVERITIES.index(fail_on) :]


def exit_code(report: Report, fail_on: FailOn) -> int:
    """The exit code that a report earns (design, "Exit codes"). Findings win over an incomplete scan."""
    if any(report.summary.failures[severity] for severity in counted_severities(fail_on)):
        return EXIT_FINDINGS
    if not report.coverage["complete"] or report.summary.unsettled:
        return EXIT_INCOMPLETE
    told = report.summary.verdicts
    if told["pass"] or told["fail"]:
        return EXIT_OK
    return EXIT_INCOMPLETE if told["inconclusive"] else EXIT_NOTHING  # nothing was found to comply


VERDICTS: tuple[Verdict, ...] = ("fail", "inconclusive", "pass", "not_applicable")
"""In the order of importance to a reader."""
