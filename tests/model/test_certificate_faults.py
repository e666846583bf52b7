"""Expiry, which a listener's rule and that of stored certificates answer alike."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.maybe import Unknown
from scanner.model.certificate_faults import covers
from scanner.model.held_certificate import Place
from scanner.pki.renewal import RENEWAL
from scanner.values import replace
from tests.judge.cases import LEAF, NOW, case, finding
from tests.pki.subjects import classified, subject

pytestmark = pytest.mark.crypto

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
NODE = "CN=system:node:a,O=system:nodes"
WEB = "CN=web,O=system:nodes-imitated"


@pytest.mark.parametrize(
    ("life", "left", "name", "severity"),
    [
        (365 * DAY, 31 * DAY, WEB, None),
        (365 * DAY, 29 * DAY, WEB, "low"),
        (365 * DAY, 13 * DAY, WEB, "medium"),
        (365 * DAY, 20 * HOUR, WEB, "high"),
        (30 * DAY, 7 * DAY, WEB, None),
        (30 * DAY, 5 * DAY, WEB, "medium"),
        (30 * DAY, 20 * HOUR, WEB, "high"),
        (160 * HOUR, 80 * HOUR, WEB, None),  # an ACME certificate of six days, half-way
        (160 * HOUR, 20 * HOUR, WEB, "high"),
        (DAY, 12 * HOUR, WEB, None),
        (DAY, 4 * HOUR, WEB, "high"),
        (30 * DAY, 5 * DAY, NODE, None),  # kubelets may wait until three days are left
        (30 * DAY, 20 * HOUR, NODE, "high"),
        (DAY, 4 * HOUR, NODE, None),
        (DAY, 2 * HOUR, NODE, "high"),
        (365 * DAY, 29 * DAY, NODE, "low"),
    ],
)
def test_a_served_and_a_stored_certificate_are_graded_alike(
    life: timedelta, left: timedelta, name: str, severity: str | None
) -> None:
    facts = replace(LEAF, subject=name, not_before=NOW + left - life, not_after=NOW + left)
    served = finding("cert-expiring", case(observation={"chain": (facts,)}))
    assert (served.severity if served.verdict == "fail" else None) == severity
    origin, place = classified(governed=False, why="a file"), Place(role="leaf", file="web.pem")
    stored = list(RENEWAL.check(RENEWAL, replace(subject(facts, told=origin, place=place), now=NOW)))
    assert [each.severity for each in stored] == ([severity] if severity else [])
    if severity:
        when = served.message.removeprefix("certificate ")
        assert when.startswith("expires in ")
        assert when in stored[0].message


@pytest.mark.parametrize(
    ("entries", "name", "covered"),
    [
        (("a.example",), "a.example", True),
        (("A.Example",), "a.eXAMPLE", True),
        (("a.example",), "a.example.", True),
        (("a.example.",), "a.example", True),
        (("b.example", "a.example"), "a.example", True),
        (("a.example",), "b.a.example", False),
        (("a.example",), "example", False),
        (("*.example",), "a.example", True),
        (("*.example",), "b.a.example", False),
        (("*.example",), "example", False),
        (("*.example",), ".example", False),
        (("*",), "localhost", False),
        (("*.*.example",), "b.a.example", False),
        (("a*.example",), "ab.example", False),
        (("*b.example",), "ab.example", False),
        (("b.*.example",), "b.a.example", False),
        (("*.example",), "*.example", True),
        (("xn--mnchen-3ya.example",), "münchen.example", True),
        (("*.example",), "münchen.example", True),
        (("",), "a.example", False),
        ((), "a.example", False),
        (("127.0.0.1",), "127.0.0.1", False),
    ],
)
def test_dns_names(entries: tuple[str, ...], name: str, covered: bool) -> None:
    assert covers(replace(LEAF, dns_names=entries), name) is covered


@pytest.mark.parametrize(
    ("entries", "name", "covered"),
    [
        (("127.0.0.1",), "127.0.0.1", True),
        (("127.0.0.2",), "127.0.0.1", False),
        (("2001:db8::1",), "2001:0db8:0:0::1", True),
        (("2001:db8::1",), "[2001:db8::1]", True),
        (("not an address",), "127.0.0.1", False),
        ((), "127.0.0.1", False),
    ],
)
def test_addresses(entries: tuple[str, ...], name: str, covered: bool) -> None:
    assert covers(replace(LEAF, ip_addresses=entries), name) is covered


def test_the_common_name_is_not_looked_at() -> None:
    assert covers(replace(LEAF, subject="CN=a.example", dns_names=()), "a.example") is False


@pytest.mark.parametrize(("field", "name"), [("dns_names", "a.example"), ("ip_addresses", "127.0.0.1")])
def test_entries_that_cannot_be_read_cover_nothing_for_certain(field: str, name: str) -> None:
    leaf = replace(LEAF, **{field: None}, unreadable={field: "bad length"})  # type: ignore[arg-type]
    found = covers(leaf, name)
    assert isinstance(found, Unknown)
    assert field in found.reason
    assert "bad length" in found.reason


@pytest.mark.parametrize("name", ["", ".", "ü" * 100])
def test_what_is_no_dns_name_is_not_known(name: str) -> None:
    assert isinstance(covers(LEAF, name), Unknown)


@given(entry=st.text(max_size=30), name=st.text(max_size=30))
def test_hostile_names_never_raise(entry: str, name: str) -> None:
    found = covers(replace(LEAF, dns_names=(entry,), ip_addresses=(entry,)), name)
    assert isinstance(found, bool | Unknown)
