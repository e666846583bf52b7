"""The questions that one endpoint is asked, in order. Pure generators: no I/O, no clock, no randomness.

TLS 1.3 first, then the versions below (``descent``), each of which is sorted as soon as it is accepted (``spoken``).
"""

from __future__ import annotations

from dataclasses import replace

from scanner.probe.evidence import Evidence
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import Outcome, ask_contradicted, ask_soundly
from scanner.probe.session import (
    PROTOCOL_VERSION,
    Mode,
    Question,
    Talk,
    control_for,
    first_offer,
    lean,
    leaner,
    most_doubtful,
    selects,
)
from scanner.probe.version_details import spoken
from scanner.probe.version_enumeration import descend
from scanner.tls.codepoints import SSL2, TLS12, TLS13

__all__ = ["MOST_OFFERS", "Mode", "Question", "interrogate"]

GIVE_UP = frozenset({"closed", "filtered", "unreachable", "plaintext", "declined", "unnamed"})
"""Endings of the very first offer after which nothing else is worth asking."""

_ALERT_OF_SSL2 = "\\x15\\x00\\x02"
"""How s2n-tls answers an SSLv2 hello: an alert in a record that claims the version of the hello."""

MOST_OFFERS = 600
"""Connections that one endpoint is worth. Four versions with a hundred suites each stay below; a listener that accepts
whatever it is offered is not asked for ever."""


def interrogate(question: Question, evidence: Evidence) -> Plan[None]:
    """Ask everything that ``question`` needs; what was found lies in ``evidence``, also after an interruption.

    At most ``MOST_OFFERS`` offers.
    """
    plan = _everything(Talk(question, evidence))
    offer = next(plan)
    for _ in range(MOST_OFFERS):
        reply = yield offer
        try:
            offer = plan.send(reply)
        except StopIteration:
            evidence.asked = True
            return
    plan.close()
    evidence.interrupted = f"the listener was not done after {MOST_OFFERS} connections"


def _everything(talk: Talk) -> Plan[None]:
    wide = first_offer(talk, TLS13)
    first = yield wide
    if first.ending in GIVE_UP or (first.ending == "silence" and not (yield from _wakes_up(talk))):
        return
    outcome, last = yield from _tls13(talk, wide, first)
    yield from descend(talk)
    if talk.control is not None and outcome is Outcome.REFUSED:
        talk.evidence.versions.refuse([TLS13], first)
    elif talk.control is not None and outcome is Outcome.UNDECIDED:
        yield from _settle_tls13(talk, wide, last)
    yield from _ssl2(talk)
    talk.evidence.versions.complete = talk.control is not None


def _wakes_up(talk: Talk) -> Plan[bool]:
    """Silence to the first offer: one short hello before the listener is called silent."""
    reply = yield lean(first_offer(talk, TLS12))
    return reply.ending not in ("silence", *GIVE_UP)


# --- TLS 1.3 --------------------------------------------------------------------------------------------------------


def _with_shares(wide: Offer) -> Offer:
    return replace(wide, name=f"{wide.name}, with shares", shares="common")


def _tls13(talk: Talk, wide: Offer, reply: Reply) -> Plan[tuple[Outcome, Reply]]:
    """TLS 1.3: suites and groups, both read off HelloRetryRequests, for which the server signs nothing.

    A listener that does not answer an empty key_share is offered real shares, and then a lean hello, before anything is
    said of the version. Returns also the last answer.
    """
    offer, answers = wide, [reply]
    if not reply.accepted and reply.how != PROTOCOL_VERSION:
        offer = _with_shares(wide)
        answers.append((yield offer))
        if answers[-1].accepted:
            again = yield from ask_contradicted(wide, reply, talk.manner)
            if again is not None:
                offer, answers = wide, [again]
        elif answers[-1].how != PROTOCOL_VERSION and answers[-1].ending != "silence":
            offer, last = yield from leaner(talk, offer, answers[-1])
            answers.append(last)
    if selects(answers[-1], TLS13, TLS13):
        yield from spoken(talk, TLS13, offer, answers[-1])
        return Outcome.ACCEPTED, answers[-1]
    if all(talk.manner.outcome(answer) is Outcome.REFUSED for answer in answers):
        return Outcome.REFUSED, answers[-1]
    return Outcome.UNDECIDED, answers[-1]


def _settle_tls13(talk: Talk, wide: Offer, narrow: Reply) -> Plan[None]:
    """TLS 1.3 was not answered in a way that says no by itself; now there is a control to compare with."""
    offers = [_with_shares(wide), wide]
    control = yield from control_for(talk, offers)
    if control is None:
        talk.evidence.versions.unasked = "TLSv1.3: the listener takes only offers that are shorter than one for it"
        return
    answers: list[Reply] = []
    for offer in offers:
        reply, outcome = yield from ask_soundly(offer, control, talk.manner)
        if outcome is Outcome.ACCEPTED and selects(reply, TLS13, TLS13):
            yield from spoken(talk, TLS13, offer, reply)
            return
        if outcome is not Outcome.REFUSED or talk.about_width(reply, narrow):
            talk.undecided("TLSv1.3", reply)
            return
        answers.append(reply)
    talk.evidence.versions.refuse([TLS13], most_doubtful(talk, answers))


# --- SSLv2 ----------------------------------------------------------------------------------------------------------


def _ssl2(talk: Talk) -> Plan[None]:
    """SSLv2 has a hello of its own, and nobody who does not speak it has a proper way to say so.

    To such a server the hello is not even a record: it sends a TLS alert, which an SSLv2 server would not have, or
    closes; one that takes plaintext on the same port answers as to a bad request. One ending of these is enough
    (docs/decisions/0002-sslv2-refusals.md), unless it is doubtful here.
    """
    reply = yield Offer("SSLv2", SSL2, (), ())
    alert = reply.text.startswith(_ALERT_OF_SSL2)
    if talk.control is not None and (alert or reply.ending in ("alert", "fin", "rst", "plaintext")):
        talk.evidence.versions.refuse([SSL2], reply)
    elif not reply.accepted:
        talk.undecided("SSLv2", reply)
