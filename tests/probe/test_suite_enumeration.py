"""Enumeration by removal, on a server that is three lines long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from scanner.probe.offers import Offer, Reply
from scanner.probe.refusal_evidence import RefusalEvidence
from scanner.probe.suite_enumeration import HALVINGS, Removal, Tally, enumerate_codes, halve, undecided
from scanner.tls.codepoints import TLS12
from tests.probe.scripted import run

ALL = tuple(range(1, 41))
NO = Reply("alert", alert=40)


def make(codes: Sequence[int], room: int) -> Offer:
    return Offer("suites", TLS12, tuple(codes), (), padding=2 * max(0, room - len(codes)))


def yes(code: int, *, done: bool = True) -> Reply:
    return Reply("hello", version=TLS12, suite=code, done=done)


def pick(reply: Reply) -> int | None:
    return reply.suite


def server(
    accepted: Iterable[int], *, reads: int = 1000, most: int = 1000, dead: Iterable[int] = ()
) -> Callable[[Offer], Reply]:
    """Chooses by its own order among the first ``reads``; resets what has more than ``most``."""
    order, ends = tuple(accepted), frozenset(dead)

    def answer(offer: Offer) -> Reply:
        if len(offer.suites) > most:
            return Reply("rst")
        chosen = [code for code in order if code in offer.suites[:reads]]
        return yes(chosen[0], done=chosen[0] not in ends) if chosen else NO

    return answer


def sieved(answer: Callable[[Offer], Reply], stop: Iterable[int] = ()) -> tuple[Tally, list[Offer]]:
    """Everything in ``ALL`` sorted, after a first offer of them all that was accepted."""
    tally = Tally()
    removal = Removal(list(ALL), tally, frozenset(stop))
    first = make(ALL, len(ALL))
    reply = answer(first)
    if reply.accepted:
        removal.take(ALL, pick(reply))
    _, asked = run(enumerate_codes(removal, make, pick, RefusalEvidence(), first, room=len(ALL)), answer)
    return tally, asked


def test_removal_finds_what_is_accepted_and_refuses_the_rest() -> None:
    tally, asked = sieved(server((40, 7, 12)))
    assert tally.accepted == [40, 7, 12]
    assert set(tally.refused) == set(ALL) - {40, 7, 12}
    assert (tally.unasked, tally.complete) == (None, True)
    assert len(asked) == 3


def test_every_offer_is_as_long_as_the_first() -> None:
    _, asked = sieved(server((40, 7, 12)))
    assert {2 * len(offer.suites) + offer.padding for offer in asked} == {2 * len(ALL)}


def test_a_choice_from_the_front_is_followed_by_one_from_the_end() -> None:
    """The refusal of 2 to 40 means nothing as long as only the first suite is known to be read."""
    tally, asked = sieved(server((1,)))
    assert set(tally.refused) == set(ALL) - {1}
    assert [offer.suites[-1] for offer in asked] == [40, 1]


def test_what_is_not_read_is_never_called_refused() -> None:
    tally, _ = sieved(server((1, 30), reads=10))
    assert tally.accepted == [1, 30]
    assert set(tally.refused) == set(ALL) - {1, 30}


def test_long_offers_that_are_reset_are_halved() -> None:
    tally = Tally(accepted=[40])
    removal = Removal(list(range(1, 40)), tally)
    _, asked = run(halve(removal, make, pick, RefusalEvidence(), 40), server((40, 7), most=9))
    assert tally.accepted == [40, 7]
    assert set(tally.refused) == set(range(1, 40)) - {7}
    assert len(asked) < 60


def test_halving_has_an_end() -> None:
    tally = Tally(accepted=[999])
    removal = Removal(list(range(1, 900)), tally)
    _, asked = run(halve(removal, make, pick, RefusalEvidence(), 999), server((999,), most=3))
    assert tally.unasked == "the listener does not accept long offers, and too many short ones would be needed"
    assert len(asked) <= 4 * HALVINGS
    assert set(tally.refused) < set(range(1, 900))


def test_halves_of_equal_length_make_the_pair() -> None:
    _, asked = run(halve(Removal([1, 2, 40], Tally(accepted=[40])), make, pick, RefusalEvidence(), 40), server((40,)))
    assert [offer.suites for offer in asked] == [(1, 2, 40), (1, 2)]
    assert [offer.padding for offer in asked] == [0, 2]


def test_in_a_verdict_the_allowed_need_no_further_answer() -> None:
    tally, asked = sieved(server((40, 39, 38)), stop={38, 39, 40})
    assert tally.accepted == [40]
    assert set(tally.refused) == set(range(1, 38))
    assert len(asked) == 1


def test_dead_ends_are_neither_accepted_nor_refused() -> None:
    tally, _ = sieved(server((40, 7, 12), dead=[7]))
    assert tally.accepted == [40, 12]
    assert set(tally.refused) == set(ALL) - {40, 7, 12}
    assert tally.unasked == "0x0007 was selected, but the handshake was not continued"


def test_dead_ends_in_halves_too() -> None:
    tally = Tally(accepted=[40])
    run(halve(Removal(list(ALL), tally), make, pick, RefusalEvidence(), 40), server((7, 40, 12), most=20, dead=[7]))
    assert tally.accepted == [40, 12]
    assert set(tally.refused) == set(ALL) - {40, 7, 12}


def test_a_choice_that_was_not_offered_ends_the_questions() -> None:
    tally, asked = sieved(lambda offer: yes(99))
    assert tally.unasked == "the listener selected a code that was not offered"
    assert not tally.refused
    assert len(asked) == 1


def test_nothing_accepted_means_nothing_refused() -> None:
    tally, _ = sieved(lambda offer: NO)
    assert not tally.refused
    assert tally.unasked == "no offer was accepted, so a refusal proves nothing"


def test_silence_ends_the_questions_with_its_reason() -> None:
    tally, asked = sieved(lambda offer: yes(40) if 40 in offer.suites else Reply("silence"))
    assert (tally.accepted, tally.refused) == ([40], {})
    assert tally.unasked == "the listener did not answer"
    assert len(asked) == 2


def test_what_proved_nothing_is_returned() -> None:
    answer = Reply("alert", alert=115)
    last, _ = run(
        enumerate_codes(Removal([1], Tally()), make, pick, RefusalEvidence(), make(ALL, 40)), lambda offer: answer
    )
    assert last == answer


def test_a_refusal_that_was_about_the_length_is_unlearnt() -> None:
    tally, refusals = Tally(accepted=[40]), RefusalEvidence()
    answer = server((40,), most=20)
    control = make((40,), 1)
    run(enumerate_codes(Removal(list(range(1, 40)), tally), make, pick, refusals, control), answer)
    assert "rst" not in refusals.learnt
    assert set(tally.refused) == set(range(1, 40))


@pytest.mark.parametrize(
    ("offered", "chosen", "rest", "read"),
    [
        ((1, 2, 3), 3, [1, 2], True),
        ((1, 2, 3), 1, [2, 3], False),
        ((1, 2, 3), 2, [1, 3], False),
        ((2, 3), 3, [1], False),
    ],
)
def test_when_the_rest_was_read(offered: tuple[int, ...], chosen: int, rest: list[int], read: bool) -> None:
    removal = Removal([1, 2, 3], Tally())
    assert removal.take(offered, chosen)
    removal.rest = rest
    assert removal.read_to_the_end is read


def test_other_offers_show_how_far_a_server_reads() -> None:
    assert Removal([1, 2], Tally(), depth=2).read_to_the_end
    assert not Removal([1, 2], Tally(), depth=1).read_to_the_end


def test_only_fair_choices_show_whose_order_decides() -> None:
    removal = Removal([1, 2, 3], Tally())
    removal.take((1, 2, 3), 3, fair=False)
    removal.take((1, 2), 1)
    assert not removal.passed_over
    removal.take((1, 2, 3), 2)
    assert removal.passed_over


@pytest.mark.parametrize("ending", ["silence", "fin", "rst", "hello", "alert", "plaintext", "malformed"])
def test_every_ending_has_its_words(ending: str) -> None:
    reply = Reply(ending, alert=80)  # type: ignore[arg-type]
    assert undecided(reply).startswith("the listener ")


def test_of_a_part_what_leads_nowhere_is_left_out_and_the_rest_is_asked() -> None:
    """Beside the one that is accepted it is not seen."""
    tally = Tally(accepted=[40])
    _, asked = run(
        halve(Removal([1, 7, 12, 40], tally), make, pick, RefusalEvidence(), 40), server((40, 7, 12), dead=[7])
    )
    assert tally.accepted == [40, 12]
    assert set(tally.refused) == {1}
    assert tally.unasked is not None
    assert [offer.suites for offer in asked][:3] == [(1, 7, 12, 40), (1, 7, 12), (1, 12, 40)]


def test_a_part_that_ends_in_silence_is_left_open() -> None:
    answer = server((40,))
    tally = Tally(accepted=[40])
    _, asked = run(
        halve(Removal([1, 2, 40], tally), make, pick, RefusalEvidence(), 40),
        lambda offer: answer(offer) if 40 in offer.suites else Reply("silence"),
    )
    assert (tally.refused, tally.unasked) == ({}, "the listener did not answer")
    assert len(asked) == 3
