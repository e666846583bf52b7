"""What a scan of the demo's cluster must say, and how it is noticed that it says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scanner.demo.listeners import ClusterListener
from scanner.demo.self_test import unexpected
from scanner.demo.workloads import Outcome
from scanner.model.report import EndpointRow
from tests.report import samples

SPEAKER = ClusterListener(address="127.10.0.4", port=8443, whose="ns/web", story="A story.")
NAMED = replace(
    SPEAKER, server_name="a.example", outcome=Outcome(verdict="fail", status="violation", breaks=("tls-version",))
)


def row(**more: Any) -> EndpointRow:  # noqa: ANN401
    found = next(samples.report().rows())
    plain = {"address": "127.10.0.4", "port": 8443, "server_name": None, "verdict": "pass", "reach": "tls"}
    found.update({**plain, "status": "ok", "findings": [], **more})  # type: ignore[typeddict-item]
    return found


def test_a_story_that_is_told_is_no_surprise() -> None:
    assert unexpected([row(server_name="other.example")], [SPEAKER]) == []


def test_another_verdict_reach_or_status_is_one() -> None:
    for more in ({"verdict": "inconclusive"}, {"reach": "closed"}, {"status": "readiness"}):
        (line,) = unexpected([row(**more)], [SPEAKER])
        assert " should be pass tls ok and is " in line


def test_a_name_has_its_own_story() -> None:
    rows = [row(), row(server_name="a.example", verdict="fail", status="violation")]
    (line,) = unexpected(rows, [SPEAKER, NAMED])
    assert "should break tls-version" in line


def test_who_is_not_found_is_missed() -> None:
    assert unexpected([], [SPEAKER]) == ["ns/web at 127.10.0.4:8443 was not found; this is a bug"]


def test_who_has_no_story_may_only_be_not_applicable() -> None:
    assert unexpected([row(verdict="not_applicable")], []) == []
    (line,) = unexpected([row()], [])
    assert "belongs to no listener" in line
