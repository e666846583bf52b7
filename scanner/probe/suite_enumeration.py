"""Enumerate codes by removal: offer the rest, remove what was selected, until the server refuses.

A ``Removal`` is the state for the suites or the groups of one version. The refusal of the rest proves absence only
beside an accepted offer that the server provably read to the end of that rest (design rule 2), which
``enumerate_codes`` ensures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct, field

from scanner.model.observation import ENOUGH
from scanner.probe.candidates import by_certificate
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import Outcome, RefusalEvidence, ask_control, ask_with_control
from scanner.values import replace

HALVINGS = 48
"""Limit of connections for halving, for a listener that does not accept long offers."""


class Tally(Struct):
    """The known suites or groups of one version; becomes an ``Answers``."""

    accepted: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """Code point to the ending that refused it, which may later prove nothing."""
    unasked: str | None = None
    """Reason why the others are unknown."""
    complete: bool = False
    """The enumeration is complete; False after a deadline."""
    provisional: bool = False
    """Refused codes are not yet repeated in another order and shape, so they are not known to be refused."""

    open: Callable[[int, Collection[int]], str | None] | None = None
    """Reason why the refusal of a code proves nothing beside the accepted ones, or None; None: every refusal counts."""

    def is_enough(self, allowed: Collection[int], most: int | None) -> bool:
        """True if ``most`` codes that are not ``allowed`` were accepted, so that no more are offered."""
        return most is not None and len(set(self.accepted).difference(allowed)) >= most

    def copy(self) -> Tally:
        """Return a copy that can be changed."""
        return replace(self, accepted=[*self.accepted], refused=dict(self.refused))

    def refuse(self, codes: Iterable[int], reply: Reply) -> None:
        """Record that ``codes`` were refused with the ending of ``reply``."""
        refused = dict.fromkeys(codes, reply.ending_kind)
        for code in self.accepted:
            refused.pop(code, None)
        if self.open is not None:
            for code in tuple(refused):
                if (why := self.open(code, self.accepted)) is not None:
                    del refused[code]
                    self.unasked = self.unasked or why
        self.refused.update(refused)


class Choice(Struct):
    """One accepted offer: the offered codes in order, and the position of the selected one."""

    offered: tuple[int, ...]
    place: int
    fair: bool = True
    """All selectable codes were offered, so that the selection shows whose order decides."""


class Removal(Struct):
    """The state of one enumeration: the codes that are left, and the results."""

    rest: list[int]
    tally: Tally
    stop: frozenset[int] = frozenset()
    """Codes that need no answer once one of them is selected (verdict mode: the allowed ones)."""
    choices: list[Choice] = field(default_factory=list)
    depth: int = 0
    """Number of codes that the server is known to read, from other offers of the same version and at least this
    length."""
    refused: tuple[Offer, Reply] | None = None
    """The last refused offer and its reply."""
    turned: bool = False
    """The pair also shows whose order decides: it ends with all accepted codes, the last found first."""
    both_ways: bool = False
    """It was sent so: if nothing was passed over then, the client's order decides."""
    most: int | None = None
    """Accepted codes outside of ``stop`` after which nothing more is offered."""
    kind: Callable[[int], object] | None = None
    """If one of ``stop`` was selected, only those of its kind need no answer: others may have another certificate."""

    def take(self, offered: tuple[int, ...], chosen: int | None, *, fair: bool = True) -> bool:
        """Record the selected code; False if it was not offered."""
        if chosen is None or chosen not in offered:
            self.tally.unasked = "the listener selected a code that was not offered"
            return False
        self.choices.append(Choice(offered, offered.index(chosen), fair))
        if chosen not in self.tally.accepted:
            self.tally.accepted.append(chosen)
        settled = self._settled_by(chosen)
        self.rest = [code for code in self.rest if code not in settled]
        if self.is_enough:
            self.tally.unasked, self.rest = ENOUGH, []
        return True

    @property
    def is_enough(self) -> bool:
        """True if ``most`` codes were accepted."""
        return self.tally.is_enough(self.stop, self.most)

    def _settled_by(self, chosen: int) -> Collection[int]:
        """The codes that need not be offered again after ``chosen`` was selected."""
        if chosen not in self.stop:
            return (chosen,)
        if self.kind is None:
            return self.stop
        kind = self.kind(chosen)
        return {code for code in self.stop if self.kind(code) == kind}

    @property
    def read(self) -> int:
        """Number of codes of one offer that the server is known to have read: it selected the last of so many."""
        return max((choice.place + 1 for choice in self.choices), default=self.depth)

    @property
    def unsettled(self) -> frozenset[int]:
        """The remaining codes that need an answer."""
        return frozenset(self.rest).difference(self.stop)

    @property
    def read_to_the_end(self) -> bool:
        """True if an accepted offer proves that the server reads past all remaining codes."""
        left = self.unsettled
        least = len(left)
        if least <= self.depth:
            return True
        return any(each.place >= least and left.issubset(each.offered[: each.place]) for each in self.choices)

    @property
    def passed_over(self) -> bool:
        """True if the server passed over a code that it accepts: its own order decides, not the client's."""
        accepted = set(self.tally.accepted)
        return any(choice.fair and accepted.intersection(choice.offered[: choice.place]) for choice in self.choices)


Make = Callable[[Sequence[int], int], Offer]
"""Makes an offer of codes, padded to the length of this number of codes."""
Pick = Callable[[Reply], int | None]


def enumerate_codes(
    removal: Removal,
    make: Make,
    pick: Pick,
    refusals: RefusalEvidence,
    control: Offer | None,
    room: int = 0,
    *,
    first: Reply | None = None,
) -> Plan[Reply | None]:
    """Offer the remaining codes until they are refused, undecided, or none is left. Returns the reply that proved
    nothing.

    ``control`` is an accepted offer of the same version and extensions; without one no new ending is learnt as a
    refusal. Every hello is padded to the length for ``room`` codes (at least one more than remain). ``first`` is a
    known answer to the first offer.
    """
    room, learns, last = max(room, len(removal.rest) + 1), control is not None, None
    while removal.rest:
        offered = tuple(removal.rest)
        offer = make(offered, room)
        reply, outcome = yield from ask_with_control(offer, control, refusals, first=first)
        first = None
        if outcome is Outcome.REFUSED:
            removal.refused = offer, reply
            if (yield from _pair(removal, make, pick, refusals, reply, room)):
                break
        elif outcome is Outcome.ACCEPTED and removal.take(offered, pick(reply)):
            control = offer if learns else None
        elif (left := without_dead_end(removal, reply, offered, pick)) is not None:
            removal.rest = left
        else:
            removal.tally.unasked = removal.tally.unasked or undecided(reply)
            last = reply
            break
    removal.tally.complete = True
    return last


def without_dead_end(removal: Removal, reply: Reply, offered: Sequence[int], pick: Pick) -> list[int] | None:
    """Remove a suite that was selected without continuing: it is neither accepted nor refused.

    Returns the remaining codes of ``offered``; None if that was not the case.
    """
    chosen = pick(reply) if reply.ending == "hello" and not reply.accepted else None
    if chosen is None or chosen not in offered:
        return None
    removal.tally.unasked = f"0x{chosen:04X} was selected, but the handshake was not continued"
    return [code for code in offered if code != chosen]


def _pair(removal: Removal, make: Make, pick: Pick, refusals: RefusalEvidence, refusal: Reply, room: int) -> Plan[bool]:
    """Prove that the refused rest was read. True if the enumeration is finished."""
    if not removal.read_to_the_end:
        if not removal.tally.accepted:
            removal.tally.unasked = "no offer was accepted, so a refusal proves nothing"
            return True
        known = removal.tally.accepted[-1]
        last = tuple(reversed(removal.tally.accepted)) if removal.turned else (known,)
        offered = (*(code for code in removal.rest if code not in last), *last)
        reply = yield from ask_control(make(offered, room), refusals)
        if not reply.accepted:
            refusals.unlearn(refusal)
            yield from halve(removal, make, pick, refusals, known)
            return True
        if not removal.take(offered, pick(reply)):
            return True
        removal.both_ways = removal.turned
        if not removal.read_to_the_end:
            return False
    removal.tally.refuse(removal.unsettled, refusal)
    removal.rest = []
    return True


def halve(removal: Removal, make: Make, pick: Pick, refusals: RefusalEvidence, known: int) -> Plan[None]:
    """Offer the rest in parts, each beside the accepted ``known``, to a listener that does not accept the entire rest.

    A part has suites for one certificate type, so that a listener that chooses its certificate by the first suite does
    not hide any.
    """
    parts = [removal.rest] if removal.kind is None else by_certificate(removal.rest)
    for _ in range(HALVINGS):
        while parts and not parts[-1]:
            parts.pop()
        if not parts:
            return
        part = parts.pop()
        offered = (*(code for code in part if code != known), known)
        mixed = make(offered, len(offered))
        reply = yield from ask_control(mixed, refusals)
        if removal.is_enough:
            return
        if not reply.accepted:
            left = without_dead_end(removal, reply, offered, pick)
            parts.extend(_split(removal, part, reply) if left is None else [left])
        elif not removal.take(offered, pick(reply)):
            return
        elif pick(reply) != known:
            parts.append([code for code in part if code != pick(reply)])
        else:
            parts.append((yield from _part_alone(removal, make, pick, refusals, mixed)))
    if any(parts):
        removal.tally.unasked = "the listener does not accept long offers, and too many short ones would be needed"


def _part_alone(removal: Removal, make: Make, pick: Pick, refusals: RefusalEvidence, mixed: Offer) -> Plan[list[int]]:
    """Complete the minimal pair of one part. Returns its codes that are still to be offered."""
    offered = tuple(code for code in mixed.suites if code not in removal.tally.accepted)
    if not offered:
        return []
    reply, outcome = yield from ask_with_control(make(offered, len(mixed.suites)), mixed, refusals)
    if outcome is Outcome.REFUSED:
        removal.tally.refuse(offered, reply)
        return []
    if outcome is Outcome.ACCEPTED:
        chosen = pick(reply)
        return [code for code in offered if code != chosen] if removal.take(offered, chosen) else []
    left = without_dead_end(removal, reply, offered, pick)
    if left is None:
        removal.tally.unasked = undecided(reply)
    return left or []


def _split(removal: Removal, part: Sequence[int], reply: Reply) -> list[list[int]]:
    """Two halves of a part that was too long; none if its length cannot be the cause."""
    middle = len(part) // 2
    if not middle or reply.ending == "silence":
        removal.tally.unasked = undecided(reply)
        return []
    return [list(part[:middle]), list(part[middle:])]


def undecided(reply: Reply) -> str:
    """The reason why ``reply`` proves nothing."""
    if reply.ending_kind == "alert 115":
        return "the listener supports one of them but requires a user name (alert 115)"
    words = {
        "silence": "the listener did not answer",
        "fin": "the listener closed the connection, as it also does for accepted offers",
        "rst": "the listener reset the connection, as it also does for accepted offers",
        "hello": "the listener selected it, but did not continue the handshake",
        "plaintext": "the listener answered without TLS",
        "malformed": "the listener sent a malformed answer",
        "alert": f"the listener answered with alert {reply.alert}, which is not a clear refusal",
    }
    return words.get(reply.ending, f"the connection ended: {reply.ending}")
