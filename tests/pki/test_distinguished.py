"""Names come apart at separators that are ones, and at no others."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from scanner.pki.distinguished import common_name, organizations, values

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=16)
"""Up to 64 bytes in UTF-8, which is as long as an attribute may be (RFC 5280 appendix A.1)."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CN=etcd-signer,OU=openshift", "etcd-signer"),
        (r"CN=a\,CN=b", "a,CN=b"),
        ("CN=a,CN=b", ""),
        ("CN=a+O=b", "a"),
        ("O=b", ""),
        ("", ""),
        ("CN=" + "a" * 1997, "a" * 1997),
        ("CN=" + "a" * 1998, ""),
        (None, None),
    ],
)
def test_the_common_name_is_the_only_one(name: str | None, expected: str | None) -> None:
    assert common_name(name) == expected


def test_of_an_unreadable_name_nothing_is_known() -> None:
    assert organizations(None) is None
    assert organizations("CN=a,O=b,O=c") == ("b", "c")


@given(TEXT, TEXT)
def test_what_cryptography_escapes_comes_back(owner: str, name: str) -> None:
    """RFC 4514 section 2.4, as ``rfc4514_string`` writes it."""
    pairs = ((NameOID.ORGANIZATION_NAME, owner), (NameOID.COMMON_NAME, name))
    text = x509.Name([x509.NameAttribute(oid, value) for oid, value in pairs]).rfc4514_string()
    assert (values(text, "O"), values(text, "CN")) == ((owner,), (name,))


@given(st.text(max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(isinstance(each, str) for each in values(text, "CN"))
