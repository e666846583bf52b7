"""Words for people: outcomes, statuses and bindings, and the line that a list has for one endpoint.

Plain functions of rows. Texts come out as received; each format escapes them for its own medium.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from scanner.model.component_tally import ComponentRow
from scanner.model.endpoint import host_port
from scanner.model.finding import SEVERITIES, Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.report import (
    NEVER_FAILS,
    VERDICTS,
    EndpointRow,
    FindingRow,
    Report,
    Summary,
    unchecked_name,
    unchecked_trust,
)

SYMBOLS: dict[str, str] = {"fail": "✗", "deviates": "~", "inconclusive": "?", "pass": "✓", "not_applicable": "–"}
WORDS: dict[str, str] = {
    "fail": "fail",
    "deviates": "differs",
    "inconclusive": "inconclusive",
    "pass": "pass",
    "not_applicable": "not applicable",
}
"""Outcomes in the words of texts."""

SHORT_VERSIONS: dict[str, str] = {
    "SSLv2": "SSL 2",
    "SSLv3": "SSL 3",
    "TLSv1": "TLS 1.0",
    "TLSv1.1": "TLS 1.1",
    "TLSv1.2": "TLS 1.2",
    "TLSv1.3": "TLS 1.3",
}

_REACHES: dict[str, str] = {
    "tls": "TLS",
    "client-certificate-required": "TLS",
    "closed": "closed",
    "filtered": "no answer",
    "unreachable": "unreachable",
    "hung-up": "hangs up",
    "reset": "resets",
    "silent": "silent",
    "plaintext": "plaintext",
    "starttls-needed": "needs STARTTLS",
    "rejected": "TLS, refuses all",
    "name-required": "TLS, other name",
    "malformed": "not TLS",
    "interrupted": "interrupted",
}

PLAIN_STATUSES = frozenset({"ok", "violation", "informational", "not-tested", "interrupted", "unreachable", "not-tls"})
"""Statuses that add nothing to the verdict and its message."""

STATUSES: dict[str, str] = {
    "readiness": "profile not enforced",
    "converging": "rollout in progress",
    "version-skew": "upgrade in progress",
}
"""Statuses in the words of texts; the others are the JSON value."""
BINDINGS: dict[str, str] = {
    "must-follow": "profile enforced",
    "settling": "rollout in progress",
    "not-enforced": "profile not enforced",
}
"""Bindings in the words of texts."""
STANDINGS: dict[str, str] = {
    "platform": "platform component",
    "layered": "layered product",
    "user": "user workload",
    "listed": "target",
}
"""Standings in the words of texts."""
MEANINGS: dict[str, str] = {
    "profile not enforced": "no object requires it here; differences from it are not counted in the exit code",
    "rollout in progress": "a new profile is being applied; an endpoint that follows the former one passes too",
    "layered": "a product installed on top of the platform; it inherits the cluster's profile",
    "user": "not part of the platform: workloads, Routes and webhooks of users",
}
"""Explanations of words in the table of components."""

_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)? \d{3}(?: [^:]*?)?(?=\s+[A-Za-z][A-Za-z0-9-]*: |\s*$)")
"""Up to the first header field; line ends have become spaces."""

_CLIENT_CERTIFICATE = {"required": ", mTLS", "requested": ", mTLS optional"}


def outcome(row: EndpointRow) -> Outcome:
    """Return the outcome of a row, from its verdict and status."""
    return outcome_of(row["verdict"], row["status"])


def in_progress(row: EndpointRow) -> bool:
    """True for an endpoint without a verdict because the scan was stopped during its handshakes."""
    return row["status"] == "interrupted"


def so_many(count: int, outcome: str) -> str:
    """``1 differs``, ``2 differ``, ``2 fail``."""
    return f"{count} {'differ' if outcome == 'deviates' and count != 1 else WORDS[outcome]}"


def place(row: EndpointRow) -> str:
    """Return address and port, or "" if the id has the address."""
    return "" if row["address"] in row["id"] else host_port(row["address"], row["port"])


def spoken(row: EndpointRow) -> list[str]:
    """Return the accepted versions by the standard's names, oldest first."""
    versions = row["observed"]["versions"] or {}
    return [name for name, answer in versions.items() if answer is not None and answer["suites"] != []]


def speaks(row: EndpointRow) -> str:
    """``TLS 1.2 1.3, mTLS``; without a handshake its outcome: ``closed``."""
    names = [SHORT_VERSIONS.get(name, name) for name in spoken(row)]
    if not names:
        return _REACHES.get(row["reach"], row["reach"])
    short, family = "", ""
    for name in names:
        before, (family, _, number) = family, name.partition(" ")
        short += f" {number if family == before else name}"
    return short.strip() + _CLIENT_CERTIFICATE.get(row["observed"]["client_certificate"] or "", "")


def severity_rank(severity: str) -> int:
    """Sort key: the higher, the more severe; -1 for an unknown word."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1


def rank(finding: FindingRow) -> int:
    """Sort key: the most severe first."""
    return -severity_rank(finding["severity"])


def importance(finding: FindingRow) -> tuple[int, bool, int]:
    """Sort key: by verdict, then by whether the exit code counts it, then by severity."""
    verdict = VERDICTS.index(finding["verdict"]) if finding["verdict"] in VERDICTS else len(VERDICTS)
    return verdict, finding["status"] in NEVER_FAILS, rank(finding)


_WORST: tuple[Outcome, ...] = ("fail", "inconclusive", "deviates", "pass", "not_applicable")


def badness(finding: FindingRow) -> tuple[int, int]:
    """Sort key, the worst first, to keep one of the findings of replicas: a failure that does not count must not hide
    what is unknown."""
    return _WORST.index(outcome_of(finding["verdict"], finding["status"])), rank(finding)


def label(finding: FindingRow) -> str:
    """Return the word before a finding: the severity of a failure, ``info`` for a remark, else the verdict."""
    if finding["status"] == "informational":
        return "info"
    return finding["severity"] if finding["verdict"] == "fail" else finding["verdict"]


def controls_of(report: Report) -> dict[str, list[str]]:
    """Return the controls of each rule that has some."""
    return {each["id"]: each.get("controls", []) for each in report.rules}


def details(finding: FindingRow, controls: Mapping[str, list[str]] | None = None) -> list[tuple[str, list[str]]]:
    """Return the parts that explain a finding, without empty ones, and its ``controls`` by its rule. All formats have
    these labels."""
    labelled = (
        ("observed", finding["observed"]),
        ("expected", finding["expected"]),
        ("fix", [finding["fix"] or ""]),
        ("evidence", finding["evidence"]),
        ("reproduce", [finding["reproduce"] or ""]),
        ("waived by", [finding["waiver"] or ""]),
        ("sslyze", [finding["second_opinion"] or ""]),
        ("controls", [", ".join((controls or {}).get(finding["rule"], ()))]),
    )
    return [(label, items) for label, items in labelled if any(items)]


_BRIEF = ("observed", "expected", "fix")
_ITEMS = 5
"""Items of a label in one line."""


def brief(finding: FindingRow) -> list[tuple[str, str]]:
    """Return what was observed and expected, and the fix, each in one line."""
    return [(label, _listed(items)) for label, items in details(finding) if label in _BRIEF]


def _listed(items: list[str]) -> str:
    more = f" and {len(items) - _ITEMS} more" if len(items) > _ITEMS else ""
    return ", ".join(items[:_ITEMS]) + more


def same(finding: FindingRow) -> tuple[str, str | None, str]:
    """Key of a finding that is both in the row of a certificate and among those without an endpoint."""
    return finding["rule"], finding["about"], finding["message"]


def open_question(finding: FindingRow) -> bool:
    """True if it failed, or was inconclusive with a severity above ``info``."""
    if finding["verdict"] == "inconclusive":
        return finding["severity"] != "info"
    return finding["verdict"] == "fail"


def legend(components: Iterable[ComponentRow]) -> list[str]:
    """Explain the words that the table of these components has."""
    rows = list(components)
    used = {word for row in rows for word in (row["standing"], *(BINDINGS.get(each, each) for each in row["bindings"]))}
    return [f"{word}: {meaning}" for word, meaning in MEANINGS.items() if word in used]


def status_line(detail: str) -> str:
    """Cut an HTTP response to its first line (RFC 9112, section 4); the JSON document has the rest."""
    found = _STATUS_LINE.match(detail)
    return found[0] if found else detail


def reason(row: EndpointRow) -> str:
    """Return the reason of the verdict in one line: the most severe of the findings that have it."""
    if row["verdict"] == "pass":
        profile = f"complies with {row['expected']['profile']}" if row["expected"]["profile"] else "complies"
        trust = "; self-signed, trust not checked" if unchecked_trust(row) == "self-signed" else ""
        return f"{profile}{trust}{'; name not checked' if unchecked_name(row) else ''}"
    findings = sorted((each for each in row["findings"] if each["verdict"] == row["verdict"]), key=rank)
    if not findings:
        return status_line(row["detail"]) or row["status"]
    more = f" (+{len(findings) - 1} more)" if len(findings) > 1 else ""
    return kind(row["status"]) + findings[0]["message"] + more


def kind(status: str) -> str:
    """Return the words of a status to put before a message, ``waived: ``; "" for a plain one."""
    return "" if status in PLAIN_STATUSES else f"{status_words(status)}: "


def status_words(status: str) -> str:
    """Return the words of a status in texts."""
    return STATUSES.get(status) or status.replace("-", " ")


def excused(counts: Summary) -> str:
    """Count the failing endpoints that the exit code does not count: ``1 profile not enforced, 2 waived``."""
    kept = sorted(NEVER_FAILS - {"informational"}, key=status_words)
    return ", ".join(f"{counts.statuses[each]} {status_words(each)}" for each in kept if counts.statuses.get(each))
