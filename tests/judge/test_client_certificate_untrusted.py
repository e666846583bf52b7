from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.finding import Finding
from tests.judge.cases import case, finding, findings

RULE = "tls-untrusted-client"
SOURCE = "Gateway/edge/gw spec.tls.frontend.default.validation"


def said(seen: Any) -> Finding:  # noqa: ANN401 - known or unknown
    return finding(RULE, case(expectation={"client_trust": SOURCE}, observation={"untrusted_client": seen}))


def test_where_no_object_says_whom_to_trust_nothing_is_reported() -> None:
    assert findings(RULE, case(observation={"untrusted_client": "accepted"})) == []


@pytest.mark.parametrize(
    ("seen", "verdict"), [("refused", "pass"), ("accepted", "fail"), (Unknown("it was silent"), "inconclusive")]
)
def test_only_a_refusal_passes(seen: Any, verdict: str) -> None:  # noqa: ANN401 - as above
    assert said(seen).verdict == verdict


def test_the_object_is_named_and_it_is_grave() -> None:
    found = said("accepted")
    assert (found.severity, found.status) == ("high", "violation")
    assert SOURCE in found.expected[0]
    assert SOURCE in (found.fix or "")
    assert "-servername a.example -key untrusted.key" in (found.reproduce or "")


def test_what_was_never_tried_is_no_pass() -> None:
    found = finding(RULE, case(expectation={"client_trust": SOURCE}))
    assert (found.verdict, found.status) == ("inconclusive", "not-tested")


def let_in(answer: object, kind: str | None = "Gateway") -> Finding:
    """TLS accepts the certificate, and a request of its owner gets this answer."""
    subject = kind and Reference(kind=kind, name="gw", namespace="edge")
    seen = {"untrusted_client": "accepted", "request_untrusted": answer}
    return finding(RULE, case(expectation={"client_trust": SOURCE}, observation=seen, endpoint={"subject": subject}))


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("400", "pass"), ("403", "pass"), ("495", "pass"), ("closed", "pass"),
        ("200", "fail"), ("204", "fail"), ("302", "fail"), ("401", "fail"), ("404", "fail"),
        ("429", "inconclusive"), ("503", "inconclusive"), (Unknown("no answer in time"), "inconclusive"),
    ],
)  # fmt: skip
def test_a_gateway_may_refuse_in_http(answer: object, verdict: str) -> None:
    assert let_in(answer).verdict == verdict
    assert let_in(answer, "ListenerSet").verdict == verdict


@pytest.mark.parametrize("kind", ["HTTPProxy", None])
def test_whoever_must_refuse_in_tls_fails_whatever_a_request_gets(kind: str | None) -> None:
    assert let_in("400", kind).verdict == "fail"
