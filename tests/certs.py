"""Odd certificates for tests, on top of the demo's builder (``scanner.demo.certificates``).

A leaf without fault is ``Authority("any").leaf(names=(...))``; here is what no careful builder makes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from scanner.demo.certificates import Authority, Credential, private_key

__all__ = [
    "HOSTILE_NAMES",
    "Authority",
    "Credential",
    "hostile",
    "not_a_certificate",
    "private_key",
    "slow_to_verify",
    "weakly_signed",
]

HOSTILE_NAMES = (
    "<script>alert(document.domain)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[2J\x1b]0;owned\x07green",
    "\x00\x01\x08\x0b\x1f\x7f",
    "line\r\nbreak\tand tab",
    "::error title=x::owned",
    "##vso[task.complete result=Succeeded]",
    "{{ 7 * 7 }} {% raw %} [link](javascript:alert(1)) | cell | [bold]rich[/bold]",
    "]]>&amp;<!--",
)
"""For HTML, the terminal, XML (characters that XML 1.0 cannot carry), CI log commands, templates and Markdown."""

_BIDI = "\u202eevil\u2066\ufeff"
"""Reorders what a terminal or browser shows; only the subject can carry it, a dNSName is ASCII."""

_RSA_OID = bytes.fromhex("06092a864886f70d0101")
"""Tag, length and all but the last arc of the PKCS #1 signature algorithms (RFC 8017, appendix A.2.4)."""
_SHA256_ARC, _WEAK = b"\x0b", {"sha1": (b"\x05", hashes.SHA1()), "md5": (b"\x04", hashes.MD5())}


def hostile(authority: Authority) -> Credential:
    """A leaf whose subject and alternative names attack every output format. The first name is harmless."""
    return authority.leaf(
        names=("hostile.example", *HOSTILE_NAMES), common_name=f"{HOSTILE_NAMES[0][:20]}{HOSTILE_NAMES[2]}{_BIDI}"
    )


def weakly_signed(
    authority: Authority, *, names: tuple[str, ...], hash_name: Literal["sha1", "md5"] = "sha1"
) -> Credential:
    """A leaf signed with SHA-1 or MD5, which ``cryptography`` refuses to make. ``authority`` must have an RSA key.

    Both algorithm identifiers of a SHA-256 one are rewritten (same length), then it is signed again.
    """
    arc, algorithm = _WEAK[hash_name]
    leaf = authority.leaf(names=names)
    assert isinstance(authority.key, rsa.RSAPrivateKey)
    old, weak = _RSA_OID + _SHA256_ARC, _RSA_OID + arc
    tbs = leaf.certificate.tbs_certificate_bytes.replace(old, weak)
    der = leaf.der.replace(leaf.certificate.tbs_certificate_bytes, tbs).replace(old, weak)
    signature = authority.key.sign(tbs, padding.PKCS1v15(), algorithm)
    patched = der[: -len(signature)] + signature
    return Credential(certificate=x509.load_der_x509_certificate(patched), key=leaf.key)


def slow_to_verify(name: str, serial: int = 1) -> x509.Certificate:
    """A CA with an RSA key of 3,072 bits whose public exponent is as long: OpenSSL takes 400 times as long with it, and
    bounds the exponents of longer keys only. It has not signed itself; whoever checks that has paid already."""
    key = _rsa3072()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(rsa.RSAPublicNumbers(e=(1 << 3071) - 1, n=key.public_key().public_numbers().n).public_key())
        .serial_number(serial)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


@cache
def _rsa3072() -> rsa.RSAPrivateKey:
    key = private_key("rsa3072")
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def not_a_certificate(der: bytes) -> dict[str, bytes]:
    """Variants of ``der`` that no parser should accept, by what is wrong with them."""
    return {
        "empty": b"",
        "truncated": der[:-1],
        "length beyond the end": der[:2] + b"\xff\xff" + der[4:],
        "not DER": b"-----BEGIN CERTIFICATE-----\n",
        "only zeros": bytes(len(der)),
    }
