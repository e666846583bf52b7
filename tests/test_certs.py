"""The odd certificates are odd in the way that they state, and in no other."""

from __future__ import annotations

from typing import Literal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.certs import HOSTILE_NAMES, Authority, hostile, not_a_certificate, weakly_signed

pytestmark = pytest.mark.crypto


@pytest.mark.parametrize("name", ["sha1", "md5"])
def test_weakly_signed_verifies_with_the_weak_hash(name: Literal["sha1", "md5"]) -> None:
    authority = Authority("Any CA", key="rsa2048")
    leaf = weakly_signed(authority, names=("weak.example",), hash_name=name).certificate
    assert isinstance(authority.key, rsa.RSAPrivateKey)
    weak = leaf.signature_hash_algorithm
    assert weak is not None
    assert weak.name == name
    authority.key.public_key().verify(leaf.signature, leaf.tbs_certificate_bytes, padding.PKCS1v15(), weak)


def test_hostile_carries_every_name() -> None:
    leaf = hostile(Authority("Any CA")).certificate
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hostile.example", *HOSTILE_NAMES]
    subject = str(next(iter(leaf.subject)).value)
    assert "<script>" in subject
    assert "\x1b[2J" in subject
    assert "\u202e" in subject


def test_not_a_certificate() -> None:
    for what, der in not_a_certificate(Authority("Any CA").der).items():
        with pytest.raises(ValueError):  # noqa: PT011  the message is the library's own
            raise AssertionError(f"{what} was parsed: {x509.load_der_x509_certificate(der)}")
