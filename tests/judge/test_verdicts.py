from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import rule
from scanner.judge.verdicts import LISTED, Tally, Words, conclude, forbidden, listed, remark
from scanner.model.expectation import Binding
from scanner.model.observation import Answers
from tests.judge.cases import case

CODES = st.integers(0, 15)
SETS = st.frozensets(CODES)
ANSWERS = st.builds(
    Answers,
    accepted=st.lists(CODES, max_size=8).map(tuple),
    refused=SETS,
    unasked=st.sampled_from([None, "the deadline"]),
)
WORDS = Words(passed="fine", failed="wrong", unclear="nobody knows")


@given(answers=ANSWERS, allowed=SETS, known=SETS)
def test_every_forbidden_code_is_accepted_refused_or_unknown_and_never_lost(
    answers: Answers, allowed: frozenset[int], known: frozenset[int]
) -> None:
    split = forbidden(answers, allowed, known)
    assert set(split.accepted) == set(answers.accepted) - allowed
    assert set(split.unknown) == known - allowed - set(answers.accepted) - answers.refused


@given(answers=ANSWERS, allowed=SETS, known=SETS)
def test_unknown_is_never_a_pass(answers: Answers, allowed: frozenset[int], known: frozenset[int]) -> None:
    split = forbidden(answers, allowed, known)
    verdict = Tally(seen=split.accepted, unknown=tuple(map(str, split.unknown))).verdict
    states = {answers.state(code) for code in known - allowed}
    if set(answers.accepted) - allowed:
        assert verdict == "fail"
    elif "unknown" in states:
        assert verdict == "inconclusive"
    else:
        assert verdict == "pass"


def test_accepted_wins_over_refused_of_the_same_code() -> None:
    assert forbidden(Answers(accepted=(1,), refused=frozenset({1})), (), (1,)).accepted == (1,)


@pytest.mark.parametrize(
    ("binding", "status"), [("must-follow", "violation"), ("settling", "converging"), ("not-enforced", "readiness")]
)
def test_a_failure_stays_a_failure_and_its_status_says_whether_it_counts(binding: Binding, status: str) -> None:
    found = conclude(rule("tls-version"), case(expectation={"binding": binding}), Tally(seen=("TLSv1",)), WORDS)
    assert (found.verdict, found.status) == ("fail", status)


def test_a_failure_says_what_could_not_be_told_beside_it() -> None:
    found = conclude(rule("tls-version"), case(), Tally(seen=("TLSv1",), unknown=("SSLv3 (silence)",)), WORDS)
    assert found.message == "wrong"
    assert found.observed == ("TLSv1",)
    assert found.evidence == ("not determined: SSLv3 (silence)",)


def test_an_inconclusive_finding_names_everything_that_is_missing() -> None:
    found = conclude(rule("tls-version"), case(), Tally(unknown=("a", "b")), WORDS)
    assert (found.verdict, found.status, found.message) == ("inconclusive", "not-tested", "nobody knows: a")
    assert found.evidence == ("a", "b")


def test_severity_is_overridden_for_a_failure_only() -> None:
    each = rule("tls-version")
    assert conclude(each, case(), Tally(seen=("x",)), WORDS, severity="critical").severity == "critical"
    assert conclude(each, case(), Tally(), WORDS, severity="critical").severity == each.severity


def test_a_remark_is_informational_and_never_fails() -> None:
    found = remark(rule("tls-version"), "by the way")
    assert (found.verdict, found.status, found.severity) == ("pass", "informational", "info")


def test_lists_that_a_server_decides_on_are_cut_off() -> None:
    assert listed(["a"] * LISTED) == ("a",) * LISTED
    assert listed(["a"] * (LISTED + 3))[-1] == "and 3 more"
    assert len(listed(["a"] * 10_000)) == LISTED + 1
