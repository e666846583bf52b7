from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import rule
from scanner.judge.verdicts import LISTED, Tally, Words, conclude, forbidden, listed, remark
from scanner.model.expectation import Binding
from scanner.model.finding import Finding
from scanner.model.observation import Answers
from scanner.values import replace
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


def test_a_finding_has_what_its_verdict_needs() -> None:
    """Only a failure has another severity, what was observed, a fix and how to reproduce it."""

    def found(**tally: tuple[str, ...]) -> Finding:
        return conclude(
            rule("tls-version"), case(), Tally(**tally), WORDS, severity="critical", expected=["TLSv1.2"], fix="set it",
            reproduce="adhere ask", evidence=["asked"],
        )  # fmt: skip

    passed = Finding(
        rule="tls-version", severity="high", verdict="pass", status="ok", message="fine", expected=("TLSv1.2",),
        evidence=("asked",),
    )  # fmt: skip
    assert found() == passed
    assert found(unknown=("a", "b")) == replace(
        passed, verdict="inconclusive", status="not-tested", message="nobody knows: a", evidence=("a", "b")
    )
    assert found(seen=("x",), unknown=("a",)) == replace(
        passed, severity="critical", verdict="fail", status="violation", message="wrong", observed=("x",),
        fix="set it", reproduce="adhere ask", evidence=("asked", "not determined: a"),
    )  # fmt: skip


def test_a_remark_is_informational_and_never_fails() -> None:
    said = Finding(rule="tls-version", severity="info", verdict="pass", status="informational", message="by the way")
    assert remark(rule("tls-version"), "by the way") == said
    more = replace(said, verdict="not_applicable", observed=("a",))
    assert remark(rule("tls-version"), "by the way", verdict="not_applicable", observed=["a"]) == more


def test_lists_that_a_server_decides_on_are_cut_off() -> None:
    assert listed(["a"] * LISTED) == ("a",) * LISTED
    assert listed(["a"] * (LISTED + 3)) == (*("a",) * LISTED, "and 3 more")
