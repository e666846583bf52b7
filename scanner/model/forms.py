"""What stands where certificates in PEM should be: told by its first bytes, in words for findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scanner.model.pem import inside, looks_like_a_key
from scanner.model.removed import CONTAINER, REMOVED
from scanner.tls.certificate import CertificateFacts
from scanner.tls.wire import Malformed, Reader

_SEQUENCE: Final = b"\x30"


def _begins(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda content: content.lstrip().startswith(beginnings)


def _has(*parts: bytes) -> Callable[[bytes], bool]:
    return lambda content: any(part in content for part in parts)


def _holds(*beginnings: bytes) -> Callable[[bytes], bool]:
    """A DER SEQUENCE whose content begins so (X.690 section 8.1)."""
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
"""In this order: what a thing is of which the text below would be true as well comes first."""


def form_of(content: bytes) -> str | None:
    """What this is, of which no certificate in PEM could be read; None for nothing that is known."""
    return next((what for is_it, what in _FORMS if is_it(content)), None)


def broken(certificate: CertificateFacts) -> str | None:
    """Why nothing at all can be read of a certificate, in our words; None where something can."""
    if not certificate.der:
        return next(iter(certificate.unreadable.values()), None)
    if any(each is not None for each in (certificate.subject, certificate.not_after, certificate.key_algorithm)):
        return None
    return _length(certificate.der) or "it is no certificate (RFC 5280 section 4.1)"


def _length(der: bytes) -> str | None:
    """What is wrong with the length of the outermost element (X.690 section 8.1.3)."""
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
