"""What is wrong with one certificate as it stands: fields that cannot be read, weak keys, weak signatures."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts

Reading: TypeAlias = str | Unknown | None
"""What is wrong with one certificate, that it cannot be told, or None: nothing."""

SHOWN = 200
"""Characters of a name that a finding shows; who made the certificate decides how long it is."""

MIN_CURVE_BITS = 224
"""P-224 has about the strength of RSA 2048."""
_ALWAYS_STRONG = ("Ed25519", "Ed448", "ML-DSA", "SLH-DSA")
_BROKEN_HASHES = frozenset({"MD2", "MD4", "MD5", "SHA1"})
_HASHLESS = re.compile(r"(id-)?(ed25519|ed448|ml-dsa|slh-dsa)", re.IGNORECASE)


def weak_key(certificate: CertificateFacts, min_rsa_bits: int) -> Reading:
    """A key that is too short, or of a kind that no client takes (NIST SP 800-57 part 1, table 2)."""
    algorithm = certificate.key_algorithm
    if algorithm is None:
        return unreadable(certificate, "key_algorithm")
    if algorithm.startswith(_ALWAYS_STRONG):
        return None
    if algorithm == "DSA":
        return "a DSA key"
    least = {"RSA": min_rsa_bits, "RSA-PSS": min_rsa_bits, "ECDSA": MIN_CURVE_BITS}.get(algorithm)
    if least is None:
        return Unknown(f"key algorithm {short(algorithm)} is not known")
    return _short_key(certificate, least)


def _short_key(certificate: CertificateFacts, least: int) -> Reading:
    bits = _bits(certificate)
    if isinstance(bits, Unknown):
        return bits
    what = " ".join(filter(None, (certificate.key_algorithm, certificate.curve)))
    return f"{what} with {bits} bits" if bits < least else None


def _bits(certificate: CertificateFacts) -> Known[int]:
    if certificate.key_size is not None:
        return certificate.key_size
    if certificate.curve and "key_size" not in certificate.unreadable:
        return Unknown(f"curve {short(certificate.curve)} is not known")
    return unreadable(certificate, "key_size")


def weak_signature(certificate: CertificateFacts) -> Reading:
    """A signature over a hash that has been broken (RFC 9155, RFC 6151)."""
    digest = certificate.signature_hash
    if digest is not None:
        broken = digest.upper().replace("-", "") in _BROKEN_HASHES
        return f"signed with {certificate.signature or digest}" if broken else None
    if certificate.signature is None:
        return unreadable(certificate, "signature")
    if _HASHLESS.match(certificate.signature):
        return None
    if "signature_hash" in certificate.unreadable:
        return unreadable(certificate, "signature_hash")
    return Unknown(f"signature algorithm {short(certificate.signature)} is not known")


def field(name: str, wrong: Callable[[Any], Reading]) -> Callable[[CertificateFacts], Reading]:
    """The reading of one field: what ``wrong`` says of its value, where it can be read."""

    def reading(certificate: CertificateFacts) -> Reading:
        value = getattr(certificate, name)
        return unreadable(certificate, name) if value is None else wrong(value)

    return reading


def short(text: str) -> str:
    """A name, cut off where it gets long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def date(moment: datetime) -> str:
    """A certificate's time, which is in UTC, to the minute."""
    return f"{moment.isoformat(' ', 'minutes')[:16]} UTC"


_UNITS = (("day", 86_400, 2 * 86_400), ("hour", 3600, 2 * 3600), ("minute", 60, 2 * 60), ("second", 1, 0))
"""Each unit, its seconds, and from how many on it is used."""


def span(time: timedelta) -> str:
    """How long something lasts, rounded down: ``20 hours``, ``5 days``."""
    seconds = int(time.total_seconds())
    unit, size = next((unit, size) for unit, size, least in _UNITS if seconds >= least)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def unreadable(certificate: CertificateFacts, field: str) -> Unknown:
    """A field that is None, with the reason that the certificate's reader gave."""
    return Unknown(f"{field} cannot be read ({short(certificate.unreadable.get(field, 'no reason given'))})")
