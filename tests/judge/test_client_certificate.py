from __future__ import annotations

import pytest

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.observation import Reach
from tests.judge.cases import case, finding, findings

RULE = "tls-client-certificate"


def test_without_an_expectation_nothing_is_reported() -> None:
    assert findings(RULE, case()) == []


@pytest.mark.parametrize("kind", ["none", "requested", "required"])
def test_as_expected_passes(kind: str) -> None:
    found = finding(RULE, case(expectation={"client_certificate": kind}, observation={"client_certificate": kind}))
    assert found.verdict == "pass"
    said = "no client certificate is requested" if kind == "none" else f"a client certificate is {kind}"
    assert found.message == said


@pytest.mark.parametrize(
    ("expected", "found", "severity"),
    [
        ("required", "requested", "high"),
        ("required", "none", "high"),
        ("requested", "none", "high"),
        ("requested", "required", "medium"),
        ("none", "requested", "medium"),
        ("none", "required", "medium"),
    ],
)
def test_anything_else_fails_and_less_than_expected_is_worse(expected: str, found: str, severity: str) -> None:
    judged = finding(
        RULE, case(expectation={"client_certificate": expected}, observation={"client_certificate": found})
    )
    assert (judged.verdict, judged.severity) == ("fail", severity)
    assert (judged.expected, judged.observed) == ((expected,), (found,))
    assert judged.fix
    assert judged.reproduce


@pytest.mark.parametrize(
    ("expected", "verdict"), [("none", "fail"), ("requested", "inconclusive"), ("required", "inconclusive")]
)
def test_that_one_is_asked_for_is_enough_where_none_should_be(expected: str, verdict: str) -> None:
    """A server of TLS 1.3 that is silent afterwards leaves open only whether it is required."""
    seen = {"client_certificate": Unknown("asked for, and then nothing"), "certificate_requested": True}
    assert finding(RULE, case(expectation={"client_certificate": expected}, observation=seen)).verdict == verdict
    seen = {**seen, "certificate_requested": False}
    assert finding(RULE, case(expectation={"client_certificate": "none"}, observation=seen)).verdict == "inconclusive"


def test_where_an_object_has_said_it_already_its_controller_is_where_to_look() -> None:
    source = "Gateway/edge/gw spec.tls.frontend.default.validation"
    expectation = {"client_certificate": "required", "client_trust": source}
    found = finding(RULE, case(expectation=expectation, observation={"client_certificate": "none"}))
    assert (found.fix or "").startswith(f"{source} requires it already: ")


@pytest.mark.parametrize(
    ("asked", "answer", "kind", "verdict"),
    [
        ("requested", "400", "Gateway", "pass"),
        ("requested", "closed", "Gateway", "pass"),
        ("requested", "204", "Gateway", "fail"),
        ("requested", "503", "Gateway", "inconclusive"),
        ("requested", Unknown("not tested (--active-http)"), "Gateway", "inconclusive"),
        ("requested", "400", "HTTPProxy", "fail"),
        ("none", "400", "Gateway", "fail"),
    ],
)
def test_a_gateway_may_require_it_in_http(asked: str, answer: object, kind: str, verdict: str) -> None:
    """nginx asks every client for a certificate and refuses the requests of those without one."""
    of = case(
        expectation={"client_certificate": "required", "client_trust": "Gateway/edge/gw spec.tls.frontend"},
        observation={"client_certificate": asked, "request_without_certificate": answer},
        endpoint={"subject": Reference(kind=kind, name="gw", namespace="edge")},
    )
    found = finding(RULE, of)
    assert (found.verdict, found.severity) == (verdict, "high")


def test_unknown_is_inconclusive() -> None:
    of = case(
        expectation={"client_certificate": "none"},
        observation={"client_certificate": Unknown("reset on the first read")},
    )
    found = finding(RULE, of)
    assert found.verdict == "inconclusive"
    assert "reset on the first read" in found.message


def test_a_handshake_that_ended_for_want_of_a_certificate_is_evidence() -> None:
    of = case(
        expectation={"client_certificate": "required"},
        observation={"client_certificate": Unknown("x"), "reach": Reach.CLIENT_CERTIFICATE_REQUIRED},
    )
    assert finding(RULE, of).verdict == "pass"


def test_a_request_that_may_be_refused_is_noted() -> None:
    asks = {"client_certificate": "requested"}
    found = finding(RULE, case(expectation=asks, observation=asks))
    assert (found.verdict, found.status) == ("pass", "informational")
    assert found.evidence == ("clients without a certificate are accepted",)


@pytest.mark.parametrize("seen", ["requested", "required"])
def test_a_request_of_which_the_object_says_nothing_is_noted(seen: str) -> None:
    source = "Gateway/edge/gw spec.tls.frontend"
    found = finding(RULE, case(expectation={"client_unasked": source}, observation={"client_certificate": seen}))
    assert (found.verdict, found.severity, found.status) == ("pass", "info", "informational")
    assert source in found.message


def test_where_nobody_is_asked_and_nobody_should_be_nothing_is_said() -> None:
    for seen in ("none", Unknown("it broke off")):
        of = case(expectation={"client_unasked": "Gateway/edge/gw"}, observation={"client_certificate": seen})
        assert findings(RULE, of) == []
