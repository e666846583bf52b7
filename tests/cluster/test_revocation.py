"""Facts of a revocation list, for any content."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateRevocationListBuilder
from hypothesis import example, given
from hypothesis import strategies as st

from scanner.cluster.secret_contents import revocation_lists
from tests.certs import Authority

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
START = datetime(2026, 1, 1, tzinfo=UTC)
BUILDER = CertificateRevocationListBuilder(ROOT.certificate.subject, START, START + timedelta(days=7))
SIGNED = BUILDER.sign(ROOT.key, SHA256())
LIST = SIGNED.public_bytes(Encoding.PEM)
FACTS = {
    "issuer": ROOT.certificate.subject.rfc4514_string(),
    "thisUpdate": "2026-01-01T00:00:00+00:00",
    "nextUpdate": "2026-01-08T00:00:00+00:00",
    "der": base64.b64encode(SIGNED.public_bytes(Encoding.DER)).decode(),
}
NONE = {"unreadable": "it is no revocation list (RFC 5280 section 5.1)"}


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (LIST, [FACTS]),
        (b"text\n" + LIST + b"more\n" + LIST, [FACTS, FACTS]),
        (ROOT.pem, []),
        (LIST[:200], [{"unreadable": "it has no end"}]),
        (LIST.replace(b"\nM", b"\n!"), [NONE]),
        (LIST[:200] + b"\n" + LIST, [NONE, FACTS]),
        (b"-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n" * 50, [NONE] * 20),
    ],
    ids=["one", "two", "none", "no end", "no base64", "cut off before another", "many"],
)
def test_lists(content: bytes, facts: list[dict[str, str]]) -> None:
    assert revocation_lists(content) == facts


@given(st.binary(max_size=60))
@example(b"-----BEGIN X509 CRL")  # with the dashes behind it, the beginning of another
def test_no_bytes_are_too_odd(content: bytes) -> None:
    found = revocation_lists(b"-----BEGIN X509 CRL-----" + content + b"-----END X509 CRL-----")
    assert found
    assert {name for each in found for name in each} == {"unreadable"}


def test_of_a_list_that_is_too_long_the_rest_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.cluster.secret_contents.LONGEST", len(SIGNED.public_bytes(Encoding.DER)) - 1)
    assert revocation_lists(LIST) == [{name: each for name, each in FACTS.items() if name != "der"}]
