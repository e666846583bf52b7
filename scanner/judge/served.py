"""The served certificates as a rule goes through them: which ones, what is wrong with each, how each is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from scanner.judge import remedy
from scanner.judge.verdicts import Tally, Words, conclude
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts

Served: TypeAlias = tuple[CertificateFacts, ...] | Unknown
"""Certificates as they were sent, never none; or why they are not known."""

Reading: TypeAlias = str | Unknown | None
"""What is wrong with one certificate, that it cannot be told, or None: nothing."""

SHOWN = 200
"""Characters of a name that a finding shows; who made the certificate decides how long it is."""


def finding(rule: Rule, case: Case, tally: Tally[str], words: Words, *, expected: str, fix: str) -> Finding:
    """What the tally earns, with what all rules on certificates have in common."""
    reproduce = remedy.scan(case.endpoint) if tally.seen else None
    return conclude(rule, case, tally, words, expected=[expected], fix=fix, reproduce=reproduce)


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


def field(name: str, wrong: Callable[[Any], Reading]) -> Callable[[CertificateFacts], Reading]:
    """The reading of one field: what ``wrong`` says of its value, where it can be read."""

    def reading(certificate: CertificateFacts) -> Reading:
        value = getattr(certificate, name)
        return unreadable(certificate, name) if value is None else wrong(value)

    return reading


def _label(place: int, certificate: CertificateFacts) -> str:
    position = "leaf" if place == 0 else "issuer"
    return f"{position} {short(certificate.subject)}" if certificate.subject else f"{position} {certificate.sha256}"


def short(text: str) -> str:
    """A name, cut off where it gets long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def date(moment: datetime) -> str:
    """A certificate's time, which is in UTC, to the minute."""
    return f"{moment.isoformat(' ', 'minutes')[:16]} UTC"


def unreadable(certificate: CertificateFacts, field: str) -> Unknown:
    """A field that is None, with the reason that the certificate's reader gave."""
    return Unknown(f"{field} cannot be read ({short(certificate.unreadable.get(field, 'no reason given'))})")
