from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
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
    assert found.observed == ("leaf CN=a.example: expired 1 second ago (2026-11-21 11:59 UTC)",)
    assert found.message == "certificate expired 1 second ago (2026-11-21 11:59 UTC)"
    assert found.fix
    assert found.reproduce


def test_the_last_second_is_still_valid() -> None:
    assert judged("cert-expired", replace(LEAF, not_after=NOW)).verdict == "pass"


def test_an_intermediate_that_has_ended_fails_and_a_root_does_not_matter() -> None:
    past = NOW - timedelta(days=1)
    found = judged("cert-expired", LEAF, replace(ISSUER, not_after=past))
    assert found.observed == ("issuer CN=Some CA: expired 24 hours ago (2026-11-20 12:00 UTC)",)
    assert found.message == "issuer certificate CN=Some CA expired 24 hours ago (2026-11-20 12:00 UTC)"
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
    assert found.verdict == verdict


YEAR, HOUR, DAY = timedelta(days=365), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("lasts", "left", "severity", "time"),
    [
        (YEAR, 20 * HOUR, "high", "20 hours"),
        (YEAR, 3 * DAY - SECOND, "high", "2 days"),
        (YEAR, 3 * DAY, "medium", "3 days"),
        (YEAR, 14 * DAY - SECOND, "medium", "13 days"),
        (YEAR, 14 * DAY, "low", "14 days"),
        (YEAR, 30 * DAY - SECOND, "low", "29 days"),
        (None, 20 * HOUR, "high", "20 hours"),
        (80 * DAY, 15 * DAY, "low", "15 days"),
        (30 * DAY, 5 * DAY, "medium", "5 days"),
        (30 * DAY, 20 * HOUR, "high", "20 hours"),
        (DAY, 90 * timedelta(minutes=1), "high", "90 minutes"),
        (DAY, 90 * SECOND, "high", "90 seconds"),
        (DAY, SECOND, "high", "1 second"),
    ],
)
def test_the_sooner_it_expires_the_graver_and_the_time_left_is_said(
    lasts: timedelta | None, left: timedelta, severity: str, time: str
) -> None:
    end = NOW + left
    found = judged("cert-expiring", replace(LEAF, not_before=None if lasts is None else end - lasts, not_after=end))
    assert (found.verdict, found.severity) == ("fail", severity)
    assert found.message == f"certificate expires in {time} ({end:%Y-%m-%d %H:%M} UTC)"


def test_the_policy_says_how_grave() -> None:
    of = case(
        observation={"chain": (replace(LEAF, not_before=None, not_after=NOW + 5 * DAY),)},
        policy={"expires_within_days": 20, "expires_within_days_medium": 5, "expires_within_days_high": 1},
    )
    assert finding("cert-expiring", of).severity == "low"
    assert finding("cert-expiring", replace(of, now=NOW + SECOND)).severity == "medium"
    assert finding("cert-expiring", replace(of, now=NOW + 4 * DAY + SECOND)).severity == "high"


def test_the_certificate_that_expires_first_is_named_and_the_gravest_counts() -> None:
    first, other = (replace(each, not_before=None) for each in (ISSUER, LEAF))
    chain = (replace(other, not_after=NOW + 20 * DAY), replace(first, not_after=NOW + 2 * DAY))
    found = judged("cert-expiring", *chain)
    assert found.message.startswith("issuer certificate CN=Some CA expires in 2 days (")
    assert (found.severity, len(found.observed)) == ("high", 2)


def test_of_two_chains_the_graver_decides() -> None:
    soon, sooner = (replace(LEAF, not_before=None, not_after=NOW + days * DAY) for days in (20, 1))
    for one, other in ((soon, sooner), (sooner, soon)):
        judgement = judge(case(observation={"chain": (one,), "other_chains": ((other,),)}))
        (found,) = [each for each in judgement.findings if each.rule == "cert-expiring"]
        assert (found.severity, len(found.observed)) == ("high", 2)
        assert found.message.startswith("certificate expires in 24 hours (")


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


def test_a_certificate_that_is_made_for_a_short_time_is_spoken_of_as_it_is() -> None:
    end = NOW + 20 * DAY
    short = replace(LEAF, not_before=end - 60 * DAY, not_after=end)
    message = judged("cert-expiring", short, days=30).message
    assert message.startswith("certificate expires in 20 days (")
    failing = replace(case(observation={"chain": (short,)}), now=NOW + 10 * DAY)
    assert finding("cert-expiring", failing).expected == (f"valid beyond {NOW + 22 * DAY:%Y-%m-%d %H:%M} UTC",)


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
