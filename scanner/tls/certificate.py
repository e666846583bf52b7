"""X.509 certificates as facts: every field read on its own, so that one odd field hides no other (RFC 5280)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from cryptography import x509

from scanner.tls import der
from scanner.tls.oids import CURVES, EXTENDED_KEY_USAGES, KEY_ALGORITHMS, SIGNATURES
from scanner.tls.wire import Malformed, read_message, vec24

CERTIFICATE: Final = 11

MOST_CERTIFICATES: Final = 100
"""Certificates of one message. Clients give up after ten or so; of empty ones 80,000 fit into the bytes that a reply
may have, and each costs a report a kilobyte and a half."""


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
    key_sha256: str | None = None
    """Of the DER of subjectPublicKeyInfo, lower-case hex: the same for the same key, whatever certificate has it."""
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
        return bytes((CERTIFICATE,)) + vec24(vec24(b"".join(vec24(each) for each in self.chain)))

    @classmethod
    def decode(cls, message: bytes) -> CertificateMessage:
        """Of a whole handshake message. Raises ``Malformed``."""
        body = read_message(message, CERTIFICATE, "Certificate")
        certificates = body.vec24()
        body.done()
        chain: list[bytes] = []
        while certificates.left:
            if len(chain) == MOST_CERTIFICATES:
                raise Malformed(f"more than {MOST_CERTIFICATES} certificates")
            chain.append(certificates.opaque24())
        return cls(chain=tuple(chain))


def parse_certificate(content: bytes) -> CertificateFacts:
    """Everything that can be read of a certificate in DER; never raises, whatever the bytes are.

    The ``cryptography`` package refuses some certificates as a whole (trailing bytes, version 4, an empty
    PrintableString) and others field by field, its versions differ, and it warns of what it tolerates; so every field
    has its own try, then another one element by element, and what failed is named with the reason. Not for use in
    several threads at once: it silences those warnings, which is global to the process.
    """
    facts: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            certificate = x509.load_der_x509_certificate(content)
        except Exception as error:  # noqa: BLE001 - the package documents ValueError and raises others too
            unreadable = dict.fromkeys(_FIELDS, _reason(error))
        else:
            _read(certificate, facts, unreadable)
        for name in unreadable.keys() & _BY_ELEMENT.keys():
            with suppress(Exception):  # then what is said of it stands
                facts[name] = _BY_ELEMENT[name](content)
                del unreadable[name]
    return CertificateFacts(der=content, sha256=_digest(content), unreadable=unreadable, **facts)


def _read(certificate: x509.Certificate, facts: dict[str, Any], unreadable: dict[str, str]) -> None:
    """Each field, or why it cannot be read."""
    for name, read in _FIELDS.items():
        try:
            facts[name] = read(certificate)
        except Exception as error:  # noqa: BLE001 - as above
            unreadable[name] = _reason(error)


@lru_cache(maxsize=4096)
def parsed_once(content: bytes) -> CertificateFacts:
    """``parse_certificate`` for what comes again: issuers in every chain, and the leaf that replicas share."""
    return parse_certificate(content)


def _digest(der: bytes) -> str:
    return sha256(der).hexdigest()


def _reason(error: Exception) -> str:
    """One short line; the text of ``cryptography`` may repeat bytes of the certificate."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


@lru_cache(maxsize=4)  # three fields of a certificate ask one after another
def _alternative_names(certificate: x509.Certificate) -> tuple[x509.GeneralName, ...]:
    try:
        return tuple(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return ()


def _dns_names(certificate: x509.Certificate) -> tuple[str, ...]:
    return tuple(name.value for name in _alternative_names(certificate) if isinstance(name, x509.DNSName))


def _ip_addresses(certificate: x509.Certificate) -> tuple[str, ...]:
    return tuple(str(name.value) for name in _alternative_names(certificate) if isinstance(name, x509.IPAddress))


def _other_names(certificate: x509.Certificate) -> tuple[str, ...]:
    """The names that are neither DNS names nor addresses, each behind what OpenSSL calls its kind."""
    found = []
    for name in _alternative_names(certificate):
        match name:
            case x509.UniformResourceIdentifier():
                found.append(f"URI:{name.value}")
            case x509.RFC822Name():
                found.append(f"email:{name.value}")
            case x509.DirectoryName():
                found.append(f"DirName:{name.value.rfc4514_string()}")
            case x509.RegisteredID():
                found.append(f"RID:{name.value.dotted_string}")
            case x509.OtherName():
                found.append(f"othername:{name.type_id.dotted_string}")
            case _:
                pass
    return tuple(found)


@lru_cache(maxsize=4)  # four fields of a certificate ask one after another, and each time its bytes are copied
def _key_info(certificate: x509.Certificate) -> bytes:
    """The DER of subjectPublicKeyInfo. Read here, because ``cryptography`` names no algorithm when it does not like the
    parameters behind it."""
    before = 5 if certificate.version is x509.Version.v1 else 6  # version (not in v1), serial ... subject
    return der.key_info_of(certificate.tbs_certificate_bytes, before)


def _key_algorithm(certificate: x509.Certificate) -> str:
    """By object identifier, so that a key that cannot be loaded is still named."""
    oid = der.dotted(der.key_identifiers(_key_info(certificate))[0])
    return KEY_ALGORITHMS.get(oid, oid)


def _curve_oid(certificate: x509.Certificate) -> str:
    """Also where ``cryptography`` cannot load the curve."""
    return der.curve_oid(_key_info(certificate))


def _curve(certificate: x509.Certificate) -> str | None:
    if _key_algorithm(certificate) != "ECDSA":
        return None
    oid = _curve_oid(certificate)
    return CURVES[oid][0] if oid in CURVES else oid


def _key_size(certificate: x509.Certificate) -> int | None:
    algorithm = _key_algorithm(certificate)
    if algorithm == "ECDSA":
        return CURVES.get(_curve_oid(certificate), ("", None))[1]
    if algorithm in ("RSA", "RSA-PSS", "DSA"):
        return int(certificate.public_key().key_size)  # type: ignore[union-attr] # these three have one
    return None


def _signature(certificate: x509.Certificate) -> str:
    oid = certificate.signature_algorithm_oid.dotted_string
    return SIGNATURES[oid][0] if oid in SIGNATURES else oid


def _signature_hash(certificate: x509.Certificate) -> str | None:
    oid = certificate.signature_algorithm_oid.dotted_string
    if oid in SIGNATURES and SIGNATURES[oid][1] != "parameters":
        return SIGNATURES[oid][1]
    algorithm = certificate.signature_hash_algorithm
    return algorithm.name.upper() if algorithm else None


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _extended_key_usage(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(EXTENDED_KEY_USAGES.get(usage.dotted_string, usage.dotted_string) for usage in usages)


_FIELDS: dict[str, Callable[[x509.Certificate], object]] = {
    "subject": lambda certificate: certificate.subject.rfc4514_string(),
    "issuer": lambda certificate: certificate.issuer.rfc4514_string(),
    "serial": lambda certificate: certificate.serial_number,
    "dns_names": _dns_names,
    "ip_addresses": _ip_addresses,
    "other_names": _other_names,
    "not_before": lambda certificate: certificate.not_valid_before_utc,
    "not_after": lambda certificate: certificate.not_valid_after_utc,
    "key_algorithm": _key_algorithm,
    "key_size": _key_size,
    "curve": _curve,
    "key_sha256": lambda certificate: _digest(_key_info(certificate)),
    "signature": _signature,
    "signature_hash": _signature_hash,
    "is_ca": _is_ca,
    "extended_key_usage": _extended_key_usage,
}


def _name(encoded: bytes) -> str:
    """As RFC 4514 writes it; ``cryptography`` does not take every kind of text in a name that it parses."""
    groups = (
        [x509.NameAttribute(x509.ObjectIdentifier(oid), text, _validate=False) for oid, text in group]
        for group in der.name(encoded)
    )
    return x509.Name([x509.RelativeDistinguishedName(group) for group in groups]).rfc4514_string()


_BY_ELEMENT: dict[str, Callable[[bytes], object]] = {
    "subject": lambda content: _name(der.parts(content).subject),
    "issuer": lambda content: _name(der.parts(content).issuer),
    **der.READERS,
}
"""The second try of those fields that can have one."""
