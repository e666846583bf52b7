"""X.509 certificates as facts: every field read on its own, so that one odd field hides no other (RFC 5280)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from scanner.tls.wire import read_message, vec24

CERTIFICATE: Final = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What a certificate says. A field that cannot be read is None and named in ``unreadable`` with the reason."""

    der: bytes
    sha256: str
    """Of ``der``, lower-case hex."""
    subject: str | None = None
    """RFC 4514 string."""
    issuer: str | None = None
    serial: int | None = None
    dns_names: tuple[str, ...] | None = None
    """subjectAltName dNSName entries; () when there is no such extension."""
    ip_addresses: tuple[str, ...] | None = None
    other_names: tuple[str, ...] | None = None
    """Other subjectAltName entries, ``URI:spiffe://...``."""
    not_before: datetime | None = None
    """UTC, aware."""
    not_after: datetime | None = None
    key_algorithm: str | None = None
    """``RSA``, ``ECDSA``, ``Ed25519``, ``Ed448``, ``DSA``, ``ML-DSA-65``, or the dotted OID."""
    key_size: int | None = None
    """Bits."""
    curve: str | None = None
    """``P-256``, ``P-384``, ``P-521``, or the name that the standard gives."""
    signature: str | None = None
    """``ecdsa-with-SHA256``, ``sha1WithRSAEncryption``: the name of the OID, or the OID."""
    signature_hash: str | None = None
    """``SHA256``, ``SHA1``, ``MD5``; None also where the algorithm has none (Ed25519)."""
    is_ca: bool | None = None
    """basicConstraints cA; False without the extension."""
    extended_key_usage: tuple[str, ...] | None = None
    """``serverAuth``, ``clientAuth`` or dotted OIDs; () without the extension."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Field name to reason."""

    @property
    def sans(self) -> tuple[str, ...] | None:
        """All subject alternative names, ``DNS:``, ``IP:`` or another prefix before each; None if unreadable."""
        if self.dns_names is None or self.ip_addresses is None or self.other_names is None:
            return None
        return (*(f"DNS:{n}" for n in self.dns_names), *(f"IP:{a}" for a in self.ip_addresses), *self.other_names)

    @property
    def self_issued(self) -> bool:
        """Whether subject and issuer are the same, readable name."""
        return self.subject is not None and self.subject == self.issuer


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateMessage:
    """The Certificate message up to TLS 1.2 (RFC 5246 section 7.4.2)."""

    chain: tuple[bytes, ...]
    """DER, leaf first."""

    def encode(self) -> bytes:
        """The handshake message with its four-byte header."""
        return bytes((CERTIFICATE,)) + vec24(vec24(b"".join(vec24(der) for der in self.chain)))

    @classmethod
    def decode(cls, message: bytes) -> CertificateMessage:
        """Of a whole handshake message. Raises ``Malformed``."""
        body = read_message(message, CERTIFICATE, "Certificate")
        certificates = body.vec24()
        body.done()
        chain = []
        while certificates.left:
            chain.append(certificates.opaque24())
        return cls(chain=tuple(chain))
