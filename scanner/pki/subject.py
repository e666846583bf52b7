"""One certificate as the subject of a rule, and its findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct, field

from scanner.kube.kinds import SECRET
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.held_certificate import HeldCertificate
from scanner.model.pki_config import PkiConfig
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Category
from scanner.pki.governing import Past
from scanner.pki.recognition import Classified, made_by_name
from scanner.tls.certificate import CertificateFacts

_NAMES = 5
"""Most names of one certificate that a finding lists."""
LONGEST_NAME = 200
"""Characters of a certificate's name in a finding."""
_LONGEST_IDENTITY = 400


class Subject(Struct, frozen=True, kw_only=True):
    """One certificate, with everything that rules need."""

    held: HeldCertificate
    classified: Classified
    config: PkiConfig
    """The configuration that governs its place."""
    now: datetime
    first_made: datetime | None = None
    """The earliest notBefore of a cross-signed signer's key; None for other certificates."""
    successor: CertificateFacts | None = None
    """The active signer that replaces a signer in a bundle, if known."""
    history: tuple[Past, ...] = ()
    """Known previous configurations."""
    policy: ScanPolicy = ScanPolicy()
    lifetimes: Mapping[Category, tuple[int, int]] = field(default_factory=dict)
    """Typical least and most days."""

    @property
    def made(self) -> datetime | None:
        """The time at which its key was created, if known."""
        facts = self.held.facts
        spelt = made_by_name(facts) if self.classified.names else None
        return min((each for each in (self.first_made, facts.not_before, spelt) if each), default=None)

    @property
    def outside(self) -> str:
        """The reason, as a sentence, why the PKI object does not govern it, or why that is unknown."""
        unclear = self.classified.governed is None
        text = "It is unknown whether the PKI object governs it" if unclear else "It is outside of the PKI object"
        return f"{text}: {self.classified.why}"

    @property
    def secret(self) -> str:
        """``namespace/name`` of its Secret, or ""."""
        reference = self.held.place.reference
        return f"{reference.namespace}/{reference.name}" if reference and reference.kind == SECRET.name else ""

    @property
    def called(self) -> str:
        """Its name in messages."""
        facts = self.held.facts
        names = " or ".join(each.name for each in self.classified.names[:_NAMES])
        return (names or facts.subject or facts.sha256)[:LONGEST_NAME]


def identity(facts: CertificateFacts) -> str:
    """The subject and the digest of a certificate."""
    return f"{facts.subject or 'no readable subject'}, SHA-256 {facts.sha256}"[:_LONGEST_IDENTITY]


def finding(  # noqa: PLR0913 - the fields of a finding
    rule: ScanRule,
    subject: Subject,
    verdict: Verdict,
    status: Status,
    text: str,
    *,
    severity: Severity | None = None,
    expected: Iterable[str] = (),
    fix: str | None = None,
    evidence: Iterable[str] = (),
) -> Finding:
    """Build a finding on a certificate; ``text`` is a clause with the certificate as its subject."""
    classified = subject.classified
    return Finding(
        rule=rule.id,
        severity=severity or rule.severity,
        verdict=verdict,
        status=status,
        message=f"{subject.called} ({classified.category}): {text}",
        expected=tuple(expected),
        observed=(identity(subject.held.facts),),
        fix=fix,
        evidence=(classified.because, *evidence),
        about=str(subject.held.place),
    )
