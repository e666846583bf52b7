"""One line of an endpoint: what it speaks, and the reason that comes first."""

from __future__ import annotations

import pytest

from scanner.model.finding import OUTCOMES, Finding
from scanner.model.observation import Answers, Observation, Reach
from scanner.model.report import EndpointRow, Summary
from scanner.report import headline
from scanner.report.rows import VERSIONS, endpoint_row
from scanner.values import replace
from tests.report import samples
from tests.report.samples import EXPECTATION, endpoint, finding, speaking


def _row(observation: Observation, *findings: Finding, verdict: str = "pass") -> EndpointRow:
    return endpoint_row(endpoint("x", 1), EXPECTATION, observation, verdict, "ok", findings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        ((0x0303, 0x0304), "TLS 1.2 1.3"),
        ((0x0304,), "TLS 1.3"),
        (VERSIONS, "SSL 2 3 TLS 1.0 1.1 1.2 1.3"),
        ((0x0300, 0x0301), "SSL 3 TLS 1.0"),
    ],
)
def test_versions_are_said_briefly(accepted: tuple[int, ...], said: str) -> None:
    suites = {version: Answers(accepted=(0x1301,)) for version in accepted}
    assert headline.speaks(_row(replace(speaking("x"), versions=Answers(accepted=accepted), suites=suites))) == said


@pytest.mark.parametrize("reach", list(Reach))
def test_every_reach_has_words(reach: Reach) -> None:
    assert headline.speaks(_row(Observation(instance="x", at=samples.NOW, reach=reach)))


def test_client_certificates_are_said() -> None:
    assert headline.speaks(_row(replace(speaking("x"), client_certificate="required"))) == "TLS 1.2 1.3, mTLS"
    assert headline.speaks(_row(replace(speaking("x"), client_certificate="requested"))) == "TLS 1.2 1.3, mTLS optional"


def test_the_worst_finding_of_the_verdict_is_the_reason() -> None:
    found = (
        finding("a", "critical", "inconclusive", "x"),
        finding("b", "low", "fail", "y"),
        finding("c", "high", "fail", "z"),
    )
    assert headline.reason(_row(speaking("x"), *found, verdict="fail")) == "z (+1 more)"


def test_without_findings_the_evidence_is_the_reason() -> None:
    closed = Observation(instance="x", at=samples.NOW, reach=Reach.CLOSED, detail="connection refused")
    assert headline.reason(_row(closed, verdict="inconclusive")) == "connection refused"


def test_what_is_excused_is_counted_apart() -> None:
    assert (
        headline.excused(Summary(statuses={"waived": 2, "readiness": 1, "ok": 5, "informational": 3}))
        == "1 profile not enforced, 2 waived"
    )
    assert headline.excused(Summary(statuses={"violation": 1})) == ""


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("HTTP/1.1 400 Bad Request Content-Type: text/plain Connection: close", "HTTP/1.1 400 Bad Request"),
        ("HTTP/1.0 400 Bad Request", "HTTP/1.0 400 Bad Request"),
        ("HTTP/1.1 200 Date: Sat, 21 Nov 2026", "HTTP/1.1 200"),
        ("HTTP/1.1 404 Not Found  Server: x", "HTTP/1.1 404 Not Found"),
        ("220 mail.example ESMTP Postfix", "220 mail.example ESMTP Postfix"),
        ("HTTP/1.1 x", "HTTP/1.1 x"),
        ("", ""),
    ],
)
def test_of_an_http_response_only_the_first_line_is_shown(detail: str, shown: str) -> None:
    assert headline.status_line(detail) == shown


@pytest.mark.parametrize(
    ("verdict", "status", "outcome"),
    [("fail", "violation", "fail"), ("fail", "readiness", "deviates"), ("fail", "waived", "deviates"),
     ("inconclusive", "readiness", "inconclusive"), ("pass", "ok", "pass")],
)  # fmt: skip
def test_a_failure_that_breaks_nothing_is_another_outcome(verdict: str, status: str, outcome: str) -> None:
    row = _row(speaking("TLSv1.3"))
    row["verdict"], row["status"] = verdict, status
    assert headline.outcome(row) == outcome
    counts = Summary()
    counts.add(row)
    assert counts.outcomes == {each: int(each == outcome) for each in OUTCOMES}
