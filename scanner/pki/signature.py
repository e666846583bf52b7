"""How certificates are signed: by a hash that holds, and by a key that can have done it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.subject import Subject, finding
from scanner.tls.certificate import CertificateFacts

_BROKEN: Final = frozenset({"MD2", "MD4", "MD5", "SHA1"})
_POST_QUANTUM: Final = ("ML-DSA", "SLH-DSA")
_FAMILIES: Final = (
    ("WithRSA", "RSA"),
    ("id-RSASSA-PSS", "RSA-PSS"),
    ("ecdsa-with-", "ECDSA"),
    ("dsa-with-", "DSA"),
)
"""What the names of signatures have in them, and the algorithm of the keys that make such; of the other algorithms both
have one name (RFC 8410, RFC 9881, RFC 9909)."""
_ALSO: Final = {"RSA": frozenset({"RSA", "RSA-PSS"})}
"""What else a key of an algorithm can sign: a plain RSA key with PSS too (RFC 4055 section 1.2), not the reverse."""


def signs(signature: str) -> str | None:
    """The algorithm of the keys that can make a signature of that name; None of one that is not known (an OID)."""
    if signature[:1].isdigit():
        return None
    return next((algorithm for part, algorithm in _FAMILIES if part in signature), signature)


def can_sign(key: str, signature: str) -> bool | None:
    """Whether a key of that algorithm can have made the signature; None where nobody can tell."""
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
        fix = "have it issued again, by the key that its signer has now"
        yield finding(rule, subject, "fail", "violation", impossible, fix=fix)
    elif _is_broken(facts) and not facts.self_issued and not subject.held.place.endpoint:
        said = f"it is signed with {facts.signature}"
        fix = "have it issued again with SHA-256 or better"
        yield finding(rule, subject, "fail", "violation", said, expected=("SHA-256 or better",), fix=fix)
    elif "signature_hash" in facts.unreadable:
        yield from _unclear(rule, subject, "signature_hash")
    elif facts.signature.startswith(_POST_QUANTUM):
        said = f"it is signed with {facts.signature}, which no quantum computer is known to break"
        yield finding(rule, subject, "pass", "informational", said, severity="info")


def _unclear(rule: ScanRule, subject: Subject, field: str) -> Iterator[Finding]:
    """Of what a listener serves, ``cert-signature`` has said it."""
    if not subject.held.place.endpoint:
        said = f"how it is signed cannot be read ({subject.held.facts.unreadable.get(field, 'no reason stated')})"
        yield finding(rule, subject, "inconclusive", "not-tested", said)


def cannot_have_signed(facts: CertificateFacts, signers: tuple[CertificateFacts, ...]) -> str | None:
    """Why none of ``signers`` (of a self-signed one, it alone) can have signed it, or None."""
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


SIGNATURE = ScanRule(
    id="pki-signature",
    check=check_signature,
)
