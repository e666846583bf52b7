"""Faults of one certificate: unreadable fields, weak keys and signatures, expiry, names not covered."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, TypeAlias

from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import SEVERITIES, Severity
from scanner.model.scan_policy import Policy
from scanner.tls.certificate import CertificateFacts

Reading: TypeAlias = str | Unknown | None
"""The fault of a certificate; unknown if it cannot be determined; None without a fault."""

SHOWN = 200
"""Characters of a name in a finding; the certificate's issuer chooses the length."""

MIN_CURVE_BITS = 224
"""P-224 has about the strength of RSA 2048."""
_ALWAYS_STRONG = ("Ed25519", "Ed448", "ML-DSA", "SLH-DSA")
_BROKEN_HASHES = frozenset({"MD2", "MD4", "MD5", "SHA1"})
_HASHLESS = re.compile(r"(id-)?(ed25519|ed448|ml-dsa|slh-dsa)", re.IGNORECASE)


def weak_key(certificate: CertificateFacts, min_rsa_bits: int) -> Reading:
    """A key that is too short, or of a kind that clients do not support (NIST SP 800-57 part 1, table 2)."""
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
    """A signature with a broken hash (RFC 9155, RFC 6151)."""
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
    """A check of one field: the result of ``wrong`` for its value, if it can be read."""

    def reading(certificate: CertificateFacts) -> Reading:
        value = getattr(certificate, name)
        return unreadable(certificate, name) if value is None else wrong(value)

    return reading


def short(text: str) -> str:
    """A name, truncated."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def date(moment: datetime) -> str:
    """A certificate's time in UTC, to the minute."""
    return f"{moment.isoformat(' ', 'minutes')[:16]} UTC"


_UNITS = (("day", 86_400, 2 * 86_400), ("hour", 3600, 2 * 3600), ("minute", 60, 2 * 60), ("second", 1, 0))
"""Units, their seconds, and the seconds from which they are used."""


def span(time: timedelta) -> str:
    """A duration, rounded down: ``20 hours``, ``5 days``."""
    seconds = int(time.total_seconds())
    unit, size = next((unit, size) for unit, size, least in _UNITS if seconds >= least)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def unreadable(certificate: CertificateFacts, field: str) -> Unknown:
    """An unreadable field, with the reason of the certificate's parser."""
    return Unknown(f"{field} cannot be read ({short(certificate.unreadable.get(field, 'no reason stated'))})")


_SHORT: Final = 3
"""A certificate with a lifetime below three times the policy's days has its own renewal window."""
_LEFT: Final = 5
"""That window is a fifth of the lifetime: library-go renews at 80 %, ACME clients and cert-manager at 67 %."""
_LEFT_OF_NODES: Final = 10
"""Kubelets renew at a random moment between 70 and 90 % (client-go, util/certificate)."""
_NODES: Final = "O=system:nodes"
"""Part of the subject that the kubelets' signers require."""


def renewal_window(certificate: CertificateFacts, policy: Policy) -> timedelta:
    """Time before expiry in which a certificate should have been renewed."""
    start, end, usual = certificate.not_before, certificate.not_after, timedelta(days=policy.expires_within_days)
    if start is None or end is None or end <= start or end - start >= _SHORT * usual:
        return usual
    nodes = _NODES in (certificate.subject or "").split(",")
    return min(usual, (end - start) / (_LEFT_OF_NODES if nodes else _LEFT))


def expiry_severity(
    certificate: CertificateFacts, now: datetime, policy: Policy, *, overdue: Severity | None = None
) -> Severity | None:
    """Severity of a near expiry, by the time left.

    ``overdue`` is the minimum if the renewal is known to be late, whatever time is left. None: not near, already past,
    or unknown.
    """
    end = certificate.not_after
    if end is None or end < now:
        return None
    left = end - now
    if left >= renewal_window(certificate, policy) and overdue is None:
        return None
    graded: Severity = "low"
    if left < timedelta(days=policy.expires_within_days_medium):
        graded = "medium"
    if left < timedelta(days=policy.expires_within_days_high):
        graded = "high"
    return max(graded, overdue or "low", key=SEVERITIES.index)


def expiry_text(end: datetime, now: datetime) -> str:
    """Expiry of a certificate, with the time left or past."""
    return (
        f"expired {span(now - end)} ago ({date(end)})" if end < now else f"expires in {span(end - now)} ({date(end)})"
    )


def covers(leaf: CertificateFacts, name: str) -> Known[bool]:
    """True if a subject alternative name of ``leaf`` matches ``name``, a DNS name, an IP address or a URI.

    Unknown if the entries of that kind cannot be read, or ``name`` cannot be a DNS name.
    """
    if "://" in name:
        return _has_uri(leaf, name)
    address = _address(name)
    field, entries = ("dns_names", leaf.dns_names) if address is None else ("ip_addresses", leaf.ip_addresses)
    if entries is None:
        return Unknown(f"{field} cannot be read ({leaf.unreadable.get(field, 'no reason stated')[:200]})")
    if address is not None:
        return any(_address(entry) == address for entry in entries)
    reference = _dns(name)
    if reference is None:
        return Unknown("it cannot be written as a DNS name")
    return any(_matches(entry, reference) for entry in entries)


def _has_uri(leaf: CertificateFacts, uri: str) -> Known[bool]:
    """True for the exact URI: these are identities (SPIFFE), not addresses (RFC 9525, section 6.2)."""
    if leaf.other_names is None:
        return Unknown(f"other_names cannot be read ({leaf.unreadable.get('other_names', 'no reason stated')[:200]})")
    return f"URI:{uri}" in leaf.other_names


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def _dns(name: str) -> str | None:
    """The DNS name in lower case, without a final dot, with A-labels (RFC 9525, section 6.3)."""
    try:
        text = name.encode("ascii" if name.isascii() else "idna").decode("ascii")
    except UnicodeError:
        return None
    return text.lower().removesuffix(".") or None


def _matches(entry: str, reference: str) -> bool:
    presented = entry.lower().removesuffix(".")
    if presented == reference:
        return True
    wildcard, _, parent = presented.partition(".")
    label, _, rest = reference.partition(".")
    return wildcard == "*" and parent != "" and bool(label) and parent == rest
