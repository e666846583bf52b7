"""Certificates of a platform's shape: subject, issuer and usage as told, and nothing else to look at."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from scanner.tls.certificate import CertificateFacts, parse_certificate

_NOW = datetime(2026, 9, 1, tzinfo=UTC)
_EKUS = {
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
}


@cache
def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def subject(common_name: str, *organizations: str) -> x509.Name:
    """``O=...,CN=...``, as Go writes it: operators' names pass the 64 characters of RFC 5280 appendix A.1."""
    owners = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is too long
        name = x509.NameAttribute(NameOID.COMMON_NAME, common_name, _validate=False)
    return x509.Name([*owners, name])


def made(
    name: str | x509.Name,
    issuer: str | None = None,
    *,
    eku: tuple[str, ...] = (),
    ca: bool = False,
    sans: tuple[str, ...] = (),
) -> CertificateFacts:
    """A certificate; without ``issuer`` its own. All share one key, which nothing here looks at."""
    whose = subject(name) if isinstance(name, str) else name
    builder = (
        x509.CertificateBuilder()
        .subject_name(whose)
        .issuer_name(whose if issuer is None else subject(issuer))
        .public_key(_key().public_key())
        .serial_number(7)
        .not_valid_before(_NOW)
        .not_valid_after(_NOW + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if eku:
        builder = builder.add_extension(x509.ExtendedKeyUsage([_EKUS[each] for each in eku]), critical=False)
    if sans:
        builder = builder.add_extension(x509.SubjectAlternativeName([_san(each) for each in sans]), critical=False)
    return parse_certificate(builder.sign(_key(), hashes.SHA256()).public_bytes(Encoding.DER))


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
