"""Certificates in PEM (RFC 7468), with any text around them."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import fields
from hashlib import sha256

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts, parsed_once
from scanner.tls.wire import Malformed, Reader

MOST = 10_000
"""Certificates of one text. The largest bundles of public roots have a few hundred."""
_LONGEST = 1 << 20
"""Characters of one block: with every certificate bounded, a text full of beginnings without an end stays cheap."""
_LONGEST_LABEL = 64
_BEGIN = "-----BEGIN "
_TRUSTED = "TRUSTED CERTIFICATE"
"""OpenSSL's own: the certificate, and behind it for what it is trusted."""
_LABELS = frozenset({"CERTIFICATE", "X509 CERTIFICATE", _TRUSTED})
"""RFC 7468 section 5.1 has the first, and warns of the others."""
_FIELDS = tuple(
    each.name for each in fields(CertificateFacts) if each.name not in ("der", "sha256", "unreadable", "other_names")
)


def pem_certificates(text: str, most: int = MOST) -> Iterator[Known[bytes]]:
    """The DER of each certificate in ``text``; a block that says it is one and cannot be read is unknown."""
    at = count = 0
    while (at := text.find(_BEGIN, at)) >= 0:
        at += len(_BEGIN)
        label_end = text.find("-----", at, at + _LONGEST_LABEL)
        label = text[at:label_end] if label_end >= 0 else ""
        if label not in _LABELS:
            continue
        if count == most:
            yield Unknown(f"more than {most} certificates: the others were not read")
            return
        count += 1
        start = label_end + 5
        end = text.find(f"-----END {label}-----", start, start + _LONGEST)
        yield _decoded(text[start:end], label) if end >= 0 else Unknown(f"certificate {count} in PEM has no end")


def _decoded(content: str, label: str) -> Known[bytes]:
    try:
        der = b64decode("".join(content.split()), validate=True)
        return _first_element(der) if label == _TRUSTED else der
    except (binascii.Error, ValueError, Malformed):
        return Unknown("a certificate in PEM is not base64")


def _first_element(der: bytes) -> bytes:
    """Without what stands behind the first DER element (X.690 section 8.1). Raises ``Malformed``."""
    reader = Reader(der)
    reader.u8()
    size = reader.u8()
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    reader.take(size)
    return der[: len(der) - reader.left]


def looks_like_a_key(der: bytes) -> bool:
    """Whether the outer SEQUENCE begins with the number 0 or 1, as private keys do (RFC 5958, 8017, 5915); that of a
    certificate begins with a SEQUENCE (RFC 5280 section 4.1)."""
    return der[:1] == b"\x30" and inside(der) in (b"\x02\x01\x00", b"\x02\x01\x01")


def inside(der: bytes) -> bytes:
    """The first three bytes of the content of a DER element (X.690 section 8.1), as many as there are."""
    size = der[1] if len(der) > 1 else 0
    start = 2 + (size & 0x7F if size & 0x80 else 0)
    return der[start : start + 3]


def unreadable(reason: str) -> CertificateFacts:
    """A certificate of which nothing can be told."""
    return CertificateFacts(der=b"", sha256=sha256(b"").hexdigest(), unreadable=dict.fromkeys(_FIELDS, reason))


class Parser:
    """Parses each certificate once: the same CA stands in hundreds of webhooks."""

    def facts(self, der: bytes) -> CertificateFacts:
        """What the certificate says."""
        if looks_like_a_key(der):
            return unreadable("a private key where a certificate should be")  # of which nothing is kept
        return parsed_once(der)

    def of_text(self, text: str, most: int = MOST) -> list[CertificateFacts]:
        """Every certificate of a text in PEM, the unreadable too."""
        return [
            unreadable(each.reason) if isinstance(each, Unknown) else self.facts(each)
            for each in pem_certificates(text, most)
        ]
