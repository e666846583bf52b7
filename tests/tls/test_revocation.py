"""Signatures of revocation lists, for every kind of key and invalid input."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, padding, rsa, x25519
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls.revocation import signed

pytestmark = pytest.mark.crypto

Key = (
    rsa.RSAPrivateKey
    | ec.EllipticCurvePrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
    | dsa.DSAPrivateKey
)
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Clients")])
START = datetime(2026, 1, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
PSS = padding.PSS(mgf=padding.MGF1(SHA256()), salt_length=32)

RSA, OTHER_RSA = (rsa.generate_private_key(65537, 1024) for _ in range(2))
P256, OTHER_P256 = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
P384, P521 = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP521R1())
ED25519, OTHER_ED25519 = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
ED448 = ed448.Ed448PrivateKey.generate()
DSA = dsa.generate_private_key(1024)  # of 2,048 bits: seconds for its parameters
AGREES = x25519.X25519PrivateKey.generate()


def revocation_list(
    key: Key, algorithm: SHA256 | SHA384 | SHA512 | None, rsa_padding: padding.PSS | None = None
) -> bytes:
    builder = x509.CertificateRevocationListBuilder(NAME, START, START + WEEK)
    return builder.sign(key, algorithm, rsa_padding=rsa_padding).public_bytes(Encoding.DER)


def authority(key: Key | x25519.X25519PrivateKey, *, lists: bool | None = None) -> bytes:
    """``lists``: whether the keyUsage has cRLSign; None for no keyUsage. Signed by another: only the key counts."""
    builder = x509.CertificateBuilder().subject_name(NAME).issuer_name(NAME).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(START).not_valid_after(START + WEEK)
    if lists is not None:
        others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "digital_signature")
        absent = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=lists, **absent), critical=True)
    return builder.sign(P256, SHA256()).public_bytes(Encoding.DER)


LISTS: dict[str, tuple[Key, bytes]] = {
    "RSA": (RSA, revocation_list(RSA, SHA256())),
    "RSA with SHA-512": (RSA, revocation_list(RSA, SHA512())),
    "RSA-PSS": (RSA, revocation_list(RSA, SHA256(), PSS)),
    "P-256": (P256, revocation_list(P256, SHA256())),
    "P-384": (P384, revocation_list(P384, SHA384())),
    "P-521": (P521, revocation_list(P521, SHA512())),
    "Ed25519": (ED25519, revocation_list(ED25519, None)),
    "Ed448": (ED448, revocation_list(ED448, None)),
    "DSA": (DSA, revocation_list(DSA, SHA256())),
}


@pytest.mark.parametrize(("key", "found"), LISTS.values(), ids=LISTS)
def test_the_key_that_signed(key: Key, found: bytes) -> None:
    assert signed(found, authority(key)) == "signed"
    assert signed(found, authority(key, lists=True)) == "signed"
    assert signed(found, authority(key, lists=False)) == "not a signer of lists"


@pytest.mark.parametrize(("key", "found"), LISTS.values(), ids=LISTS)
def test_another_key(key: Key, found: bytes) -> None:
    others = [each for each in (OTHER_RSA, OTHER_P256, P384, OTHER_ED25519, ED448, DSA) if each is not key]
    assert {signed(found, authority(each)) for each in others} == {"not with its key"}


@pytest.mark.parametrize(("key", "found"), LISTS.values(), ids=LISTS)
def test_a_list_that_was_changed(key: Key, found: bytes) -> None:
    changed = found.replace(b"260101000000Z", b"260102000000Z")
    assert changed != found
    assert signed(changed, authority(key)) == "not with its key"


def test_a_key_that_signs_nothing() -> None:
    assert signed(LISTS["P-256"][1], authority(AGREES)) == "unknown"


@given(st.binary(max_size=80))
def test_no_bytes_are_too_odd(content: bytes) -> None:
    assert signed(content, authority(P256)) == "unknown"
    assert signed(LISTS["P-256"][1], content) == "unknown"


@given(st.integers(0, len(LISTS["P-256"][1]) - 1), st.integers(0, 255))
def test_no_byte_of_a_list_can_be_changed(at: int, value: int) -> None:
    found = LISTS["P-256"][1]
    changed = found[:at] + bytes([value]) + found[at + 1 :]
    assert changed == found or signed(changed, authority(P256)) != "signed"
