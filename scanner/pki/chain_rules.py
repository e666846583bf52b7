"""Rules on certificates and their signers, and on keys that several certificates have."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding, Severity
from scanner.model.pki_config import Key, key_of
from scanner.model.rule import ScanRule
from scanner.pki.inventory_index import InventoryIndex, Signed, Use
from scanner.pki.subject import LONGEST_NAME, Subject, finding, identity
from scanner.tls.certificate import CertificateFacts

_BROKEN: Final = frozenset({"MD2", "MD4", "MD5", "SHA1"})
_POST_QUANTUM: Final = ("ML-DSA", "SLH-DSA")
_FAMILIES: Final = (
    ("WithRSA", "RSA"),
    ("id-RSASSA-PSS", "RSA-PSS"),
    ("ecdsa-with-", "ECDSA"),
    ("dsa-with-", "DSA"),
)
"""Part of a signature algorithm's name, and the key algorithm that makes it. Other algorithms have one name for both
(RFC 8410, RFC 9881, RFC 9909)."""
_ALSO: Final = {"RSA": frozenset({"RSA", "RSA-PSS"})}
"""Further signatures of a key algorithm: a plain RSA key can sign with PSS (RFC 4055 section 1.2), not the reverse."""


def signs(signature: str) -> str | None:
    """The key algorithm for a signature algorithm; None for an unknown one (an OID)."""
    if signature[:1].isdigit():
        return None
    return next((algorithm for part, algorithm in _FAMILIES if part in signature), signature)


def can_sign(key: str, signature: str) -> bool | None:
    """True if a key of that algorithm can make the signature; None if unknown."""
    needed = signs(signature)
    if needed is None or key[:1].isdigit():
        return None
    return needed in _ALSO.get(key, frozenset({key}))


def check_signature(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """Certificates are signed with a hash that holds, by a key that can have made the signature."""
    facts = subject.held.facts
    if subject.held.place.role == "trusted":
        return
    if facts.signature is None:
        yield from _unclear(rule, subject, "signature")
        return
    if impossible := cannot_have_signed(facts, subject.held.chain[:1]):
        fix = "reissue it with the current key of its signer"
        yield finding(rule, subject, "fail", "violation", impossible, fix=fix)
    elif _is_broken(facts) and not facts.self_issued and not subject.held.place.endpoint:
        text = f"it is signed with {facts.signature}"
        fix = "reissue it with SHA-256 or better"
        yield finding(rule, subject, "fail", "violation", text, expected=("SHA-256 or better",), fix=fix)
    elif "signature_hash" in facts.unreadable:
        yield from _unclear(rule, subject, "signature_hash")
    elif facts.signature.startswith(_POST_QUANTUM):
        text = f"it is signed with {facts.signature}, which no quantum computer is known to break"
        yield finding(rule, subject, "pass", "informational", text, severity="info")


def _unclear(rule: ScanRule, subject: Subject, field: str) -> Iterator[Finding]:
    """Report an unreadable signature; ``cert-signature`` reports it for a served certificate."""
    if not subject.held.place.endpoint:
        text = f"its signature cannot be read ({subject.held.facts.unreadable.get(field, 'no reason stated')})"
        yield finding(rule, subject, "inconclusive", "not-tested", text)


def cannot_have_signed(facts: CertificateFacts, signers: tuple[CertificateFacts, ...]) -> str | None:
    """The reason why none of ``signers`` (itself, if self-signed) can have signed it, or None."""
    signature = facts.signature
    keys = [facts.key_algorithm] if facts.self_issued else [each.key_algorithm for each in signers]
    known = [key for key in keys if key is not None]
    if signature is None or not known or len(known) < len(keys):
        return None
    if any(can_sign(key, signature) is not False for key in known):
        return None
    return f"it is signed with {signature}, and its signer has a key of {' or '.join(dict.fromkeys(known))}"


def _is_broken(facts: CertificateFacts) -> bool:
    return (facts.signature_hash or "").upper().replace("-", "") in _BROKEN


SIGNATURE = ScanRule(id="pki-signature", check=check_signature)


_SHOWN: Final = 5
_ENOUGH: Final = 128
"""Bits of security that are enough for signatures: those of RSA 3072 and P-256."""


def check_signers(rule: ScanRule, index: InventoryIndex) -> Iterator[Finding]:
    """The platform's certificates have no stronger keys than their signers."""
    for signed, signers in index.signed():
        own, theirs = _key(signed.facts), [_key(each) for each in signers]
        if not signed.classified.names or signed.facts.is_ca or own is None or own.strength is None:
            continue
        known = [(each.strength, each) for each in theirs if each is not None and each.strength is not None]
        if len(known) < len(theirs):
            continue
        strength, signer = max(known, key=itemgetter(0))
        if strength < own.strength:
            text = f"its key is {own}, stronger than its signer's ({signer})"
            chosen = any(each.owner.implements for each in signed.classified.names)
            fix = f"configure a key for signers that is as strong{', or a smaller one here' if chosen else ''}"
            severity = rule.severity if chosen and strength < _ENOUGH else "info"
            yield _of_signed(rule, signed, text, severity, fix)


def impossible_signatures(index: InventoryIndex) -> Iterator[Finding]:
    """Findings of ``pki-signature`` for certificates whose signers are in other places."""
    for signed, signers in index.signed():
        if text := cannot_have_signed(signed.facts, signers):
            fix = "reissue it with the current key of its signer"
            yield _of_signed(SIGNATURE, signed, text, SIGNATURE.severity, fix)


def check_reuse(rule: ScanRule, index: InventoryIndex) -> Iterator[Finding]:
    """No private key is used in two namespaces, or by certificates for different names."""
    for key, use in index.shared():
        yield _of_use(rule, key, use)


def _of_use(rule: ScanRule, key: str, use: Use) -> Finding:
    secrets, names = use.holders, sorted(use.made_out)
    holders = {**use.serving, **secrets}
    text = f"certificates for {len(names)} different names use it"
    if len(holders) > 1:
        passed = "" if len(secrets) > 1 else ", unless one of them passes connections through to another"
        text = f"{len(holders)} namespaces use it{passed}"
    return Finding(
        rule=rule.id,
        severity=rule.severity if len(secrets) > 1 else "low",
        verdict="fail",
        status="violation",
        message=f"one private key is used more than once: {text}",
        expected=("a key of its own for each",),
        observed=_some([f"{holder}: {where}" for holder, where in holders.items()]),
        fix="issue a certificate with a new key for each of these places",
        evidence=_some(f"made out to {each[:LONGEST_NAME]}" for each in names),
        about=f"key with SHA-256 {key}",
    )


def _some(items: Iterator[str] | list[str]) -> tuple[str, ...]:
    every = list(items)
    more = (f"and {len(every) - _SHOWN} more",) if len(every) > _SHOWN else ()
    return (*every[:_SHOWN], *more)


def _key(facts: CertificateFacts) -> Key | None:
    key = key_of(facts)
    return None if isinstance(key, Unknown) else key


def _of_signed(rule: ScanRule, signed: Signed, text: str, severity: Severity, fix: str) -> Finding:
    facts, names = signed.facts, signed.classified.names
    called = " or ".join(each.name for each in names[:_SHOWN]) or facts.subject or facts.sha256
    more = f" (and {signed.count - 1} more with the same signature)" if signed.count > 1 else ""
    return Finding(
        rule=rule.id,
        severity=severity,
        verdict="fail",
        status="informational" if severity == "info" else "violation",
        message=f"{called[:LONGEST_NAME]} ({signed.classified.category}): {text}{more}",
        observed=(identity(facts),),
        fix=fix,
        about=signed.about,
    )


SIGNERS = ScanRule(id="pki-signer-strength", check=check_signers)
REUSE = ScanRule(id="pki-key-reuse", check=check_reuse)
