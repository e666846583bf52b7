"""Endings that count as refusals."""

from __future__ import annotations

import pytest

from scanner.probe.offers import Offer, Reply
from scanner.probe.refusal_evidence import (
    AT_ONCE,
    CONTRADICTED,
    CONTROL_TRIES,
    Outcome,
    RefusalEvidence,
    ask_contradicted,
    ask_control,
    ask_with_control,
)
from scanner.tls.codepoints import TLS12
from tests.probe.scripted import run, script

OFFER = Offer("offer", TLS12, (0x000A,), ())
CONTROL = Offer("control", TLS12, (0xC02F,), ())
YES = Reply("hello", version=TLS12, suite=0xC02F, done=True)
HALF = Reply("hello", version=TLS12, suite=0x000A)
FIN, RST, SILENCE = Reply("fin"), Reply("rst"), Reply("silence")


def alert(number: int) -> Reply:
    return Reply("alert", alert=number)


def ask(
    *replies: Reply, refusals: RefusalEvidence | None = None, control: Offer | None = CONTROL
) -> tuple[Outcome, list[str], RefusalEvidence]:
    """The outcome, the names of what was offered, and what was learnt."""
    refusals = refusals or RefusalEvidence()
    (_, outcome), asked = run(ask_with_control(OFFER, control, refusals), script(replies))
    return outcome, [offer.name for offer in asked], refusals


@pytest.mark.parametrize("number", [40, 70, 71])
def test_three_alerts_say_no_by_themselves(number: int) -> None:
    assert ask(alert(number))[:2] == (Outcome.REFUSED, ["offer"])
    assert ask(alert(number), control=None)[:2] == (Outcome.REFUSED, ["offer"])


def test_an_accepted_offer_needs_no_control() -> None:
    assert ask(YES)[:2] == (Outcome.ACCEPTED, ["offer"])


@pytest.mark.parametrize(("reply", "times"), [(alert(80), 3), (alert(47), 3), (FIN, 3), (RST, 5)])
def test_other_endings_must_come_again_with_a_control_after_each(reply: Reply, times: int) -> None:
    outcome, asked, refusals = ask(*[reply, YES] * times)
    assert outcome is Outcome.REFUSED
    assert asked == ["offer", "control"] * times
    assert reply.ending_kind in refusals.learnt


@pytest.mark.parametrize("reply", [alert(80), FIN, RST])
def test_a_failed_control_makes_the_ending_doubtful_for_good(reply: Reply) -> None:
    outcome, _, refusals = ask(reply, YES, reply, reply)
    assert outcome is Outcome.UNDECIDED
    assert reply.ending_kind in refusals.doubtful
    assert ask(reply, refusals=refusals)[:2] == (Outcome.UNDECIDED, ["offer"])


@pytest.mark.parametrize(("again", "outcome"), [(YES, Outcome.ACCEPTED), (alert(40), Outcome.REFUSED)])
def test_an_ending_that_does_not_come_again_was_an_accident(again: Reply, outcome: Outcome) -> None:
    seen, asked, refusals = ask(RST, YES, again)
    assert (seen, asked) == (outcome, ["offer", "control", "offer"])
    assert "rst" in refusals.doubtful


@pytest.mark.parametrize("reply", [FIN, RST])
def test_even_when_learnt_one_closed_connection_is_not_enough(reply: Reply) -> None:
    refusals = RefusalEvidence()
    refusals.learnt.add(reply.ending_kind)
    assert ask(reply, reply, refusals=refusals)[:2] == (Outcome.REFUSED, ["offer", "offer"])
    assert ask(reply, YES, refusals=refusals)[:2] == (Outcome.ACCEPTED, ["offer", "offer"])
    assert ask(reply, refusals=refusals)[0] is Outcome.UNDECIDED


def test_a_learnt_alert_counts_at_once() -> None:
    refusals = RefusalEvidence()
    refusals.learnt.add("alert 80")
    assert ask(alert(80), refusals=refusals)[:2] == (Outcome.REFUSED, ["offer"])


def test_silence_never_counts_and_is_asked_again_once() -> None:
    assert ask(SILENCE, SILENCE)[:2] == (Outcome.UNDECIDED, ["offer", "offer"])
    assert ask(SILENCE, YES)[0] is Outcome.ACCEPTED
    assert ask(SILENCE, control=None)[:2] == (Outcome.UNDECIDED, ["offer"])


@pytest.mark.parametrize("reply", [alert(115), HALF, Reply("malformed"), Reply("plaintext"), Reply("closed")])
def test_some_endings_never_mean_no(reply: Reply) -> None:
    outcome, asked, refusals = ask(reply)
    assert (outcome, asked) == (Outcome.UNDECIDED, ["offer"])
    assert refusals.learnt == AT_ONCE


def test_without_a_control_other_endings_prove_nothing() -> None:
    assert ask(FIN, control=None)[:2] == (Outcome.UNDECIDED, ["offer"])


def test_an_answer_at_hand_is_not_asked_for_again() -> None:
    (_, outcome), asked = run(ask_with_control(OFFER, CONTROL, RefusalEvidence(), first=alert(40)), script([]))
    assert (outcome, asked) == (Outcome.REFUSED, [])


def test_what_was_learnt_can_be_unlearnt_but_for_the_three_alerts() -> None:
    refusals = RefusalEvidence(learnt={*AT_ONCE, "rst"})
    refusals.unlearn(RST)
    refusals.unlearn(alert(40))
    assert refusals.learnt == AT_ONCE


def test_a_control_is_tried_again_after_what_may_be_an_accident() -> None:
    refusals = RefusalEvidence()
    reply, asked = run(ask_control(CONTROL, refusals), script([FIN, RST, YES]))
    assert (reply, len(asked)) == (YES, 3)
    assert refusals.doubtful == {"fin", "rst"}


def test_a_control_is_given_up_and_doubts_nothing_then() -> None:
    refusals = RefusalEvidence()
    reply, asked = run(ask_control(CONTROL, refusals), script([RST] * CONTROL_TRIES))
    assert (reply, len(asked)) == (RST, CONTROL_TRIES)
    assert not refusals.doubtful
    assert run(ask_control(CONTROL, refusals, likely=False), script([alert(40)]))[0] == alert(40)


def test_an_alert_to_a_control_is_tried_again_and_refuses_nothing_any_more() -> None:
    refusals = RefusalEvidence()
    assert refusals.outcome(alert(40)) is Outcome.REFUSED
    reply, asked = run(ask_control(CONTROL, refusals), script([alert(40), YES]))
    assert (reply, len(asked)) == (YES, 2)
    assert refusals.outcome(alert(40)) is Outcome.UNDECIDED


def test_an_ending_that_came_each_time_is_not_tried_again() -> None:
    refusals = RefusalEvidence()
    run(ask_control(CONTROL, refusals), script([RST] * CONTROL_TRIES))
    assert run(ask_control(CONTROL, refusals), script([RST]))[0] == RST
    assert run(ask_control(CONTROL, refusals), script([FIN, YES]))[0] == YES


@pytest.mark.parametrize("reply", [alert(40), alert(80), FIN, RST])
def test_what_something_accepted_contradicts_is_asked_twice_more(reply: Reply) -> None:
    refusals = RefusalEvidence()
    again, asked = run(ask_contradicted(OFFER, reply, refusals), script([reply, YES]))
    assert (again, len(asked)) == (YES, 2)
    assert reply.ending_kind in refusals.doubtful
    refusals = RefusalEvidence()
    again, asked = run(ask_contradicted(OFFER, reply, refusals), script([reply] * CONTRADICTED))
    assert (again, len(asked), refusals.doubtful) == (None, CONTRADICTED, set())


@pytest.mark.parametrize("reply", [SILENCE, HALF, Reply("malformed"), Reply("plaintext"), Reply("closed")])
def test_what_is_no_refusal_is_not_asked_again_when_it_is_contradicted(reply: Reply) -> None:
    assert run(ask_contradicted(OFFER, reply, RefusalEvidence()), script([])) == (None, [])
