"""Rules on certificates that are seen together: a certificate and its signer, and keys that several have. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding, Severity
from scanner.model.key import Key, key_of
from scanner.model.rule import ScanRule
from scanner.pki.across import Across, Signed, Use
from scanner.pki.signature import SIGNATURE, cannot_have_signed
from scanner.tls.certificate import CertificateFacts

_SHOWN: Final = 5
_ENOUGH: Final = 128
"""Bits of security beyond which nobody forges a signature: RSA 3072 and P-256 have them."""


def check_signers(rule: ScanRule, across: Across) -> Iterator[Finding]:
    """The platform's certificates have no stronger keys than their signers."""
    for signed, signers in across.signed():
        own, theirs = _key(signed.facts), [_key(each) for each in signers]
        if not signed.classified.names or signed.facts.is_ca or own is None or own.strength is None:
            continue
        known = [(each.strength, each) for each in theirs if each is not None and each.strength is not None]
        if len(known) < len(theirs):
            continue
        strength, signer = max(known, key=itemgetter(0))
        if strength < own.strength:
            said = f"its key is {own}, stronger than its signer's ({signer})"
            chosen = any(each.owner.implements for each in signed.classified.names)
            fix = f"configure a key for signers that is as strong{', or a smaller one here' if chosen else ''}"
            severity = rule.severity if chosen and strength < _ENOUGH else "info"
            yield _of_signed(rule, signed, said, severity, fix)


def impossible_signatures(across: Across) -> Iterator[Finding]:
    """What ``pki-signature`` says of certificates whose signers are kept elsewhere."""
    for signed, signers in across.signed():
        if said := cannot_have_signed(signed.facts, signers):
            fix = "have it issued again, by the key that its signer has now"
            yield _of_signed(SIGNATURE, signed, said, SIGNATURE.severity, fix)


def check_reuse(rule: ScanRule, across: Across) -> Iterator[Finding]:
    """No private key is used in two namespaces, or by certificates for different names."""
    for key, use in across.shared():
        yield _of_use(rule, key, use)


def _of_use(rule: ScanRule, key: str, use: Use) -> Finding:
    held, names = use.holders, sorted(use.made_out)
    holders = {**use.serving, **held}
    said = f"certificates for {len(names)} different names have it"
    if len(holders) > 1:
        passed = "" if len(held) > 1 else ", unless one of them passes connections through to another"
        said = f"{len(holders)} namespaces have it{passed}"
    return Finding(
        rule=rule.id,
        severity=rule.severity if len(held) > 1 else "low",
        verdict="fail",
        status="violation",
        message=f"one private key is used more than once: {said}",
        expected=("a key of its own for each",),
        observed=_some([f"{holder}: {where}" for holder, where in holders.items()]),
        fix="issue a certificate with a new key for each of these places",
        evidence=_some(f"made out to {each[:200]}" for each in names),
        about=f"key with SHA-256 {key}",
    )


def _some(items: Iterator[str] | list[str]) -> tuple[str, ...]:
    every = list(items)
    more = (f"and {len(every) - _SHOWN} more",) if len(every) > _SHOWN else ()
    return (*every[:_SHOWN], *more)


def _key(facts: CertificateFacts) -> Key | None:
    key = key_of(facts)
    return None if isinstance(key, Unknown) else key


def _of_signed(rule: ScanRule, signed: Signed, said: str, severity: Severity, fix: str) -> Finding:
    facts, names = signed.facts, signed.classified.names
    called = " or ".join(each.name for each in names[:_SHOWN]) or facts.subject or facts.sha256
    more = f" (and {signed.count - 1} more that are signed alike)" if signed.count > 1 else ""
    return Finding(
        rule=rule.id,
        severity=severity,
        verdict="fail",
        status="informational" if severity == "info" else "violation",
        message=f"{called[:200]} ({signed.classified.category}): {said}{more}",
        observed=(f"{facts.subject or 'no readable subject'}, SHA-256 {facts.sha256}"[:400],),
        fix=fix,
        about=signed.about,
    )


SIGNERS = ScanRule(
    id="pki-signer-strength",
    check=check_signers,
)
REUSE = ScanRule(
    id="pki-key-reuse",
    check=check_reuse,
)
