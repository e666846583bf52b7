from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from scanner.model.finding import Finding
from scanner.model.known import Known, Unknown
from scanner.tls.certificate import CertificateFacts
from tests.judge.cases import ISSUER, LEAF, NOW, ROOT, case, finding

SECOND = timedelta(seconds=1)
RULES = ("cert-expired", "cert-not-yet-valid", "cert-expiring")


def judged(rule: str, *chain: CertificateFacts, days: int = 30) -> Finding:
    return finding(rule, case(observation={"chain": chain}, policy={"expires_within_days": days}))


@pytest.mark.parametrize("rule", RULES)
def test_certificates_in_their_time_pass(rule: str) -> None:
    assert judged(rule, LEAF, ISSUER).verdict == "pass"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chain", [Unknown("the handshake broke off"), ()])
def test_a_chain_that_is_not_known_is_inconclusive(rule: str, chain: Known[tuple[CertificateFacts, ...]]) -> None:
    found = finding(rule, case(observation={"chain": chain}))
    assert found.verdict == "inconclusive"
    assert ("the handshake broke off" if chain else "sent no certificate") in found.message


@pytest.mark.parametrize(
    ("rule", "field"),
    [("cert-expired", "not_after"), ("cert-not-yet-valid", "not_before"), ("cert-expiring", "not_after")],
)
def test_a_date_that_cannot_be_read_is_inconclusive_and_named(rule: str, field: str) -> None:
    odd = replace(LEAF, **{field: None}, unreadable={field: "fractional seconds"})  # type: ignore[arg-type]
    found = judged(rule, odd, ISSUER)
    assert found.verdict == "inconclusive"
    assert f"{field} cannot be read (fractional seconds)" in found.message


def test_an_end_in_the_past_fails() -> None:
    found = judged("cert-expired", replace(LEAF, not_after=NOW - SECOND))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert found.observed == ("leaf CN=a.example: ended 2026-11-21 11:59 UTC",)
    assert found.fix
    assert found.reproduce


def test_the_last_second_is_still_valid() -> None:
    assert judged("cert-expired", replace(LEAF, not_after=NOW)).verdict == "pass"


def test_an_intermediate_that_has_ended_fails_and_a_root_does_not_matter() -> None:
    past = NOW - timedelta(days=1)
    found = judged("cert-expired", LEAF, replace(ISSUER, not_after=past))
    assert found.observed == ("issuer CN=Some CA: ended 2026-11-20 12:00 UTC",)
    assert judged("cert-expired", LEAF, replace(ROOT, not_after=past)).verdict == "pass"


def test_a_self_signed_leaf_is_judged() -> None:
    assert judged("cert-expired", replace(ROOT, not_after=NOW - SECOND)).verdict == "fail"


def test_a_violation_stands_beside_a_date_that_cannot_be_read() -> None:
    found = judged("cert-expired", replace(LEAF, not_after=NOW - SECOND), replace(ISSUER, not_after=None))
    assert found.verdict == "fail"
    assert "not_after" in found.evidence[0]


def test_a_start_in_the_future_fails() -> None:
    found = judged("cert-not-yet-valid", replace(LEAF, not_before=NOW + SECOND))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert judged("cert-not-yet-valid", replace(LEAF, not_before=NOW)).verdict == "pass"


@pytest.mark.parametrize(
    ("ends_in", "days", "verdict"),
    [
        (timedelta(days=29), 30, "fail"),
        (timedelta(days=30), 30, "pass"),
        (timedelta(days=29), 7, "pass"),
        (timedelta(0), 30, "fail"),
        (-SECOND, 30, "pass"),
        (timedelta(days=5), 0, "pass"),
    ],
)
def test_expiring_is_what_the_policy_says_and_not_what_has_ended(ends_in: timedelta, days: int, verdict: str) -> None:
    found = judged("cert-expiring", replace(LEAF, not_before=None, not_after=NOW + ends_in), days=days)
    assert (found.verdict, found.severity) == (verdict, "low")


@pytest.mark.parametrize(
    ("lasts", "left", "verdict"),
    [
        (90, 29, "fail"),  # renewed a month before its end
        (30, 15, "pass"),  # renewed half-way: nobody has missed anything yet
        (30, 7, "pass"),
        (30, 5, "fail"),
        (1, 0.5, "pass"),
        (1, 0.1, "fail"),
    ],
)
def test_what_is_made_for_a_short_time_is_renewed_late(lasts: float, left: float, verdict: str) -> None:
    end = NOW + timedelta(days=left)
    short = replace(LEAF, not_before=end - timedelta(days=lasts), not_after=end)
    assert judged("cert-expiring", short, days=30).verdict == verdict


def test_times_at_the_edge_of_the_calendar_are_printed() -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert "0001-01-01" in judged("cert-expired", replace(LEAF, not_after=first)).observed[0]
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert judged("cert-expiring", replace(LEAF, not_after=last)).verdict == "pass"


def test_a_certificate_without_a_readable_subject_is_named_by_its_digest() -> None:
    found = judged("cert-expired", replace(LEAF, subject=None, not_after=NOW - SECOND))
    assert LEAF.sha256 in found.observed[0]


def test_a_long_subject_is_cut_off() -> None:
    found = judged("cert-expired", replace(LEAF, subject="CN=" + "x" * 10_000, not_after=NOW - SECOND))
    assert len(found.observed[0]) < 300
