"""Decide when the way in which an endpoint ends a handshake counts as a refusal (design rule 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from scanner.probe.offers import Offer, Plan, Reply

AT_ONCE = frozenset({"alert 40", "alert 70", "alert 71", "unoffered"})
"""handshake_failure, protocol_version and insufficient_security (RFC 8446, section 6.2) say no by themselves. So does
a ServerHello of a later version than was offered: the server has no earlier one."""

REPEATS = {"alert": 3, "fin": 3, "rst": 5}
"""How often another ending must come again, with an accepted control after each, before it means no. A server that
resets one connection in ten would otherwise pass one time in fourteen."""

NEVER = frozenset({"alert 115"})
"""unknown_psk_identity: the suite is known and only the user is not (RFC 5054, section 2.5.1.3)."""

ACCIDENTS = frozenset({"fin", "rst"})
"""Endings that can befall any connection. Even where they are learnt as this endpoint's way to refuse, one alone does
not count: the same offer has to end so twice in a row."""

CONTROL_TRIES = 3
CONTRADICTED = 2
"""How often an offer is asked again whose refusal something accepted contradicts: a listener that refuses every second
connection answers one of two in a row."""


class Outcome(Enum):
    """What an offer's answer proves."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "undecided"


@dataclass(slots=True)
class Manner:
    """What was learnt of one endpoint's endings; shared by all its plans."""

    learnt: set[str] = field(default_factory=lambda: set(AT_ONCE))
    """Endings that count as refusals."""
    doubtful: set[str] = field(default_factory=set)
    """Endings in which something that is accepted ended at another time: they prove nothing here."""
    lasting: set[str] = field(default_factory=set)
    """Endings that came each time that an offer was tried again: one such answer to a control is enough."""

    def doubt(self, reply: Reply) -> None:
        """An offer that had been accepted ended so."""
        self.doubtful.add(reply.how)

    def unlearn(self, reply: Reply) -> None:
        """What had looked like a refusal may have been about the length of the offer."""
        if reply.how not in AT_ONCE:
            self.learnt.discard(reply.how)

    def outcome(self, reply: Reply) -> Outcome:
        """What ``reply`` proves by itself."""
        if reply.accepted:
            return Outcome.ACCEPTED
        if reply.how in self.learnt and reply.how not in self.doubtful:
            return Outcome.REFUSED
        return Outcome.UNDECIDED

    def repeats(self, reply: Reply) -> int:
        """How often this ending must be seen; 0: never enough."""
        if reply.how in NEVER or reply.how in self.doubtful:
            return 0
        return REPEATS.get(reply.ending, 0)


def ask_control(offer: Offer, manner: Manner, *, likely: bool = True) -> Plan[Reply]:
    """Ask what should be accepted; endings that may be an accident are tried again.

    Returns the last reply. When a later try is accepted, the endings before it become doubtful. Where the offer is not
    ``likely`` to be accepted, an alert is its answer.
    """
    failed: list[Reply] = []
    again = ("fin", "rst", "silence", "alert") if likely else ("fin", "rst", "silence")
    while True:
        reply = yield offer
        if reply.accepted:
            for earlier in failed:
                manner.doubt(earlier)
            return reply
        failed.append(reply)
        if reply.ending not in again or reply.how in manner.lasting:
            return reply
        if len(failed) == CONTROL_TRIES:
            if len({one.how for one in failed}) == 1:
                manner.lasting.add(reply.how)
            return reply


def ask_contradicted(offer: Offer, refusal: Reply, manner: Manner) -> Plan[Reply | None]:
    """Ask again what was refused, now that something was accepted which it holds or resembles.

    Returns the reply that accepted it, whose ``refusal`` proves nothing from there on. None: the offer is refused
    whenever it comes, so that the listener has a reason.
    """
    if refusal.how in manner.lasting or refusal.ending not in ("alert", *ACCIDENTS):
        return None
    for _ in range(CONTRADICTED):
        reply = yield offer
        if reply.accepted:
            manner.doubt(refusal)
            return reply
    return None


def ask_soundly(
    offer: Offer, control: Offer | None, manner: Manner, *, first: Reply | None = None
) -> Plan[tuple[Reply, Outcome]]:
    """Ask ``offer`` so that its refusal means something.

    ``control`` is an offer that this endpoint has accepted; without one, only the alerts that say no by themselves
    count. ``first`` is an answer to ``offer`` that is already at hand.
    """
    reply = first if first is not None else (yield offer)
    outcome = manner.outcome(reply)
    if reply.ending == "silence" and control is not None:  # lost packets happen; a third timeout would not be worth it
        reply = yield offer
        return reply, manner.outcome(reply)
    if outcome is Outcome.REFUSED and reply.ending in ACCIDENTS:
        return (yield from ask_again(offer, manner, reply))
    if outcome is not Outcome.UNDECIDED or control is None:
        return reply, outcome
    return (yield from _repeat(offer, control, manner, reply))


def ask_again(offer: Offer, manner: Manner, reply: Reply) -> Plan[tuple[Reply, Outcome]]:
    """The same offer once more; if it ends otherwise, its first ending was an accident."""
    again = yield offer
    outcome = manner.outcome(again)
    if again.how != reply.how and outcome is not Outcome.UNDECIDED:
        manner.doubt(reply)
    return again, outcome


def _repeat(offer: Offer, control: Offer, manner: Manner, reply: Reply) -> Plan[tuple[Reply, Outcome]]:
    """The same ending again and again, with an accepted control after each, or no conclusion."""
    for seen in range(1, manner.repeats(reply) + 1):
        check = yield control
        if not check.accepted:
            manner.doubt(check)
            return reply, Outcome.UNDECIDED
        if seen == manner.repeats(reply):
            manner.learnt.add(reply.how)
            return reply, Outcome.REFUSED
        again, outcome = yield from ask_again(offer, manner, reply)
        if again.how != reply.how:
            return again, outcome
    return reply, Outcome.UNDECIDED
