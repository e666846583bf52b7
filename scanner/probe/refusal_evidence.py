"""Decide when an ending of a handshake counts as a refusal (design rule 6)."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field
from msgspec.structs import astuple

from scanner.probe.offers import CLOSES, Offer, Plan, Reply

AT_ONCE = frozenset({"alert 40", "alert 70", "alert 71", "unoffered"})
"""Endings that refuse by themselves: handshake_failure, protocol_version and insufficient_security (RFC 8446, section
6.2), and a ServerHello of a later version than was offered: the server has no earlier one."""

PROTOCOL_VERSION = "alert 70"
"""Refuses a version, and no suites: no answer to a hello of a version that the listener has just selected."""

REPEATS = {"alert": 3, "fin": 3, "rst": 5}
"""Number of times that another ending must be observed, with an accepted control after each, to count as a refusal. A
server that resets one connection in ten would otherwise pass one time in fourteen."""

NEVER = frozenset({"alert 115"})
"""Endings that never refuse: for unknown_psk_identity the suite is supported and only the user unknown (RFC 5054,
section 2.5.1.3)."""

CONTROL_TRIES = 3
CONTRADICTED = 2
"""Number of times that a refused offer is repeated if something accepted contradicts it: a listener that refuses every
second connection answers one of two in a row."""


class Outcome(Enum):
    """The conclusion from an offer's answer."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "undecided"


class RefusalEvidence(Struct):
    """The known meaning of one endpoint's endings; shared by all its plans."""

    learnt: set[str] = field(default_factory=lambda: set(AT_ONCE))
    """Endings that count as refusals."""
    doubtful: set[str] = field(default_factory=set)
    """Endings that prove nothing, because an accepted offer once ended so."""
    lasting: set[str] = field(default_factory=set)
    """Endings that were the same each time that an offer was repeated: one such answer to a control is enough."""
    repeated: set[str] = field(default_factory=set)
    """Endings that were learnt by repetition."""
    selected: set[int] = field(default_factory=set)
    """Versions of hellos that were accepted."""

    def copy(self) -> RefusalEvidence:
        """Return a copy that can be changed."""
        return RefusalEvidence(*(set(part) for part in astuple(self)))

    def doubt(self, reply: Reply) -> None:
        """Record that an accepted offer once ended like ``reply``."""
        self.doubtful.add(reply.ending_kind)

    def unlearn(self, reply: Reply) -> None:
        """Forget an ending as a refusal: it may have been about the length of the offer."""
        if reply.ending_kind not in AT_ONCE:
            self.learnt.discard(reply.ending_kind)

    def outcome(self, reply: Reply, version: int = 0) -> Outcome:
        """The conclusion from ``reply`` alone, to an offer of ``version``."""
        kind = reply.ending_kind
        if reply.accepted:
            return Outcome.ACCEPTED
        if kind == PROTOCOL_VERSION and version in self.selected and kind not in self.repeated:
            return Outcome.UNDECIDED
        if kind in self.learnt and kind not in self.doubtful:
            return Outcome.REFUSED
        return Outcome.UNDECIDED

    def repeats(self, reply: Reply) -> int:
        """Number of times that this ending must be observed; 0: it never proves a refusal."""
        if reply.ending_kind in NEVER or reply.ending_kind in self.doubtful:
            return 0
        return REPEATS.get(reply.ending, 0)


def ask_control(offer: Offer, refusals: RefusalEvidence, *, likely: bool = True) -> Plan[Reply]:
    """Send an offer that should be accepted; repeat it if the ending may be an accident.

    Returns the last reply. If a later try is accepted, the endings before it become doubtful. If the offer is not
    ``likely`` to be accepted, an alert is not repeated.
    """
    failed: list[Reply] = []
    repeated_endings = ("fin", "rst", "silence", "alert") if likely else ("fin", "rst", "silence")
    while True:
        reply = yield offer
        if reply.accepted:
            for earlier in failed:
                refusals.doubt(earlier)
            return reply
        failed.append(reply)
        if reply.ending not in repeated_endings or reply.ending_kind in refusals.lasting:
            return reply
        if len(failed) == CONTROL_TRIES:
            if len({one.ending_kind for one in failed}) == 1:
                refusals.lasting.add(reply.ending_kind)
            return reply


def ask_contradicted(offer: Offer, refusal: Reply, refusals: RefusalEvidence) -> Plan[Reply | None]:
    """Repeat a refused offer after something was accepted that it contains or resembles.

    Returns the reply that accepted it; its ``refusal`` then proves nothing. None: the offer is refused again.
    """
    if refusal.ending_kind in refusals.lasting or refusal.ending not in ("alert", *CLOSES):
        return None
    for _ in range(CONTRADICTED):
        reply = yield offer
        if reply.accepted:
            refusals.doubt(refusal)
            return reply
    return None


def ask_with_control(
    offer: Offer, control: Offer | None, refusals: RefusalEvidence, *, first: Reply | None = None
) -> Plan[tuple[Reply, Outcome]]:
    """Send ``offer`` in such a way that its refusal is proven.

    ``control`` is an offer that this endpoint has accepted; without one, only ``AT_ONCE`` counts. ``first`` is a known
    answer to ``offer``.
    """
    reply = first if first is not None else (yield offer)
    outcome = refusals.outcome(reply, offer.version)
    if reply.ending == "silence" and control is not None:  # packets get lost; a third try would take too long
        reply = yield offer
        return reply, refusals.outcome(reply, offer.version)
    if outcome is Outcome.REFUSED and reply.ending in CLOSES:
        return (yield from repeat_offer(offer, refusals, reply))
    if outcome is not Outcome.UNDECIDED or control is None:
        return reply, outcome
    return (yield from _repeat(offer, control, refusals, reply))


def repeat_offer(offer: Offer, refusals: RefusalEvidence, reply: Reply) -> Plan[tuple[Reply, Outcome]]:
    """Repeat an offer; if it ends differently, its first ending was an accident."""
    repeated = yield offer
    outcome = refusals.outcome(repeated, offer.version)
    if repeated.ending_kind != reply.ending_kind and outcome is not Outcome.UNDECIDED:
        refusals.doubt(reply)
    return repeated, outcome


def _repeat(offer: Offer, control: Offer, refusals: RefusalEvidence, reply: Reply) -> Plan[tuple[Reply, Outcome]]:
    """Repeat the offer, with an accepted control after each; no conclusion if the endings differ."""
    for seen in range(1, refusals.repeats(reply) + 1):
        check = yield control
        if not check.accepted:
            refusals.doubt(check)
            return reply, Outcome.UNDECIDED
        if seen == refusals.repeats(reply):
            refusals.learnt.add(reply.ending_kind)
            refusals.repeated.add(reply.ending_kind)
            return reply, Outcome.REFUSED
        retried, outcome = yield from repeat_offer(offer, refusals, reply)
        if retried.ending_kind != reply.ending_kind:
            return retried, outcome
    return reply, Outcome.UNDECIDED
