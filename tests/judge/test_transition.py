"""A listener on its way: what a rollout or an upgrade explains, and what it does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scanner.judge import judge
from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.rule import Case
from scanner.tls.codepoints import SSL3, TLS11, TLS12, TLS13
from scanner.values import replace
from tests.judge.cases import LEAF, NOW, PROFILE, TLS13_SUITES, answers, case

MODERN = Profile(name="test/modern", min_version=TLS13, suites=TLS13_SUITES, groups=PROFILE.groups, source="this test")
NOTHING = replace(PROFILE, name="test/nothing", suites=TLS13_SUITES)


def on_its_way(
    *, alternatives: tuple[Profile, ...] = (), skewed: tuple[Profile, ...] = (), binding: str = "settling"
) -> Case:
    """The listener without fault under Intermediate, which is to be Modern."""
    owed = {"profile": MODERN, "binding": binding, "alternatives": alternatives, "skewed": skewed}
    return case(expectation=owed, endpoint={"host": "a.example"})


def of(rule: str, told: Case) -> Finding:
    return next(each for each in judge(told).findings if each.rule == rule)


def test_what_it_owed_before_is_as_good() -> None:
    told = on_its_way(alternatives=(PROFILE,))
    found = of("tls-version", told)
    assert (found.verdict, found.status) == ("fail", "converging")
    assert (
        found.evidence[-1] == "the profile is being rolled out, and the previous profile (test/intermediate) allows it"
    )
    assert (judge(told).verdict, judge(told).status) == ("fail", "converging")


def test_one_of_several_is_enough() -> None:
    assert of("tls-version", on_its_way(alternatives=(NOTHING, PROFILE))).status == "converging"


def test_what_neither_allows_is_a_violation() -> None:
    found = of("tls-version", on_its_way(alternatives=(NOTHING,)))
    assert (found.verdict, found.status) == ("fail", "violation")
    assert "neither" in found.evidence[-1]


def test_an_alternative_explains_everything_or_nothing() -> None:
    """TLS 1.1 is in neither: then not even TLS 1.2, which the former allows, is excused."""
    told = on_its_way(alternatives=(PROFILE,))
    seen = replace(told.observation, versions=answers((TLS13, TLS12, TLS11)))
    assert of("tls-version", replace(told, observation=seen)).status == "violation"


def test_where_nobody_knows_what_was_before_nobody_can_tell() -> None:
    """Neither excused nor a violation: a scan with it is not complete."""
    found = of("tls-version", on_its_way())
    assert (found.verdict, found.status) == ("inconclusive", "converging")
    assert "the previous profile is unknown" in found.message
    assert (judge(on_its_way()).verdict, judge(on_its_way()).status) == ("inconclusive", "converging")


@pytest.mark.parametrize("alternatives", [(), (NOTHING,)])
def test_no_profile_allows_ssl_whatever_it_was(alternatives: tuple[Profile, ...]) -> None:
    told = on_its_way(alternatives=alternatives)
    seen = replace(told.observation, versions=answers((TLS13, TLS12, SSL3)))
    found = of("tls-version", replace(told, observation=seen))
    assert (found.verdict, found.status) == ("fail", "violation")


def test_what_binds_is_not_excused_by_alternatives() -> None:
    assert of("tls-version", on_its_way(alternatives=(PROFILE,), binding="must-follow")).status == "violation"


@pytest.mark.parametrize("binding", ["must-follow", "settling"])
def test_another_release_in_play_makes_it_inconclusive(binding: str) -> None:
    told = on_its_way(skewed=(PROFILE,), binding=binding, alternatives=(PROFILE,))
    found = of("tls-version", told)
    assert (found.verdict, found.status) == ("inconclusive", "version-skew")
    assert "test/intermediate allows it" in found.evidence[-1]
    assert judge(told).verdict == "inconclusive"


def test_a_release_that_does_not_explain_it_changes_nothing() -> None:
    assert of("tls-version", on_its_way(skewed=(NOTHING,), binding="must-follow")).status == "violation"


def test_a_rollout_explains_no_certificate() -> None:
    told = on_its_way(alternatives=(PROFILE,))
    ended = replace(LEAF, not_after=NOW - timedelta(days=1))
    found = of("cert-expired", replace(told, observation=replace(told.observation, chain=(ended,))))
    assert (found.verdict, found.status) == ("fail", "violation")


def test_what_passes_stays() -> None:
    told = case(expectation={"binding": "settling", "alternatives": (MODERN,), "skewed": (MODERN,)})
    assert judge(told).verdict == "pass"


@pytest.mark.parametrize(("configurable", "verdict"), [(True, "fail"), (False, "pass")])
def test_groups_count_where_the_listener_is_known_to_apply_them(*, configurable: bool, verdict: str) -> None:
    owed = {"profile": replace(PROFILE, groups=(0x001D,)), "groups_configurable": configurable}
    told = case(expectation=owed, policy={"groups": "enforced"})
    found = of("tls-group", told)
    assert found.verdict == verdict
    assert (found.status == "informational") is not configurable
