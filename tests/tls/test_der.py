"""Malformed certificates: one invalid detail does not hide other fields."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from scanner.tls import certificate as module
from scanner.tls.certificate import CertificateFacts, parse_certificate
from tests.tls.der_values import CN, COUNTRY, RSA_KEY, SHA256_RSA, attribute, element, odd

pytestmark = pytest.mark.crypto


def extension(oid: str, value: bytes) -> bytes:
    return element(0x30, element(6, bytes.fromhex(oid)), element(4, value))


SAN, CONSTRAINTS, USAGES = "551d11", "551d13", "551d25"
GOOD = odd()


def test_one_made_by_hand_is_read_like_any_other() -> None:
    assert (GOOD.subject, GOOD.issuer, GOOD.serial, GOOD.key_algorithm, GOOD.key_size) == (
        "CN=a",
        "CN=ca",
        7,
        "RSA",
        2048,
    )
    assert (GOOD.not_before, GOOD.not_after) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    assert (GOOD.signature, GOOD.signature_hash, GOOD.unreadable) == ("sha256WithRSAEncryption", "SHA256", {})


BY_HAND = ("key_algorithm", "key_size", "curve", "key_sha256", "signature", "signature_hash")
"""Fields that are read in any case, where the invalid detail is elsewhere."""


@pytest.mark.parametrize(
    ("facts", "different"),
    [
        (odd(behind=b"\x00"), {}),  # trailing bytes
        (odd(version=element(0xA0, element(2, b"\x03"))), {}),  # version 4
        (odd(version=element(0xA0, element(2, b"\x7f"))), {}),
        (odd(version=b""), {}),  # version 1
        (odd(serial=b"\x00\x07"), {}),  # not as short as can be
        (odd(serial=b"\x00"), {"serial": 0}),
        (odd(serial=b"\xff"), {"serial": -1}),
        (odd(serial=b"\x7f" * 21), {"serial": int.from_bytes(b"\x7f" * 21, "big")}),  # RFC 5280 allows 20
        (odd(subject=attribute(COUNTRY, 19, b"DEU")), {"subject": "C=DEU"}),
        (odd(subject=attribute(CN, 19, b"a@b")), {"subject": "CN=a@b"}),  # '@' is no PrintableString's
        (odd(subject=attribute(CN, 20, b"caf\xe9")), {"subject": "CN=caf\xe9"}),
        (odd(subject=attribute(CN, 30, b"\x00a")), {}),
        (odd(subject=attribute(CN, 28, b"\x00\x00\x00a")), {}),
        (odd(subject=b""), {"subject": ""}),
        (odd(times=(element(23, b"2601010000Z"), element(23, b"2701010000Z"))), {}),  # without seconds
        (odd(times=(element(24, b"20260101000000.5Z"), element(24, b"20270101000000Z"))), {}),
        (
            odd(times=(element(23, b"490101000000Z"), element(23, b"500101000000Z"))),
            {"not_before": datetime(2049, 1, 1, tzinfo=UTC), "not_after": datetime(1950, 1, 1, tzinfo=UTC)},
        ),
        (
            odd(times=(element(23, b"260101000000Z"), element(24, b"99991231235959Z"))),
            {"not_after": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)},
        ),
    ],
)
def test_an_oddity_hides_nothing_that_can_be_read(facts: CertificateFacts, different: dict[str, object]) -> None:
    for name in ("subject", "issuer", "serial", "not_before", "not_after", *BY_HAND):
        expected = different.get(name, getattr(GOOD, name))
        assert getattr(facts, name) == expected, (name, facts.unreadable)
    assert facts.sha256 == sha256(facts.der).hexdigest()
    for name in facts.unreadable:
        assert getattr(facts, name) is None
        assert name in ("dns_names", "ip_addresses", "other_names", "is_ca", "extended_key_usage")


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        (odd(subject=attribute(CN, 12, b"\xff")), "subject"),
        (odd(subject=attribute(CN, 30, b"a")), "subject"),  # half a character
        (odd(subject=attribute(CN, 5, b"")), "subject"),
        (odd(subject=attribute(CN, 12, b"a") * 101), ""),
        (odd(issuer=attribute(CN, 12, b"\xc3(")), "issuer"),
        (odd(times=(element(23, b"261301000000Z"), element(23, b"270101000000Z"))), "not_before"),
        (odd(times=(element(23, b"260101000000Z"), element(23, b"270230000000Z"))), "not_after"),
        (odd(times=(element(23, b"260101000000+0100"), element(23, b"270101000000Z"))), "not_before"),
        (odd(times=(element(22, b"260101000000Z"), element(23, b"270101000000Z"))), "not_before"),
        (odd(times=(element(23, b"\xff" * 13), element(23, b"270101000000Z"))), "not_before"),
        (
            odd(key=element(0x30, element(0x30, bytes.fromhex("06092a864886f70d010101")), element(3, b"\x00junk"))),
            "key_size",
        ),
        (odd(key=element(0x30, b"")), "key_algorithm"),
        (odd(algorithm=element(0x30, bytes.fromhex("06022a03"))), "signature_hash"),
    ],
)
def test_what_cannot_be_read_is_one_field(facts: CertificateFacts, field: str) -> None:
    readable = {"subject", "issuer", "serial", "not_before", "not_after", *BY_HAND} - {field}
    if field in ("key_algorithm", "key_size"):
        readable -= {"key_algorithm", "key_size", "curve", "key_sha256"}
    if field == "signature_hash":
        readable -= {"signature"}
    for name in readable:
        assert name not in facts.unreadable, facts.unreadable
    if field:
        assert getattr(facts, field) is None
        assert facts.unreadable[field]


NULL_BYTE = element(0x82, b"good.example\x00.evil.example")


@pytest.mark.parametrize(
    "extensions",
    [
        extension(SAN, element(0x30, element(0x82, b"a.example"))) * 2,  # twice the same
        extension(SAN, b"garbage"),
        extension(SAN, element(0x30)),  # no name
        extension(SAN, element(0x30, element(0x87, b"\x01\x02\x03"))),  # an address of three bytes
        extension(SAN, element(0x30, element(0x82, b"\xff"))),
        extension(SAN, element(0x30, NULL_BYTE)),
        extension(SAN, element(0x30, element(0xA3, b""))),  # an x400Address
        extension(CONSTRAINTS, element(0x30, element(1, b"\x01"))),  # true is 255 in DER
        extension(CONSTRAINTS, element(0x30, element(2, b"\xff"))),
        extension(CONSTRAINTS, b""),
        extension(USAGES, element(0x30)),
        extension(USAGES, element(0x30, element(5))),
        extension("2a03", b"\xff" * 100),
        extension("551d0e", b""),
        b"\x05\x00",
        extension(SAN, element(0x30, *(element(0x82, b"a%d.example" % number) for number in range(2000)))),
    ],
    ids=range(16),
)
def test_odd_extensions_hide_neither_names_nor_times_nor_keys(extensions: bytes) -> None:
    facts = odd(extensions=extensions)
    assert (facts.subject, facts.issuer, facts.serial) == (GOOD.subject, GOOD.issuer, GOOD.serial)
    assert (facts.not_before, facts.not_after) == (GOOD.not_before, GOOD.not_after)
    assert [getattr(facts, name) for name in BY_HAND] == [getattr(GOOD, name) for name in BY_HAND]
    for name in ("dns_names", "ip_addresses", "other_names", "is_ca", "extended_key_usage"):
        assert (getattr(facts, name) is None) == (name in facts.unreadable)


def test_a_name_with_a_null_in_it_is_not_cut_short() -> None:
    facts = odd(extensions=extension(SAN, element(0x30, NULL_BYTE)))
    assert facts.dns_names in (None, ("good.example\x00.evil.example",))


@pytest.mark.parametrize("bits", [512, 1024, 8192, 16384])
def test_keys_of_any_size_are_measured(bits: int) -> None:
    number = ((1 << (bits - 1)) | 1).to_bytes(bits // 8 + 1, "big")
    key = element(
        0x30,
        element(0x30, bytes.fromhex("06092a864886f70d010101"), element(5)),
        element(3, b"\x00", element(0x30, element(2, number), element(2, b"\x03"))),
    )
    assert odd(key=key).key_size == bits


def test_what_is_no_certificate_is_not_taken_for_one() -> None:
    name = element(0x30, attribute(CN, 12, b"a"))
    request = element(
        0x30, element(0x30, element(2, b"\x00"), name, RSA_KEY, element(0xA0)), SHA256_RSA, element(3, b"\x00")
    )
    crl = element(
        0x30,
        element(
            0x30, element(2, b"\x01"), SHA256_RSA, name, element(23, b"260101000000Z"), element(23, b"270101000000Z")
        ),
        SHA256_RSA,
        element(3, b"\x00"),
    )
    for each in (request, crl):
        facts = parse_certificate(each)
        assert set(facts.unreadable) == {*module._LOADED_FIELDS, *module._DER_FIELDS}


LONG = b"\x81" * 20_000 + b"\x01"
"""An object identifier of one arc, a number of 140,000 bits."""


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        (odd(key=element(0x30, element(0x30, element(6, LONG)), element(3, b"\x00"))), "key_algorithm"),
        (odd(algorithm=element(0x30, element(6, LONG))), "signature"),
        (odd(subject=element(0x31, element(0x30, element(6, LONG), element(12, b"a")))), "subject"),
    ],
    ids=["key", "signature", "name"],
)
def test_an_object_identifier_of_any_length_is_not_written_in_decimal(facts: CertificateFacts, field: str) -> None:
    """The time that this takes grows with the square of the length: 240 KB take a quarter of a minute."""
    assert getattr(facts, field) is None
    assert field in facts.unreadable
    assert facts.not_after is not None


@pytest.mark.parametrize("size", [module.LONGEST_SIGNED + 1, 2 * module.LONGEST])
def test_of_a_certificate_that_is_too_long_names_and_extensions_are_not_read(size: int) -> None:
    """Fields that are cheap to read are still read: it has expired."""
    facts = odd(extensions=extension(SAN, b"\0" * size))
    assert facts.dns_names is None
    assert "are read" in facts.unreadable["dns_names"]
    assert facts.not_after == datetime(2027, 1, 1, tzinfo=UTC)
    assert facts.key_size == 2048
