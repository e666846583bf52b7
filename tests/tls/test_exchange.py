"""ServerKeyExchange and CertificateRequest beyond what ``messages.py`` has."""

from __future__ import annotations

import pytest

from scanner.tls.exchange import ServerKeyExchange
from scanner.tls.wire import Malformed


def e_times_two_to_the(bits: int) -> int:
    """The whole part of e * 2^bits, by the series of 1/n!."""
    guard = 64
    term, total, n = 1 << (bits + guard), 0, 0
    while term:
        total += term
        n += 1
        term //= n
    return total >> guard


def ffdhe_prime(bits: int, offset: int) -> bytes:
    """RFC 7919 appendix A: p = 2^b - 2^(b-64) + (floor(2^(b-130) e) + X) 2^64 - 1."""
    prime = (1 << bits) - (1 << (bits - 64)) + ((e_times_two_to_the(bits - 130) + offset) << 64) - 1
    return prime.to_bytes(bits // 8, "big")


def dhe(prime: bytes) -> ServerKeyExchange:
    return ServerKeyExchange(kind="dhe", prime=prime, generator=b"\x02", public=b"\x03")


@pytest.mark.parametrize(
    ("bits", "offset", "group"),
    [
        (2048, 560316, 0x0100),
        (3072, 2625351, 0x0101),
        (4096, 5736041, 0x0102),
        (6144, 15705020, 0x0103),
        (8192, 10965728, 0x0104),
    ],
)
def test_the_groups_of_rfc_7919_are_known(bits: int, offset: int, group: int) -> None:
    prime = ffdhe_prime(bits, offset)
    assert (dhe(prime).bits, dhe(prime).ffdhe_group) == (bits, group)
    assert dhe(b"\x00" + prime).ffdhe_group == group
    assert dhe(prime[:-1] + b"\x01").ffdhe_group is None


def test_sizes() -> None:
    assert dhe(b"\x00\x17").bits == 5
    assert dhe(b"").bits == 0
    assert ServerKeyExchange(kind="rsa", prime=b"\xff\xff", generator=b"\x03").bits == 16
    assert ServerKeyExchange(kind="rsa", prime=ffdhe_prime(2048, 560316)).ffdhe_group is None
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
