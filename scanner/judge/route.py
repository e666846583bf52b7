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

MOST = 16
"""Issuers that a listener may send before nobody looks any more; a chain in use has two or three."""

Anchors: TypeAlias = Mapping[bytes, Sequence[x509.Certificate]]
"""By the DER of their subject."""


def by_subject(anchors: Sequence[x509.Certificate]) -> Anchors:
    """Anchors as ``route`` wants them. One whose subject cannot be read is left out."""
    found: dict[bytes, list[x509.Certificate]] = {}
    for anchor in anchors:
        try:
            found.setdefault(anchor.subject.public_bytes(), []).append(anchor)
        except ValueError:
            continue
    return found


def route(
    leaf: x509.Certificate, sent: Sequence[x509.Certificate], anchors: Anchors
) -> tuple[x509.Certificate, ...] | str:
    """The issuers between ``leaf`` and an anchor, on the shortest way; or where the way ends, for the reader.

    Only names and signatures are looked at. At most ``MOST`` squared signatures are checked. Raises ``ValueError``
    where a name cannot be read.
    """
    unused = list(dict.fromkeys(sent))[:MOST]
    waiting: deque[tuple[x509.Certificate, ...]] = deque([()])
    last = leaf
    while waiting:
        path = waiting.popleft()
        last = path[-1] if path else leaf
        if any(_signed_by(last, anchor) for anchor in anchors.get(last.issuer.public_bytes(), ())):
            return path
        for issuer in [each for each in unused if each.subject == last.issuer and _signed_by(last, each)]:
            unused.remove(issuer)
            waiting.append((*path, issuer))
    return _where_it_ends(last, anchors)


def _where_it_ends(last: x509.Certificate, anchors: Anchors) -> str:
    name = last.issuer.rfc4514_string()[:200] or "(empty name)"
    if last.issuer.public_bytes() in anchors:
        return f"the signature does not verify with the key of the anchor of that name: {name}"
    if last.issuer == last.subject:
        return f"it ends in a root that is not among the anchors: {name}"
    return f"this issuer is neither sent nor an anchor: {name}"


def _signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether name and signature fit. A signature that this machine cannot check (MD5 in FIPS mode) does not."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except Exception:  # noqa: BLE001 - beside InvalidSignature: odd keys and algorithms raise what they like
        return False
    return True
