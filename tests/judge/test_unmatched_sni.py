from __future__ import annotations

from typing import Literal

import pytest

from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.observation import Stray
from scanner.values import replace
from tests.judge.cases import LEAF, case, finding, findings

RULE = "tls-other-names"
NAME = "no-such-name.adhere.invalid"
UNKNOWN = Unknown("no answer in time")


def owed(kind: Literal["refused", "validated"]) -> tuple[OtherName, ...]:
    return tuple(OtherName(name=name, owed=kind, because="Gateway/edge/gw spec.listeners") for name in (NAME, None))


def served(name: str | None, asks: Known[Literal["none", "requested", "required"]] = "none") -> Stray:
    return Stray(name=name, answer="served", leaf=LEAF, client_certificate=asks)


def refused(name: str | None) -> Stray:
    return Stray(name=name, answer="refused")


def said(kind: Literal["refused", "validated"], *strays: Stray) -> Finding:
    return finding(RULE, case(expectation={"other_names": owed(kind)}, observation={"strays": strays}))


def test_where_nothing_is_owed_nothing_is_reported() -> None:
    assert findings(RULE, case(observation={"strays": (served(NAME),)})) == []
    names = (OtherName(name=NAME, owed="compared", because=""),)  # another rule's
    assert findings(RULE, case(expectation={"other_names": names}, observation={"strays": (served(NAME),)})) == []


@pytest.mark.parametrize("kind", ["refused", "validated"])
def test_a_refusal_of_both_passes(kind: Literal["refused", "validated"]) -> None:
    assert said(kind, refused(NAME), refused(None)).verdict == "pass"


def test_a_certificate_where_nothing_may_be_served_fails_with_its_subject() -> None:
    found = said("refused", refused(NAME), served(None))
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert found.observed == (f"no server name: served with the certificate {LEAF.subject}",)
    assert found.expected == ("Gateway/edge/gw spec.listeners",)
    assert found.reproduce == "adhere scan tls://127.0.0.1:443"


def test_validation_holds_for_every_name_that_is_served() -> None:
    assert said("validated", served(NAME, "requested"), served(None, "required")).verdict == "pass"
    found = said("validated", served(NAME, "required"), served(None))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert "without a client certificate" in found.message


@pytest.mark.parametrize(
    "strays",
    [
        (),
        (refused(NAME),),
        (refused(NAME), Stray(name=None, answer=UNKNOWN)),
        (refused(NAME), served(None, UNKNOWN)),
    ],
)
def test_what_is_not_known_of_one_is_no_pass(strays: tuple[Stray, ...]) -> None:
    assert said("validated", *strays).verdict == "inconclusive"


def routed(*strays: Stray, **observed: object) -> Finding:
    """A router that is asked for a Route which it has not admitted."""
    names = (OtherName(name="bad.example", owed="default", because="Route/shop/bad status"),)
    return finding(RULE, case(expectation={"other_names": names}, observation={"strays": strays, **observed}))


def test_a_name_that_may_have_the_default_has_that_or_nothing() -> None:
    assert routed(refused("bad.example")).verdict == "pass"
    assert routed(served("bad.example")).verdict == "pass"
    found = routed(replace(served("bad.example"), leaf=replace(LEAF, sha256="99" * 32)))
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert routed(served("bad.example"), chain=UNKNOWN).verdict == "inconclusive"


def test_names_that_were_not_asked_for_are_no_pass() -> None:
    names = (*owed("refused"), OtherName(name=None, owed="unasked", because="5 more rejected names"))
    found = finding(
        RULE, case(expectation={"other_names": names}, observation={"strays": (refused(NAME), refused(None))})
    )
    assert found.verdict == "inconclusive"
    assert "5 more rejected names" in found.message
