"""Certificates in PEM (RFC 7468) within any text, and the markers of removed private keys."""

from __future__ import annotations

import base64
import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts, parsed_once
from scanner.tls.wire import Malformed, Reader

REMOVED: Final = "[private key removed]"
CONTAINER: Final = "[PKCS #12 container removed]"
"""It may contain a key, which only its password shows; containers of trusted certificates look the same."""
WITHHELD: Final = "[removed]"
"""Marker for a password, or for a placeholder of a private key."""


MOST = 10_000
"""Certificates of one text. The largest bundles of public roots have a few hundred."""
_LONGEST = 1 << 20
"""Characters of one block: the limit keeps a text with many beginnings and no end cheap."""
_LONGEST_LABEL = 64
_BEGIN = "-----BEGIN "
_TRUSTED = "TRUSTED CERTIFICATE"
"""OpenSSL's format: the certificate, followed by its trust settings."""
_LABELS = frozenset({"CERTIFICATE", "X509 CERTIFICATE", _TRUSTED})
"""RFC 7468 section 5.1 defines the first label, and warns about the others."""
_STANDARD = frozenset({"CERTIFICATE"})
"""The only label that Go reads (crypto/x509 ``AppendCertsFromPEM``)."""
_MOST_TRUSTED = 300
"""Certificates of a CA bundle: twice the number of public roots, which some bundles contain besides their own CA."""
_FIELDS = tuple(
    each for each in CertificateFacts.__struct_fields__ if each not in ("der", "sha256", "unreadable", "other_names")
)


def pem_certificates(text: str, most: int = MOST, labels: frozenset[str] = _LABELS) -> Iterator[Known[bytes]]:
    """The DER of each certificate in ``text``; an unreadable block is unknown."""
    at = count = 0
    while (at := text.find(_BEGIN, at)) >= 0:
        at += len(_BEGIN)
        label_end = text.find("-----", at, at + _LONGEST_LABEL)
        label = text[at:label_end] if label_end >= 0 else ""
        if label not in labels:
            continue
        if count == most:
            yield Unknown(f"more than {most} certificates: the others were not read")
            return
        count += 1
        start = label_end + 5
        end = text.find(f"-----END {label}-----", start, start + _LONGEST)
        yield _decoded(text[start:end], label) if end >= 0 else Unknown(f"certificate {count} in PEM has no end")


def trusted_certificates(bundle: str) -> Iterator[bytes]:
    """The DER of the readable certificates in a bundle, up to a limit."""
    for each in pem_certificates(bundle[:_LONGEST], _MOST_TRUSTED, _STANDARD):
        if not isinstance(each, Unknown):
            yield each


def _decoded(content: str, label: str) -> Known[bytes]:
    try:
        der = b64decode("".join(content.split()), validate=True)
        return _first_element(der) if label == _TRUSTED else der
    except (binascii.Error, ValueError, Malformed):
        return Unknown("a certificate in PEM is not base64")


def _first_element(der: bytes) -> bytes:
    """The first DER element (X.690 section 8.1) only. Raises ``Malformed``."""
    reader = Reader(der)
    reader.u8()
    size = reader.u8()
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    reader.take(size)
    return der[: len(der) - reader.left]


def looks_like_a_key(der: bytes) -> bool:
    """True if the outer SEQUENCE begins with the number 0 or 1, as private keys do (RFC 5958, 8017, 5915); that of a
    certificate begins with a SEQUENCE (RFC 5280 section 4.1)."""
    return der[:1] == b"\x30" and inside(der) in (b"\x02\x01\x00", b"\x02\x01\x01")


def inside(der: bytes) -> bytes:
    """The first three bytes of the content of a DER element (X.690 section 8.1), or fewer."""
    size = der[1] if len(der) > 1 else 0
    start = 2 + (size & 0x7F if size & 0x80 else 0)
    return der[start : start + 3]


def unreadable(reason: str) -> CertificateFacts:
    """A certificate without readable fields."""
    return CertificateFacts(der=b"", sha256=sha256(b"").hexdigest(), unreadable=dict.fromkeys(_FIELDS, reason))


class Parser:
    """Parses each certificate once: the same CA is in hundreds of webhooks."""

    def facts(self, der: bytes) -> CertificateFacts:
        """The fields of a certificate."""
        if looks_like_a_key(der):
            return unreadable("a private key where a certificate should be")  # nothing of it is kept
        return parsed_once(der)

    def of_text(self, text: str, most: int = MOST) -> list[CertificateFacts]:
        """All certificates of a PEM text, also the unreadable ones."""
        return [
            unreadable(each.reason) if isinstance(each, Unknown) else self.facts(each)
            for each in pem_certificates(text, most)
        ]


_SEQUENCE: Final = b"\x30"


def _begins(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda content: content.lstrip().startswith(beginnings)


def _has(*parts: bytes) -> Callable[[bytes], bool]:
    return lambda content: any(part in content for part in parts)


def _holds(*beginnings: bytes) -> Callable[[bytes], bool]:
    """A test for a DER SEQUENCE by the beginning of its content (X.690 section 8.1)."""
    return lambda content: content[:1] == _SEQUENCE and inside(content).startswith(beginnings)


_FORMS: Final[tuple[tuple[Callable[[bytes], bool], str], ...]] = (
    (lambda content: not content.strip(), "empty"),
    (_begins(b"\xff\xfe", b"\xfe\xff", b"-\0", b"\0-"), "text in UTF-16"),
    (_has(b"PRIVATE KEY-----", REMOVED.encode()), "a private key"),
    (looks_like_a_key, "a private key in DER"),
    (_has(CONTAINER.encode()), "a PKCS #12 container"),
    (_holds(b"\x02\x01\x03"), "a PKCS #12 container"),  # PFX, version 3 (RFC 7292 section 4)
    (_begins(b"\xfe\xed\xfe\xed"), "a Java keystore"),
    (_holds(b"\x06\x09\x2a"), "a PKCS #7 container in DER"),  # ContentInfo (RFC 5652 section 3)
    (_holds(b"\x30"), "a certificate in DER"),
    (_has(b"BEGIN CERTIFICATE REQUEST", b"BEGIN NEW CERTIFICATE REQUEST"), "a request for a certificate"),
    (_has(b"BEGIN X509 CRL"), "a revocation list"),
    (_has(b"BEGIN PKCS7", b"BEGIN CMS"), "a PKCS #7 container"),
    (_has(b"BEGIN PUBLIC KEY", b"BEGIN RSA PUBLIC KEY"), "a public key"),
    (_begins(b"LS0tLS1CRUdJTi"), "base64 in base64"),
    (_begins(b"MII"), "base64 without the lines of PEM around it"),
)
"""The order matters: earlier forms may match later tests too."""


def form_of(content: bytes) -> str | None:
    """The form of content without a PEM certificate; None if unknown."""
    return next((what for is_it, what in _FORMS if is_it(content)), None)


def broken(certificate: CertificateFacts) -> str | None:
    """The reason why a certificate is unreadable; None if it is readable."""
    if not certificate.der:
        return next(iter(certificate.unreadable.values()), None)
    if any(each is not None for each in (certificate.subject, certificate.not_after, certificate.key_algorithm)):
        return None
    return _length(certificate.der) or "it is no certificate (RFC 5280 section 4.1)"


def _length(der: bytes) -> str | None:
    """The error in the length of the outermost element (X.690 section 8.1.3)."""
    reader = Reader(der)
    try:
        if reader.take(1) != _SEQUENCE:
            return None
        size = reader.u8()
        size = int.from_bytes(reader.take(size & 0x7F), "big") if size & 0x80 else size
    except Malformed:
        return "it is cut off"
    if size == reader.left:
        return None
    return "it is cut off" if size > reader.left else f"{reader.left - size} bytes stand behind it"


_BREAKS: Final = str.maketrans("", "", "\r\n")


def decoded(text: str) -> bytes:
    """The bytes of a field of type ``[]byte``. Go's decoder (``encoding/base64``) ignores line breaks and nothing
    else: the API server refuses blanks, which YAML's ``>`` makes of line breaks. Raises ``ValueError``."""
    return base64.b64decode(text.translate(_BREAKS), validate=True)


def decoded_text(text: str) -> str:
    """The text of a field of type ``[]byte``; "" if it is not base64."""
    try:
        return decoded(text).decode("ascii", "replace")
    except ValueError:
        return ""
