"""From a leaf to an anchor, one signature after the other.

The verifier of ``cryptography`` tries every order of what a listener sent. Before version 47 nothing limits that: four
self-signed certificates of one name keep it busy for half a minute. So the way is looked for here, each certificate
once, and the verifier is given that way alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.tls.der import Parts, parts
from scanner.tls.wire import Malformed

MOST = 16
"""Issuers that a listener may send before nobody looks any more; a chain in use has two or three."""

MOST_WORK = 10_000
"""What all signatures of one chain may cost to verify, by ``_work``: 36 of RSA-4096, 19 of P-256; about 10 ms. Nothing
limits an RSA key's exponent otherwise: one of 3,072 bits costs as much as 400 usual ones."""

_LONGEST_NAME = 4096
"""Bytes of a name that is shown."""

Anchors: TypeAlias = Mapping[bytes, Sequence[x509.Certificate]]
"""By the DER of their subject."""


def by_subject(anchors: Sequence[x509.Certificate]) -> Anchors:
    """Anchors as ``route`` wants them. One whose subject cannot be read is left out."""
    found: dict[bytes, list[x509.Certificate]] = {}
    for anchor in anchors:
        try:
            found.setdefault(_names(anchor).subject, []).append(anchor)
        except Malformed:
            continue
    return found


def route(
    leaf: x509.Certificate, sent: Sequence[x509.Certificate], anchors: Anchors
) -> tuple[x509.Certificate, ...] | str:
    """The issuers between ``leaf`` and an anchor, on the shortest way; or where the way ends, for the reader.

    Only names and signatures are looked at. Raises ``Malformed`` where there is no name, and ``ValueError`` where the
    signatures cost more than ``MOST_WORK``.
    """
    unused = list(dict.fromkeys(sent))[:MOST]
    signed_by = _Signatures().signed_by
    waiting: deque[tuple[x509.Certificate, ...]] = deque([()])
    last = leaf
    while waiting:
        path = waiting.popleft()
        last = path[-1] if path else leaf
        name = _names(last).issuer
        if any(signed_by(last, anchor) for anchor in anchors.get(name, ())):
            return path
        for issuer in [each for each in unused if _names(each).subject == name and signed_by(last, each)]:
            unused.remove(issuer)
            waiting.append((*path, issuer))
    return _where_it_ends(last, anchors)


def _where_it_ends(last: x509.Certificate, anchors: Anchors) -> str:
    names = _names(last)
    short = len(names.issuer) <= _LONGEST_NAME
    name = last.issuer.rfc4514_string()[:200] or "(empty name)" if short else f"(name of {len(names.issuer)} bytes)"
    if names.issuer in anchors:
        return f"the signature does not verify with the key of the anchor of that name: {name}"
    if names.issuer == names.subject:
        return f"it ends in a root that is not among the anchors: {name}"
    return f"this issuer is neither sent nor an anchor: {name}"


def _names(certificate: x509.Certificate) -> Parts:
    """Names as they are encoded: to read one with thousands of attributes takes its time. Raises ``Malformed``."""
    return parts(certificate.public_bytes(Encoding.DER))


class _Signatures:
    """Verifies signatures as long as that is not too much work."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def signed_by(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        """Whether name and signature fit. A signature that this machine cannot check (MD5 in FIPS mode) does not.
        Raises ``ValueError`` where it would be too much work."""
        try:
            work = _work(issuer)
        except Exception:  # noqa: BLE001 - odd keys raise what they like
            return False
        self._left -= work
        if self._left < 0:
            raise ValueError("too much work: many signatures, or keys of odd sizes")
        try:
            certificate.verify_directly_issued_by(issuer)
        except Exception:  # noqa: BLE001 - as above, beside InvalidSignature
            return False
        return True


def _work(issuer: x509.Certificate) -> int:
    """What a signature of its key costs to verify; 1 is about a microsecond."""
    match issuer.public_key():
        case rsa.RSAPublicKey() as key:
            return key.key_size**2 // 2**20 * key.public_numbers().e.bit_length()
        case dsa.DSAPublicKey() as key:
            return key.key_size**2 // 2**20 * 512
        case ec.EllipticCurvePublicKey() as key:
            return 2 * key.key_size
    return 500
