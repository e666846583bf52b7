"""Does a certificate cover a name (RFC 9525, section 6)? Without the common name, and without partial wildcards."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts


def covers(leaf: CertificateFacts, name: str) -> Known[bool]:
    """Whether a subject alternative name of ``leaf`` matches ``name``, a DNS name, an IP address or a URI.

    Unknown where the entries of that kind cannot be read, or ``name`` cannot be a DNS name.
    """
    if "://" in name:
        return _has_uri(leaf, name)
    address = _address(name)
    field, entries = ("dns_names", leaf.dns_names) if address is None else ("ip_addresses", leaf.ip_addresses)
    if entries is None:
        return Unknown(f"{field} cannot be read ({leaf.unreadable.get(field, 'no reason given')[:200]})")
    if address is not None:
        return any(_address(entry) == address for entry in entries)
    reference = _dns(name)
    if reference is None:
        return Unknown("it cannot be written as a DNS name")
    return any(_matches(entry, reference) for entry in entries)


def _has_uri(leaf: CertificateFacts, uri: str) -> Known[bool]:
    """Compared as it is, for these are identities (SPIFFE) and no addresses (RFC 9525, section 6.2)."""
    if leaf.other_names is None:
        return Unknown(f"other_names cannot be read ({leaf.unreadable.get('other_names', 'no reason given')[:200]})")
    return f"URI:{uri}" in leaf.other_names


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def _dns(name: str) -> str | None:
    """In lower case, without a final dot, non-ASCII labels as A-labels (RFC 9525, section 6.3)."""
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
