"""One certificate as a rule looks at it, and what a rule says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scanner.kube.kinds import SECRET
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.inventory import HeldCertificate
from scanner.model.pki_config import PkiConfig
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Category
from scanner.pki.governing import Past
from scanner.pki.recognition import Classified, made_by_name
from scanner.tls.certificate import CertificateFacts

_NAMES = 5
"""Names that one certificate may have, as far as a finding lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One certificate, with everything that decides about it."""

    held: HeldCertificate
    classified: Classified
    config: PkiConfig
    """The one that governs where it was found."""
    now: datetime
    first_made: datetime | None = None
    """When its key was first seen made, where another certificate has the same: that of a signer which was signed
    across. None: by itself."""
    successor: CertificateFacts | None = None
    """Of a signer that only bundles hold: the one that signs in its place, where that was seen."""
    history: tuple[Past, ...] = ()
    """What ``config`` was before, as far as anybody knows."""
    policy: ScanPolicy = ScanPolicy()
    lifetimes: Mapping[Category, tuple[int, int]] = field(default_factory=dict)
    """Least and most days that are typical."""

    @property
    def made(self) -> datetime | None:
        """When its key was made, as far as anybody can tell."""
        facts = self.held.facts
        spelt = made_by_name(facts) if self.classified.names else None
        return min((each for each in (self.first_made, facts.not_before, spelt) if each), default=None)

    @property
    def outside(self) -> str:
        """Why the PKI object says nothing of it, as far as anybody can tell: a sentence."""
        unclear = self.classified.governed is None
        said = "It is unknown whether the PKI object governs it" if unclear else "It is outside of the PKI object"
        return f"{said}: {self.classified.why}"

    @property
    def secret(self) -> str:
        """``namespace/name`` of the Secret that holds it, or ""."""
        reference = self.held.place.reference
        return f"{reference.namespace}/{reference.name}" if reference and reference.kind == SECRET.name else ""

    @property
    def called(self) -> str:
        """Its name for people."""
        facts = self.held.facts
        names = " or ".join(each.name for each in self.classified.names[:_NAMES])
        return (names or facts.subject or facts.sha256)[:200]


def finding(  # noqa: PLR0913 - the fields of a finding
    rule: ScanRule,
    subject: Subject,
    verdict: Verdict,
    status: Status,
    said: str,
    *,
    severity: Severity | None = None,
    expected: Iterable[str] = (),
    fix: str | None = None,
    evidence: Iterable[str] = (),
) -> Finding:
    """What a rule says of a certificate; ``said`` is a clause that has it as its subject."""
    facts, classified = subject.held.facts, subject.classified
    return Finding(
        rule=rule.id,
        severity=severity or rule.severity,
        verdict=verdict,
        status=status,
        message=f"{subject.called} ({classified.category}): {said}",
        expected=tuple(expected),
        observed=(f"{facts.subject or 'no readable subject'}, SHA-256 {facts.sha256}"[:400],),
        fix=fix,
        evidence=(classified.because, *evidence),
        about=str(subject.held.place),
    )
