"""ServerKeyExchange and CertificateRequest beyond what ``messages.py`` has."""

from __future__ import annotations

import pytest

from scanner.tls.exchange import ServerKeyExchange
from scanner.tls.wire import Malformed


def dhe(prime: bytes) -> ServerKeyExchange:
    return ServerKeyExchange(kind="dhe", prime=prime, generator=b"\x02", public=b"\x03")


def test_sizes() -> None:
    assert dhe(b"\x00\x17").bits == 5
    assert dhe(b"").bits == 0
    assert ServerKeyExchange(kind="rsa", prime=b"\xff\xff", generator=b"\x03").bits == 16
    assert ServerKeyExchange(kind="ecdhe", group=29).bits is None


@pytest.mark.parametrize("exchange", ["PSK", "ECDHE_PSK", "SRP", "unknown", "any"])
def test_what_we_do_not_read_is_none(exchange: str) -> None:
    assert ServerKeyExchange.decode(bytes.fromhex("0c 000001 ff"), exchange) is None


@pytest.mark.parametrize(
    ("message", "why"), [("0c 000003 040001", "elliptic curve type 4"), ("0c 000004 02000703", "basis 3")]
)
def test_unknown_kinds_of_curves_are_malformed(message: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        ServerKeyExchange.decode(bytes.fromhex(message), "ECDHE")
