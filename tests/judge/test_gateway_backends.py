"""Backends and the Gateways that call them."""

from __future__ import annotations

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import Upstream
from scanner.model.finding import Finding
from scanner.model.observation import ClientCertificate, Reach
from scanner.values import replace
from tests.judge.cases import case, finding, findings

PLAIN = Upstream(gateway="Gateway/edge/gw", policy="BackendTLSPolicy/shop/web")
HAS = replace(PLAIN, identity="Secret/edge/me")
UNSEEN = Unknown("it broke off")


def said(asked: Known[ClientCertificate], *upstreams: Upstream) -> Finding:
    expectation = {"upstreams": upstreams, "binding": "not-enforced"}
    return finding("backend-identity", case(expectation=expectation, observation={"client_certificate": asked}))


@pytest.mark.parametrize(
    ("asked", "upstream", "verdict", "severity"),
    [
        ("none", PLAIN, "pass", "medium"),
        ("requested", PLAIN, "pass", "medium"),
        ("required", PLAIN, "fail", "medium"),
        ("none", HAS, "fail", "low"),
        ("requested", HAS, "pass", "medium"),
        ("required", HAS, "pass", "medium"),
        (UNSEEN, HAS, "inconclusive", "medium"),
        (UNSEEN, PLAIN, "inconclusive", "medium"),
        ("none", replace(HAS, doubt="403"), "inconclusive", "medium"),
        ("required", replace(HAS, doubt="403"), "inconclusive", "medium"),
        ("requested", replace(HAS, doubt="403"), "pass", "medium"),
    ],
)
def test_what_is_asked_for_and_what_the_gateway_has(
    asked: Known[ClientCertificate], upstream: Upstream, verdict: str, severity: str
) -> None:
    found = said(asked, upstream)
    assert (found.verdict, found.severity) == (verdict, severity)
    assert verdict != "fail" or found.status == "violation"


@pytest.mark.parametrize(
    ("upstream", "verdict"), [(HAS, "pass"), (replace(HAS, doubt="403"), "inconclusive"), (PLAIN, "inconclusive")]
)
def test_that_one_is_asked_for_is_enough_for_a_gateway_that_has_one(upstream: Upstream, verdict: str) -> None:
    expectation = {"upstreams": (upstream,), "binding": "not-enforced"}
    seen = {"client_certificate": UNSEEN, "certificate_requested": True}
    assert finding("backend-identity", case(expectation=expectation, observation=seen)).verdict == verdict


def test_one_gateway_of_two_that_cannot_connect_is_the_graver_matter() -> None:
    found = said("required", HAS, replace(PLAIN, gateway="Gateway/edge/other"))
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert found.observed == (
        "Gateway/edge/other (by BackendTLSPolicy/shop/web): a client certificate is required, but the Gateway has none",
    )


def test_what_no_gateway_calls_is_not_judged() -> None:
    assert findings("backend-identity", case()) == findings("backend-fail-open", case()) == []
    assert findings("backend-fail-open", case(expectation={"upstreams": (HAS,)})) == []


def test_contour_is_not_taken_to_apply_a_policy() -> None:
    open_ = replace(PLAIN, fails_open=True)
    found = finding("backend-fail-open", case(expectation={"upstreams": (PLAIN, open_)}))
    assert (found.verdict, found.severity, found.status) == ("fail", "low", "violation")
    assert "would connect in plaintext" in found.message
    bad = replace(open_, plaintext="its status says Accepted is False, Invalid")
    found = finding("backend-fail-open", case(expectation={"upstreams": (open_, bad)}))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert "connects to this backend in plaintext" in found.message
    assert found.observed == (
        "Gateway/edge/gw does not apply BackendTLSPolicy/shop/web: its status says Accepted is False, Invalid",
        "Gateway/edge/gw uses plaintext if it cannot apply BackendTLSPolicy/shop/web",
    )


def test_that_it_speaks_plaintext_is_said_whatever_the_backend_answers() -> None:
    bad = replace(PLAIN, fails_open=True, plaintext="it names no CA")
    result = judge(case(expectation={"upstreams": (bad,)}, observation={"reach": Reach.CLOSED, "chain": UNSEEN}))
    assert "backend-fail-open" in {each.rule for each in result.findings if each.verdict == "fail"}
