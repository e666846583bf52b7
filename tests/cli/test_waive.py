"""``adhere waive``: what it prints is what ``--policy`` reads, and waives the finding."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from scanner.config.scan_policy import load_scan_policy
from scanner.judge import WAIVABLE
from tests.cli.calling import PATIENT, Call, assert_refused
from tests.cli.conftest import Place

BY = ("--until", "2999-12-31", "--owner", 'Team "A": #1', "--reason", "until ARC-1: 'x'\n- y")


def test_the_waiver_waives_the_finding(call: Call, place: Place, tmp_path: Path) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text(call("waive", place.kept, "--rule", "tls-version", *BY).out)
    (waiver,) = load_scan_policy(str(policy), WAIVABLE).waivers
    assert (waiver.rule, waiver.expires) == ("tls-version", date(2999, 12, 31))
    assert (waiver.owner, waiver.reason) == ('Team "A": #1', "until ARC-1: 'x'\n- y")
    failing = {
        row["id"]
        for row in place.document["endpoints"]
        for one in row["findings"]
        if (one["rule"], one["status"]) == ("tls-version", "violation")
    }
    assert failing
    assert set(waiver.selector.endpoints) == failing
    again = call("whatif", place.kept, "--policy", policy, "--format", "json")
    assert again.code == 0
    scanned = call(
        "scan", "--kubeconfig", place.kubeconfig, "--policy", policy, "--include", "component=metrics-server",
        "--format", "json", *PATIENT,
    )  # fmt: skip
    assert "tls-version" not in scanned.document["summary"]["rules"]
    assert json.dumps(scanned.document).count('"waived"') >= len(failing)


def test_dangerous_characters_are_escaped(call: Call, place: Place, tmp_path: Path) -> None:
    reason = "\x9b2J\u202e##[error]"
    answer = call("waive", place.kept, "--rule", "tls-version", *BY[:-1], reason)
    assert (answer.code, {"\x9b", "\u202e"} & set(answer.out), "##[" in answer.out) == (0, set(), False)
    (tmp_path / "adhere.yaml").write_text(answer.out)
    (waiver,) = load_scan_policy(str(tmp_path / "adhere.yaml"), WAIVABLE).waivers
    assert waiver.reason == reason


def test_endpoints_by_pattern(call: Call, place: Place) -> None:
    answer = call("waive", place.kept, "--rule", "tls-version", "--endpoint", "Deployment/openshift-*", *BY)
    assert (answer.code, "Deployment/openshift-*" in answer.out) == (0, True)


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        (("--rule", "tls-versio", *BY), "no rule on endpoints has the id 'tls-versio'", "did you mean 'tls-version'?"),
        (("--rule", "tls-*", *BY), "no rule on endpoints has the id 'tls-*'", ""),
        (("--rule", "gateway-insecure-fallback", *BY), "no rule on endpoints", ""),
        (("--rule", "cert-name", *BY), "cert-name does not fail", "a waiver would be unused"),
        (("--rule", "tls-version", "--endpoint", "x*", *BY), "does not fail on 'x*'", "a waiver would be unused"),
        (("--rule", "tls-reach", "--endpoint", "Validating*", *BY), "tls-reach does not fail", "only inconclusive"),
        (("--rule", "tls-version", "--endpoint", "Deployment/shop/*", *BY), "does not fail", "does not count"),
        (("--rule", "tls-version", *BY[2:], "--until", "2026-02-31"), "'2026-02-31' is no day", "2027-03-31"),
        (("--rule", "tls-version", *BY[2:], "--until", "2020-01-01"), "2020-01-01 is in the past", "later day"),
        (("--rule", "tls-version", *BY, "--owner", ""), "owner", ""),
    ],
)
def test_what_is_refused(call: Call, place: Place, options: tuple[str, ...], problem: str, hint: str) -> None:
    assert_refused(call("waive", place.kept, *options), problem, hint)


def test_waivers_are_for_scans(call: Call, tmp_path: Path) -> None:
    manifest, report = tmp_path / "a.yaml", tmp_path / "lint.json"
    manifest.write_text("kind: Service\napiVersion: v1\nmetadata: {name: x}\n")
    call("lint", manifest, "--format", f"json={report}")
    assert_refused(call("waive", report, "--rule", "tls-version", *BY), "waivers are for scans")
