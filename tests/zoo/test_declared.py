"""Proxies that do what is declared. Those that do not are in the files for each of them, which are slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.test_declared_envoy import CALLERS, CLIENT, NAME, OTHERS, STORED, UNTRUSTED, VERSION, Contour, Gateway
from tests.zoo.test_declared_router import APPS, Case

pytestmark = pytest.mark.zoo


async def test_contour_that_does_what_is_declared(tmp_path: Path) -> None:
    told = await Contour(tmp_path).all()
    assert {rule: told.verdict("strict.example", rule) for rule in (STORED, CLIENT, UNTRUSTED, VERSION)} == {
        STORED: "pass",
        CLIENT: "pass",
        UNTRUSTED: "pass",
        VERSION: "pass",
    }, told.rows["strict.example"]
    plain = {rule: told.verdict("plain.example", rule) for rule in (STORED, CLIENT, UNTRUSTED, OTHERS)}
    assert plain == {STORED: "pass", CLIENT: None, UNTRUSTED: None, OTHERS: "pass"}
    assert told.verdict("behind backend.example", CALLERS) == "pass"
    assert told.passages() == []


async def test_a_gateway_that_does_what_is_declared(tmp_path: Path) -> None:
    told = await Gateway(tmp_path).all()
    for name in ("one.example", "two.example"):
        found = {rule: told.verdict(name, rule) for rule in (STORED, CLIENT, UNTRUSTED)}
        assert found == {STORED: "pass", CLIENT: "pass", UNTRUSTED: "pass"}, told.rows[name]
    assert told.verdict("one.example", OTHERS) == "pass"
    assert told.verdict("two.example", OTHERS) is None
    assert told.verdict("through.example", OTHERS) == "pass"
    assert told.verdict("behind sent.example", CALLERS) == "pass"
    assert told.verdict("behind sent.example", NAME) != "fail"
    assert told.passages() == []


async def test_a_router_that_does_what_is_declared(tmp_path: Path) -> None:
    case = Case(tmp_path)
    told = await case.told()
    for name in (f"{each}.{APPS}" for each in ("plain", "own", "inline", "again", "verified")):
        assert {rule: told.verdict(name, rule) for rule in (STORED, CLIENT, UNTRUSTED)} == {
            STORED: "pass",
            CLIENT: "pass",
            UNTRUSTED: "pass",
        }, (name, told.rows[name])
    assert told.passages() == []
    assert told.verdict("behind secure.shop.svc", CALLERS) == "pass"
    assert told.verdict(case.nameless("private"), CALLERS) == "pass"
    # What is passed through is no TLS of the router's: it neither has its certificate nor verifies for it.
    through = f"through.{APPS}"
    assert [told.verdict(through, rule) for rule in (STORED, UNTRUSTED)] == [None, None]
