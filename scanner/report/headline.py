"""What a list says of one endpoint: its place, what it speaks, and the one reason that a reader needs first.

Plain functions of rows; texts come out as received, and each format escapes them for its own medium.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scanner.model.endpoint import host_port
from scanner.model.finding import SEVERITIES, Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.report import (
    NEVER_FAILS,
    VERDICTS,
    EndpointRow,
    FindingRow,
    Summary,
    unchecked_name,
    unchecked_trust,
)

SYMBOLS: dict[str, str] = {"fail": "✗", "deviates": "~", "inconclusive": "?", "pass": "✓", "not_applicable": "–"}
WORDS: dict[str, str] = {
    "fail": "fail",
    "deviates": "deviates",
    "inconclusive": "inconclusive",
    "pass": "pass",
    "not_applicable": "not applicable",
}
"""Outcomes for people."""

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

PLAIN_STATUSES = frozenset({"ok", "violation", "not-tested", "interrupted", "unreachable", "not-tls"})
"""Statuses that say no more than the verdict and its message."""

_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)? \d{3}(?: [^:]*?)?(?=\s+[A-Za-z][A-Za-z0-9-]*: |\s*$)")
"""Up to the first header field; the line ends are blanks by now."""

_CLIENT_CERTIFICATE = {"required": ", mTLS", "requested": ", mTLS optional"}


def outcome(row: EndpointRow) -> Outcome:
    """The word for a row: of its verdict, and of whether a failure counts."""
    return outcome_of(row["verdict"], row["status"])


def in_progress(row: EndpointRow) -> bool:
    """Whether it has no verdict because the scan was stopped while it was asked."""
    return row["status"] == "interrupted"


def so_many(count: int, outcome: str) -> str:
    """``1 deviates``, ``2 deviate``, ``2 fail``."""
    return f"{count} {'deviate' if outcome == 'deviates' and count != 1 else WORDS[outcome]}"


def place(row: EndpointRow) -> str:
    """The dialled address and port, where ``id`` does not already say it."""
    return "" if row["address"] in row["id"] else host_port(row["address"], row["port"])


def spoken(row: EndpointRow) -> list[str]:
    """Versions that were accepted, by the standard's names, oldest first."""
    versions = row["observed"]["versions"] or {}
    return [name for name, told in versions.items() if told is not None and told["suites"] != []]


def speaks(row: EndpointRow) -> str:
    """``TLS 1.2 1.3, mTLS``, or how far the conversation got instead: ``closed``."""
    names = [SHORT_VERSIONS.get(name, name) for name in spoken(row)]
    if not names:
        return _REACHES.get(row["reach"], row["reach"])
    short = " ".join(name if not index else _drop_repeated(names[index - 1], name) for index, name in enumerate(names))
    return short + _CLIENT_CERTIFICATE.get(row["observed"]["client_certificate"] or "", "")


def _drop_repeated(before: str, name: str) -> str:
    family, _, number = name.partition(" ")
    return number if before.startswith(family) else name


def rank(finding: FindingRow) -> int:
    """The most severe first when sorted."""
    return -SEVERITIES.index(finding["severity"]) if finding["severity"] in SEVERITIES else 0


def importance(finding: FindingRow) -> tuple[int, bool, int]:
    """Sort key of findings: by verdict; what is not counted in the exit code after what is; then by severity."""
    verdict = VERDICTS.index(finding["verdict"]) if finding["verdict"] in VERDICTS else len(VERDICTS)
    return verdict, finding["status"] in NEVER_FAILS, rank(finding)


def details(finding: FindingRow) -> Iterator[tuple[str, list[str]]]:
    """What explains a finding, under the labels that every text has; without what is empty."""
    labelled = (
        ("observed", finding["observed"]),
        ("expected", finding["expected"]),
        ("fix", [finding["fix"] or ""]),
        ("evidence", finding["evidence"]),
        ("reproduce", [finding["reproduce"] or ""]),
        ("waived by", [finding["waiver"] or ""]),
        ("sslyze", [finding["second_opinion"] or ""]),
    )
    return ((label, items) for label, items in labelled if any(items))


def severity_rank(severity: str) -> int:
    """The higher, the more severe; -1 for a word that is none."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1


def same(finding: FindingRow) -> tuple[str, str | None, str]:
    """What tells a finding from all others: one on a certificate is in its row, and among those on no endpoint."""
    return finding["rule"], finding["about"], finding["message"]


def open_question(finding: FindingRow) -> bool:
    """Whether it needs a reader: it failed, or could not be determined and might have failed (``info`` never does)."""
    if finding["verdict"] == "inconclusive":
        return finding["severity"] != "info"
    return finding["verdict"] == "fail"


def status_line(detail: str) -> str:
    """What a server said, for a line of text: of an HTTP response its first line alone (RFC 9112, section 4). The
    JSON document has the rest."""
    found = _STATUS_LINE.match(detail)
    return found[0] if found else detail


def deciding(row: EndpointRow) -> list[FindingRow]:
    """The findings that carry the endpoint's verdict, the most severe first."""
    return sorted((one for one in row["findings"] if one["verdict"] == row["verdict"]), key=rank)


def reason(row: EndpointRow) -> str:
    """Why the verdict is what it is, in one line."""
    findings = deciding(row)
    if row["verdict"] == "pass":
        said = f"complies with {row['expected']['profile']}" if row["expected"]["profile"] else "complies"
        trust = "; self-signed, trust not checked" if unchecked_trust(row) == "self-signed" else ""
        return f"{said}{trust}{'; name not checked' if unchecked_name(row) else ''}"
    if not findings:
        return status_line(row["detail"]) or row["status"]
    more = f" (+{len(findings) - 1} more)" if len(findings) > 1 else ""
    return kind(row["status"]) + findings[0]["message"] + more


def kind(status: str) -> str:
    """A status that changes what the verdict means, to stand before a message: ``readiness: ``; else nothing."""
    return "" if status in PLAIN_STATUSES else f"{status}: "


def excused(counts: Summary) -> str:
    """Which endpoints are counted as failing and break nothing: ``1 readiness, 2 waived``; empty for none."""
    kept = sorted(NEVER_FAILS - {"informational"})
    return ", ".join(f"{counts.statuses[status]} {status}" for status in kept if counts.statuses.get(status))
