"""X.509 certificates as facts: every field read on its own, so that one odd field hides no other (RFC 5280)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
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

LONGEST: Final = 65536
"""Bytes of one certificate that ``cryptography`` is given. The longest in use, with a signature of SLH-DSA, has
52,000."""
LONGEST_SIGNED: Final = 32768
"""Bytes of the part of it that is signed, with names and extensions. Whatever that is made of, reading it takes less
than 50 ms."""
_REMEMBERED: Final = 2048
_REMEMBERED_LENGTH: Final = 4096
"""Bytes of one certificate that is remembered: what is read of a certificate takes up to 15 times its length."""


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
    has its own try, then another one element by element, and what failed is named with the reason. Of one that is
    longer than ``LONGEST`` or ``LONGEST_SIGNED`` only the latter is tried. Not for use in several threads at once: it
    silences those warnings, which is global to the process.
    """
    facts: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            certificate = _loaded(content)
        except Exception as error:  # noqa: BLE001 - the package documents ValueError and raises others too
            unreadable = dict.fromkeys(_FIELDS, _reason(error))
        else:
            _read(certificate, facts, unreadable)
        for name in unreadable.keys() & _BY_ELEMENT.keys():
            with suppress(Exception):  # then what is said of it stands
                facts[name] = _BY_ELEMENT[name](content)
                del unreadable[name]
    return CertificateFacts(der=content, sha256=_digest(content), unreadable=unreadable, **facts)


def _loaded(content: bytes) -> x509.Certificate:
    if len(content) > LONGEST:
        raise Malformed(f"a certificate of {len(content)} bytes, {LONGEST} are read")
    certificate = x509.load_der_x509_certificate(content)
    if len(certificate.tbs_certificate_bytes) > LONGEST_SIGNED:
        size = len(certificate.tbs_certificate_bytes)
        raise Malformed(f"a certificate with {size} bytes of names and extensions, {LONGEST_SIGNED} are read")
    return certificate


def _read(certificate: x509.Certificate, facts: dict[str, Any], unreadable: dict[str, str]) -> None:
    """Each field, or why it cannot be read."""
    opened = _Opened(certificate)
    for name, read in _FIELDS.items():
        try:
            facts[name] = read(opened)
        except Exception as error:  # noqa: BLE001 - as above
            unreadable[name] = _reason(error)


def parsed_once(content: bytes) -> CertificateFacts:
    """``parse_certificate`` for what comes again: issuers in every chain, and the leaf that replicas share."""
    return _remembered(content) if len(content) <= _REMEMBERED_LENGTH else parse_certificate(content)


_remembered = lru_cache(maxsize=_REMEMBERED)(parse_certificate)


def _digest(der: bytes) -> str:
    return sha256(der).hexdigest()


def _reason(error: Exception) -> str:
    """One short line; the text of ``cryptography`` may repeat bytes of the certificate."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


class _Opened:
    """A certificate that the package takes, with what several fields are read from: each of it is read once, as its
    bytes are copied each time."""

    def __init__(self, certificate: x509.Certificate) -> None:
        self.certificate = certificate

    @cached_property
    def extensions(self) -> dict[x509.ObjectIdentifier, x509.ExtensionType]:
        return {each.oid: each.value for each in self.certificate.extensions}

    @cached_property
    def alternative_names(self) -> tuple[x509.GeneralName, ...]:
        found = self.extensions.get(x509.SubjectAlternativeName.oid)
        return tuple(found) if isinstance(found, x509.SubjectAlternativeName) else ()

    @cached_property
    def key_info(self) -> bytes:
        """The DER of subjectPublicKeyInfo. Read here, because ``cryptography`` names no algorithm when it does not like
        the parameters behind it."""
        before = 5 if self.certificate.version is x509.Version.v1 else 6  # version (not in v1), serial ... subject
        return der.key_info_of(self.certificate.tbs_certificate_bytes, before)

    @cached_property
    def key_algorithm(self) -> str:
        """By object identifier, so that a key that cannot be loaded is still named."""
        oid = der.dotted(der.key_identifiers(self.key_info)[0])
        return KEY_ALGORITHMS.get(oid, oid)

    @cached_property
    def curve_oid(self) -> str:
        """Also where ``cryptography`` cannot load the curve."""
        return der.curve_oid(self.key_info)


def _dns_names(opened: _Opened) -> tuple[str, ...]:
    return tuple(name.value for name in opened.alternative_names if type(name) is x509.DNSName)


def _ip_addresses(opened: _Opened) -> tuple[str, ...]:
    # By type: these classes are abstract ones' children, and asking whether one is another's takes its time.
    return tuple(str(name.value) for name in opened.alternative_names if type(name) is x509.IPAddress)


_OTHER_NAMES: Final[Mapping[type, Callable[[Any], str]]] = {
    x509.UniformResourceIdentifier: lambda name: f"URI:{name.value}",
    x509.RFC822Name: lambda name: f"email:{name.value}",
    x509.DirectoryName: lambda name: f"DirName:{name.value.rfc4514_string()}",
    x509.RegisteredID: lambda name: f"RID:{name.value.dotted_string}",
    x509.OtherName: lambda name: f"othername:{name.type_id.dotted_string}",
}
"""The names that are neither DNS names nor addresses, each behind what OpenSSL calls its kind."""


def _other_names(opened: _Opened) -> tuple[str, ...]:
    return tuple(_OTHER_NAMES[type(name)](name) for name in opened.alternative_names if type(name) in _OTHER_NAMES)


def _curve(opened: _Opened) -> str | None:
    if opened.key_algorithm != "ECDSA":
        return None
    oid = opened.curve_oid
    return CURVES[oid][0] if oid in CURVES else oid


def _key_size(opened: _Opened) -> int | None:
    algorithm = opened.key_algorithm
    if algorithm == "ECDSA":
        return CURVES.get(opened.curve_oid, ("", None))[1]
    if algorithm in ("RSA", "RSA-PSS", "DSA"):
        return int(opened.certificate.public_key().key_size)  # type: ignore[union-attr] # these three have one
    return None


def _signature(opened: _Opened) -> str:
    oid = opened.certificate.signature_algorithm_oid.dotted_string
    return SIGNATURES[oid][0] if oid in SIGNATURES else oid


def _signature_hash(opened: _Opened) -> str | None:
    oid = opened.certificate.signature_algorithm_oid.dotted_string
    if oid in SIGNATURES and SIGNATURES[oid][1] != "parameters":
        return SIGNATURES[oid][1]
    algorithm = opened.certificate.signature_hash_algorithm
    return algorithm.name.upper() if algorithm else None


def _is_ca(opened: _Opened) -> bool:
    found = opened.extensions.get(x509.BasicConstraints.oid)
    return found.ca if isinstance(found, x509.BasicConstraints) else False


def _extended_key_usage(opened: _Opened) -> tuple[str, ...]:
    found = opened.extensions.get(x509.ExtendedKeyUsage.oid)
    usages = found if isinstance(found, x509.ExtendedKeyUsage) else ()
    return tuple(EXTENDED_KEY_USAGES.get(usage.dotted_string, usage.dotted_string) for usage in usages)


_FIELDS: dict[str, Callable[[_Opened], object]] = {
    "subject": lambda opened: opened.certificate.subject.rfc4514_string(),
    "issuer": lambda opened: opened.certificate.issuer.rfc4514_string(),
    "serial": lambda opened: opened.certificate.serial_number,
    "dns_names": _dns_names,
    "ip_addresses": _ip_addresses,
    "other_names": _other_names,
    "not_before": lambda opened: opened.certificate.not_valid_before_utc,
    "not_after": lambda opened: opened.certificate.not_valid_after_utc,
    "key_algorithm": lambda opened: opened.key_algorithm,
    "key_size": _key_size,
    "curve": _curve,
    "key_sha256": lambda opened: _digest(opened.key_info),
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
