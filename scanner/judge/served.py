"""The served certificates as a rule goes through them: which ones, what is wrong with each, how each is called."""

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
"""Certificates as they were sent, never none; or why they are not known."""


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
    """What the tally earns, with what all rules on certificates have in common."""
    reproduce = remediation.scan(case.endpoint) if tally.seen else None
    return conclude(rule, case, tally, words, expected=[expected], fix=fix, reproduce=reproduce, severity=severity)


def everything(case: Case) -> Served:
    """Everything that was sent; never empty."""
    return case.observation.chain or Unknown("the listener sent no certificate")


def leaf(case: Case) -> Served:
    """The first one, with which the listener identifies itself."""
    chain = everything(case)
    return chain if isinstance(chain, Unknown) else chain[:1]


def signed(case: Case) -> Served:
    """The leaf, and whatever else is not its own issuer: the certificates that a client has to take from the wire."""
    chain = everything(case)
    return chain if isinstance(chain, Unknown) else (*chain[:1], *(c for c in chain[1:] if not c.self_issued))


def tally(certificates: Served, reading: Callable[[CertificateFacts], Reading]) -> Tally[str]:
    """Each certificate's reading, under its name."""
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
