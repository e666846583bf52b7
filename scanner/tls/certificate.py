"""X.509 certificates: each field is parsed separately, so that one invalid field does not hide the others (RFC
5280)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Final

from cryptography import x509
from msgspec import Struct, field

from scanner.tls import der
from scanner.tls.oids import EXTENDED_KEY_USAGES
from scanner.tls.wire import Malformed, read_message, vec24

CERTIFICATE: Final = 11

MOST_CERTIFICATES: Final = 100
"""Limit of certificates in one message. Clients stop at about ten. 80,000 empty ones fit into the bytes that a reply
may have, and each adds 1.5 kB to a report."""

LONGEST: Final = 65536
"""Longest certificate in bytes that ``cryptography`` parses. The longest in use, with a signature of SLH-DSA, has
52,000."""
LONGEST_SIGNED: Final = 32768
"""Longest TBSCertificate in bytes, the signed part with names and extensions. Parsing it takes at most 50 ms."""
_CACHE_SIZE: Final = 2048
_LONGEST_CACHED: Final = 4096
"""Longest certificate in bytes that is cached: the parsed fields take up to 15 times its length."""


class CertificateFacts(Struct, frozen=True, kw_only=True):
    """The fields of a certificate. A field that cannot be parsed is None and named in ``unreadable`` with the
    reason."""

    der: bytes
    sha256: str
    """Digest of ``der``, lower-case hex."""
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
    """``P-256``, ``P-384``, ``P-521``, or the name in the standard."""
    key_sha256: str | None = None
    """Digest of the DER of subjectPublicKeyInfo, lower-case hex: equal for certificates with the same key."""
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
        """True if subject and issuer are readable and equal."""
        return self.subject is not None and self.subject == self.issuer


class CertificateMessage(Struct, frozen=True, kw_only=True):
    """The Certificate message up to TLS 1.2 (RFC 5246 section 7.4.2)."""

    chain: tuple[bytes, ...]
    """DER, leaf first."""

    def encode(self) -> bytes:
        return bytes((CERTIFICATE,)) + vec24(vec24(b"".join(vec24(each) for each in self.chain)))

    @classmethod
    def decode(cls, message: bytes) -> CertificateMessage:
        """Parse a handshake message. Raises ``Malformed``."""
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
    """Parse a certificate in DER as far as possible; never raises.

    The ``cryptography`` package refuses some certificates entirely (trailing bytes, version 4, an empty
    PrintableString) and others field by field, its versions differ, and it warns of what it tolerates. So every field
    is tried on its own, then read from its DER element. A field that fails both ways is named with the reason. Keys and
    signature algorithms are only read from DER, because ``cryptography`` names none that it does not support. So is a
    certificate longer than ``LONGEST`` or ``LONGEST_SIGNED``. Not thread-safe: silencing those warnings is global to
    the process.
    """
    facts: dict[str, Any] = {}
    unreadable: dict[str, str] = {}

    def read(fields: Mapping[str, Callable[[Any], object]], source: object) -> None:
        for name, reader in fields.items():
            try:
                facts[name] = reader(source)
            except Exception as error:  # noqa: BLE001 - ``cryptography`` documents ValueError and raises others too
                unreadable.setdefault(name, _reason(error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = _Loaded(_load(content))
        except Exception as error:  # noqa: BLE001 - as above
            unreadable = dict.fromkeys(_LOADED_FIELDS, _reason(error))
        else:
            read(_LOADED_FIELDS, loaded)
        read({name: reader for name, reader in _DER_FIELDS.items() if name not in facts}, content)
    unreadable = {name: reason for name, reason in unreadable.items() if name not in facts}
    return CertificateFacts(der=content, sha256=sha256(content).hexdigest(), unreadable=unreadable, **facts)


def _load(content: bytes) -> x509.Certificate:
    if len(content) > LONGEST:
        raise Malformed(f"a certificate of {len(content)} bytes, {LONGEST} are read")
    certificate = x509.load_der_x509_certificate(content)
    if len(certificate.tbs_certificate_bytes) > LONGEST_SIGNED:
        size = len(certificate.tbs_certificate_bytes)
        raise Malformed(f"a certificate with {size} bytes of names and extensions, {LONGEST_SIGNED} are read")
    return certificate


def parsed_once(content: bytes) -> CertificateFacts:
    """``parse_certificate`` with a cache for repeated certificates: issuers in every chain, and a leaf shared by
    replicas."""
    return _cached(content) if len(content) <= _LONGEST_CACHED else parse_certificate(content)


_cached = lru_cache(maxsize=_CACHE_SIZE)(parse_certificate)


def _reason(error: Exception) -> str:
    """One line; a message of ``cryptography`` may repeat bytes of the certificate."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


class _Loaded:
    """A certificate that ``cryptography`` loads. The extensions are parsed once: it copies their bytes at each
    access."""

    def __init__(self, certificate: x509.Certificate) -> None:
        self.certificate = certificate

    @cached_property
    def extensions(self) -> dict[x509.ObjectIdentifier, x509.ExtensionType]:
        return {each.oid: each.value for each in self.certificate.extensions}

    @cached_property
    def alternative_names(self) -> tuple[x509.GeneralName, ...]:
        found = self.extensions.get(x509.SubjectAlternativeName.oid)
        return tuple(found) if isinstance(found, x509.SubjectAlternativeName) else ()


def _dns_names(loaded: _Loaded) -> tuple[str, ...]:
    return tuple(name.value for name in loaded.alternative_names if type(name) is x509.DNSName)


def _ip_addresses(loaded: _Loaded) -> tuple[str, ...]:
    # By exact type: isinstance() is slow with abstract base classes.
    return tuple(str(name.value) for name in loaded.alternative_names if type(name) is x509.IPAddress)


_OTHER_NAMES: Final[Mapping[type, Callable[[Any], str]]] = {
    x509.UniformResourceIdentifier: lambda name: f"URI:{name.value}",
    x509.RFC822Name: lambda name: f"email:{name.value}",
    x509.DirectoryName: lambda name: f"DirName:{name.value.rfc4514_string()}",
    x509.RegisteredID: lambda name: f"RID:{name.value.dotted_string}",
    x509.OtherName: lambda name: f"othername:{name.type_id.dotted_string}",
}
"""Alternative names that are neither DNS names nor addresses, with OpenSSL's prefix for their type."""


def _other_names(loaded: _Loaded) -> tuple[str, ...]:
    return tuple(_OTHER_NAMES[type(name)](name) for name in loaded.alternative_names if type(name) in _OTHER_NAMES)


def _signature_hash(loaded: _Loaded) -> str | None:
    algorithm = loaded.certificate.signature_hash_algorithm
    return algorithm.name.upper() if algorithm else None


def _is_ca(loaded: _Loaded) -> bool:
    found = loaded.extensions.get(x509.BasicConstraints.oid)
    return found.ca if isinstance(found, x509.BasicConstraints) else False


def _extended_key_usage(loaded: _Loaded) -> tuple[str, ...]:
    found = loaded.extensions.get(x509.ExtendedKeyUsage.oid)
    usages = found if isinstance(found, x509.ExtendedKeyUsage) else ()
    return tuple(EXTENDED_KEY_USAGES.get(usage.dotted_string, usage.dotted_string) for usage in usages)


_LOADED_FIELDS: dict[str, Callable[[_Loaded], object]] = {
    "subject": lambda loaded: loaded.certificate.subject.rfc4514_string(),
    "issuer": lambda loaded: loaded.certificate.issuer.rfc4514_string(),
    "serial": lambda loaded: loaded.certificate.serial_number,
    "dns_names": _dns_names,
    "ip_addresses": _ip_addresses,
    "other_names": _other_names,
    "not_before": lambda loaded: loaded.certificate.not_valid_before_utc,
    "not_after": lambda loaded: loaded.certificate.not_valid_after_utc,
    "signature_hash": _signature_hash,
    "is_ca": _is_ca,
    "extended_key_usage": _extended_key_usage,
}
"""Fields that ``cryptography`` reads."""


def _name(encoded: bytes) -> str:
    """The name as RFC 4514 writes it; ``cryptography`` rejects some string types in names that it parses."""
    groups = (
        [x509.NameAttribute(x509.ObjectIdentifier(oid), text, _validate=False) for oid, text in group]
        for group in der.name(encoded)
    )
    return x509.Name([x509.RelativeDistinguishedName(group) for group in groups]).rfc4514_string()


_DER_FIELDS: dict[str, Callable[[bytes], object]] = {
    "subject": lambda content: _name(der.parts(content).subject),
    "issuer": lambda content: _name(der.parts(content).issuer),
    **der.FIELDS,
}
"""Fields that are read from the DER elements, unless ``cryptography`` has read them."""
