"""Access to the served certificates for rules: select them, check each, and label it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude
from scanner.kube.maybe import Unknown
from scanner.model.certificate_faults import SHOWN, Reading, date, field, short, span, unreadable
from scanner.model.finding import Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts

__all__ = [
    "SHOWN",
    "Reading",
    "Served",
    "date",
    "everything",
    "field",
    "finding",
    "leaf",
    "short",
    "signed",
    "span",
    "tally",
    "unreadable",
]

Served: TypeAlias = tuple[CertificateFacts, ...] | Unknown
"""The sent certificates, at least one; or the reason why they are unknown."""


def finding(
    rule: Rule,
    case: Case,
    tally: Tally[str],
    words: Words,
    *,
    expected: str,
    fix: str,
    severity: Severity | None = None,
) -> Finding:
    """Build the finding for a tally, with the reproduce command of all certificate rules."""
    reproduce = remediation.scan(case.endpoint) if tally.seen else None
    return conclude(rule, case, tally, words, expected=[expected], fix=fix, reproduce=reproduce, severity=severity)


def everything(case: Case) -> Served:
    """Every sent certificate; at least one."""
    return case.observation.chain or Unknown("the listener sent no certificate")


def leaf(case: Case) -> CertificateFacts | Unknown:
    """The first certificate, with which the listener identifies itself."""
    chain = everything(case)
    return chain if isinstance(chain, Unknown) else chain[0]


def signed(case: Case) -> Served:
    """The leaf and the sent intermediates, without self-issued ones: the certificates that clients need from the
    listener."""
    chain = everything(case)
    return chain if isinstance(chain, Unknown) else (*chain[:1], *(c for c in chain[1:] if not c.self_issued))


def tally(certificates: Served, reading: Callable[[CertificateFacts], Reading]) -> Tally[str]:
    """Apply ``reading`` to each certificate, and label the results with the certificates' names."""
    if isinstance(certificates, Unknown):
        return Tally(unknown=(certificates.reason,))
    seen, unknown = [], []
    for place, certificate in enumerate(certificates):
        match reading(certificate):
            case Unknown(reason):
                unknown.append(f"{_label(place, certificate)}: {reason}")
            case str(wrong):
                seen.append(f"{_label(place, certificate)}: {wrong}")
    return Tally(seen=tuple(seen), unknown=tuple(unknown))


def _label(place: int, certificate: CertificateFacts) -> str:
    position = "leaf" if place == 0 else "issuer"
    return f"{position} {short(certificate.subject)}" if certificate.subject else f"{position} {certificate.sha256}"
