from __future__ import annotations

import pytest

from scanner.kube.maybe import Unknown
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.observation import Stray
from scanner.values import replace
from tests.judge.cases import LEAF, case, finding, findings

RULE, OTHERS = "tls-subdomain", "tls-other-names"
NAME = "adhere-probe.example"
OWED = (OtherName(name=NAME, owed="same", because="Route/shop/any status.ingress[default].wildcardPolicy: Subdomain"),)


def said(*strays: Stray, **observation: object) -> Finding:
    return finding(RULE, case(expectation={"other_names": OWED}, observation={"strays": strays, **observation}))


def test_the_same_certificate_passes() -> None:
    found = said(Stray(name=NAME, answer="served", leaf=LEAF))
    assert (found.verdict, found.status) == ("pass", "ok")


@pytest.mark.parametrize(
    "stray",
    [
        Stray(name=NAME, answer="refused"),
        Stray(name=NAME, answer="served", leaf=replace(LEAF, sha256="b" * 64, subject="CN=*.apps.example")),
    ],
)
def test_a_refusal_or_another_certificate_fails(stray: Stray) -> None:
    found = said(stray)
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert found.observed[0].startswith(f"{NAME} is ")
    assert found.reproduce == f"adhere scan tls://127.0.0.1:443#{NAME}"


def test_what_was_not_seen_is_never_a_pass() -> None:
    assert said().verdict == "inconclusive"
    assert said(Stray(name=NAME, answer=Unknown("no answer in time"))).verdict == "inconclusive"
    unseen = said(Stray(name=NAME, answer="served", leaf=LEAF), chain=Unknown("it broke off"))
    assert unseen.verdict == "inconclusive"


def test_where_no_subdomain_is_owed_nothing_is_said() -> None:
    refused = (OtherName(name=NAME, owed="refused", because="x"),)
    assert findings(RULE, case(expectation={"other_names": refused})) == []
    assert findings(OTHERS, case(expectation={"other_names": OWED})) == []
