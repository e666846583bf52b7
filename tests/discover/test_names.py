"""Names and numbers out of objects."""

from __future__ import annotations

import pytest

from scanner.discover.endpoints import called
from scanner.kube.hostnames import address, port, server_name, valid_names
from scanner.model.endpoint import Owner


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Shop.Ex.com.", "shop.ex.com"),
        ("*.ex.com", "adhere-probe.ex.com"),
        ("localhost", "localhost"),
        ("a.b", "a.b"),
        ("_x.ex.com", "_x.ex.com"),
        ("*", None),
        ("a.*.com", None),
        ("", None),
        ("10.0.0.1", None),
        ("fd00::1", None),
        ("a b", None),
        ("a\n.com", None),
        ("a..b", None),
        ("-a.com", None),
        ("ä.com", None),
        ("a" * 64 + ".com", None),
        (".".join(["a" * 60] * 5), None),
        ("a" * 100_000, None),
    ],
)
def test_server_names(text: str, name: str | None) -> None:
    assert server_name(text) == name


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (443, 443),
        ("443", 443),
        (0, None),
        (65535, 65535),
        (65536, None),
        ("000443", None),
        (True, None),
        ("٣", None),
        ("x", None),
        (None, None),
        (1.0, None),
    ],
)
def test_ports(value: object, number: int | None) -> None:
    assert port(value) == number


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("10.0.0.1", "10.0.0.1"), ("FD00:0::1", "fd00::1"), ("010.0.0.1", None), ("fe80::1%eth0", None), ("x", None)],
)
def test_addresses(text: str, canonical: str | None) -> None:
    assert address(text) == canonical


@pytest.mark.parametrize("text", ["", "a b", "a\n", "a" * 254, "a\u202eb", "\ud800"])
def test_names_that_no_object_has(text: str) -> None:
    assert not valid_names(text)


def test_ids_of_different_listeners_differ_whatever_their_owners_are_called() -> None:
    one = called(Owner(kind="Pod", namespace="a", name="b:1#c"), 1, None, "tls")
    two = called(Owner(kind="Pod", namespace="a", name="b"), 1, "c:1", "tls")
    assert (one, two) == ("Pod/a/b%3A1%23c:1", "Pod/a/b:1#c:1")
    assert called(Owner(kind="A", namespace="b/c", name="d"), 1, None, "tls") == "A/b%2Fc/d:1"
