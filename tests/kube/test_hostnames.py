"""The names that two hostnames of the Gateway API have in common."""

from __future__ import annotations

import pytest

from scanner.kube.hostnames import is_address, narrower, overlap, parse_zoned_address, within


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("a.example", "a.example", "a.example"),
        ("A.example", "a.EXAMPLE", "a.example"),
        ("a.example", "", "a.example"),
        ("", "a.example", "a.example"),
        ("a.example", "b.example", ""),
        ("a.shop.example", "*.shop.example", "a.shop.example"),
        ("a.b.shop.example", "*.shop.example", "a.b.shop.example"),
        ("shop.example", "*.shop.example", ""),
        (".shop.example", "*.shop.example", ""),
        ("*.b.shop.example", "*.shop.example", "*.b.shop.example"),
        ("*.shop.example", "*.example", "*.shop.example"),
        ("*.shop.example", "*.other.example", ""),
        ("webshop.example", "*.shop.example", ""),
    ],
)
def test_what_both_match(one: str, other: str, both: str) -> None:
    assert narrower(one, other) == both
    assert narrower(other, one) == both
    assert overlap(one, other) == bool(both)


def test_everything_overlaps_with_every_name() -> None:
    assert overlap("", "")
    assert overlap("a.example", "")


def test_a_wildcard_is_not_within_one_of_its_names() -> None:
    assert within("*.a.example", "*.example")
    assert not within("*.example", "*.a.example")


@pytest.mark.parametrize(
    ("text", "expected"), [("192.0.2.1", True), ("2001:db8::1", True), ("a.example", False), ("", False)]
)
def test_addresses(text: str, expected: bool) -> None:
    assert is_address(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("127.0.0.1%eth0", "None"),
        ("a.example", "None"),
        ("1.2.3", "None"),
    ],
)
def test_addresses_with_a_zone(text: str, expected: str) -> None:
    assert str(parse_zoned_address(text)) == expected
