"""Content in place of certificates."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from scanner.model.pem import CONTAINER, REMOVED, broken, form_of, unreadable
from scanner.tls.certificate import parse_certificate
from tests.certs import Authority

pytestmark = pytest.mark.crypto

LEAF = Authority("Root").leaf(names=("a.example",))
DER = b64decode("".join(LEAF.pem.decode().splitlines()[1:-1]))
PKCS8 = LEAF.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (LEAF.pem.decode().encode("utf-16"), "text in UTF-16"),
        (LEAF.pem.decode().encode("utf-16-le"), "text in UTF-16"),
        (LEAF.key_pem, "a private key"),
        (REMOVED.encode(), "a private key"),
        (CONTAINER.encode(), "a PKCS #12 container"),
        (PKCS8, "a private key in DER"),
        (DER, "a certificate in DER"),
        (bytes.fromhex("308204000201033082"), "a PKCS #12 container"),
        (bytes.fromhex("308204000609 2a864886f70d010702"), "a PKCS #7 container in DER"),
        (bytes.fromhex("feedfeed00000002"), "a Java keystore"),
        (b"-----BEGIN CERTIFICATE REQUEST-----", "a request for a certificate"),
        (b"-----BEGIN X509 CRL-----", "a revocation list"),
        (b"-----BEGIN PKCS7-----", "a PKCS #7 container"),
        (b"-----BEGIN PUBLIC KEY-----", "a public key"),
        (b64encode(LEAF.pem), "base64 in base64"),
        (b64encode(DER), "base64 without the lines of PEM around it"),
        (b"hello", None),
    ],
)
def test_forms(content: bytes, form: str | None) -> None:
    assert form_of(content) == form


@pytest.mark.parametrize(
    ("der", "why"),
    [
        (DER, None),
        (DER[:200], "it is cut off"),
        (DER[:1], "it is cut off"),
        (b"hello", "it is no certificate (RFC 5280 section 4.1)"),
        (b"\x30\x03\x02\x01\x05", "it is no certificate (RFC 5280 section 4.1)"),
        (b"\x30\x03\x02\x01\x05ab", "2 bytes stand behind it"),
    ],
)
def test_what_cannot_be_read_says_why_in_our_words(der: bytes, why: str | None) -> None:
    assert broken(parse_certificate(der)) == why


def test_what_was_not_even_parsed_says_why() -> None:
    assert broken(unreadable("certificate 1 in PEM has no end")) == "certificate 1 in PEM has no end"


@given(st.binary(max_size=40))
def test_no_bytes_are_too_odd(content: bytes) -> None:
    assert form_of(content) != ""
    if content:
        assert broken(parse_certificate(content)) != ""
