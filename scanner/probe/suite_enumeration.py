"""Enumerate suites by removal: offer the rest, remove what was chosen, until the server refuses.

One dimension (the suites of a version, or its groups) is a ``Sieve``. The refusal of the rest proves absence only
beside an accepted offer that the server demonstrably read to the end of that rest (design rule 2): ``sift`` sees to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from scanner.probe.candidates import by_certificate
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import Manner, Outcome, ask_control, ask_soundly

HALVINGS = 48
"""Connections that halving may cost at most, for a listener that does not take long offers."""


def _never(_code: int, _accepted: Collection[int]) -> str | None:
    return None


@dataclass(slots=True)
class Tally:
    """What is known of one dimension of one version; becomes an ``Answers``."""

    accepted: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """Code point to the ending that refused it: taken back if that ending turns out to prove nothing."""
    unasked: str | None = None
    """Why the others are not known."""
    complete: bool = False
    """Whether the questions came to their end; False after a deadline."""
    provisional: bool = False
    """Whether what was refused is yet to be asked again in another order: until then it is not known to be refused."""

    open: Callable[[int, Collection[int]], str | None] | None = None
    """Why the refusal of a code proves nothing beside what is accepted, None if it does; None: each one proves."""

    def refuse(self, codes: Iterable[int], reply: Reply) -> None:
        """All of ``codes`` were refused in the manner of ``reply``."""
        refused = dict.fromkeys(codes, reply.how)
        for code in self.accepted:
            refused.pop(code, None)
        unproven = self.open or _never
        for code in tuple(refused):
            if (why := unproven(code, self.accepted)) is not None:
                del refused[code]
                self.unasked = self.unasked or why
        self.refused.update(refused)


@dataclass(slots=True)
class Choice:
    """One accepted offer: what was offered in which order, and the place of what was chosen."""

    offered: tuple[int, ...]
    place: int
    fair: bool = True
    """Whether everything that could be chosen was on offer beside it, so that the choice shows whose order decides."""


@dataclass(slots=True)
class Sieve:
    """What is left of one dimension, and what was found."""

    rest: list[int]
    tally: Tally
    stop: frozenset[int] = frozenset()
    """As soon as one of these is chosen, the others of them need no answer (verdict mode: what is allowed)."""
    choices: list[Choice] = field(default_factory=list)
    depth: int = 0
    """How many codes the server is known to read, from other offers of the same version and at least this length."""
    refused: tuple[Offer, Reply] | None = None
    """The last offer that was refused, and how."""
    turned: bool = False
    """Whether the pair also asks whose order decides: it ends with all that is accepted, the last found first."""
    both_ways: bool = False
    """Whether it was asked so: where nothing was passed over then, the client's order decides."""
    kind: Callable[[int], object] | None = None
    """Where one of ``stop`` was chosen, only those of its kind need no answer: others may show another certificate."""

    def take(self, offered: Sequence[int], chosen: int | None, *, fair: bool = True) -> bool:
        """Note what was chosen; False when it is not what was offered."""
        if chosen is None or chosen not in offered:
            self.tally.unasked = "the listener selected what was not offered"
            return False
        self.choices.append(Choice(tuple(offered), list(offered).index(chosen), fair))
        if chosen not in self.tally.accepted:
            self.tally.accepted.append(chosen)
        settled = self._settled_by(chosen)
        self.rest = [code for code in self.rest if code not in settled]
        return True

    def _settled_by(self, chosen: int) -> Collection[int]:
        """What need not be offered again, now that ``chosen`` was chosen."""
        if chosen not in self.stop:
            return (chosen,)
        if self.kind is None:
            return self.stop
        kind = self.kind(chosen)
        return {code for code in self.stop if self.kind(code) == kind}

    @property
    def read(self) -> int:
        """How many codes of one offer the server is known to have read: it chose the last of so many."""
        return max((choice.place + 1 for choice in self.choices), default=self.depth)

    @property
    def read_to_the_end(self) -> bool:
        """Whether some accepted offer shows that the server reads past everything that is left."""
        left = set(self.rest) - self.stop
        return len(left) <= self.depth or any(left.issubset(choice.offered[: choice.place]) for choice in self.choices)

    @property
    def passed_over(self) -> bool:
        """Whether the server once passed over something it accepts: its own order decides, not the client's."""
        accepted = set(self.tally.accepted)
        return any(choice.fair and accepted.intersection(choice.offered[: choice.place]) for choice in self.choices)


Make = Callable[[Sequence[int], int], Offer]
"""Codes and how many of them the hello should be as long as -> the offer."""
Pick = Callable[[Reply], int | None]


def sift(
    sieve: Sieve,
    make: Make,
    pick: Pick,
    manner: Manner,
    control: Offer | None,
    room: int = 0,
    *,
    first: Reply | None = None,
) -> Plan[Reply | None]:
    """Offer what is left until it is refused, undecided, or nothing is left. Returns the reply that proved nothing.

    ``control`` is an accepted offer of the same version and extensions; without one no new way to refuse is learnt.
    Every hello is padded to the length that it would have with ``room`` codes (at least one more than are left).
    ``first`` is an answer to the first one that is already at hand.
    """
    room = max(room, len(sieve.rest) + 1)
    last = yield from _until_refused(sieve, make, pick, manner, control, room, first)
    sieve.tally.complete = True
    return last


def _until_refused(
    sieve: Sieve,
    make: Make,
    pick: Pick,
    manner: Manner,
    control: Offer | None,
    room: int,
    first: Reply | None,
) -> Plan[Reply | None]:
    learns = control is not None
    while sieve.rest:
        offered = tuple(sieve.rest)
        offer = make(offered, room)
        reply, outcome = yield from ask_soundly(offer, control, manner, first=first)
        first = None
        if outcome is Outcome.REFUSED:
            sieve.refused = offer, reply
            if (yield from _pair(sieve, make, pick, manner, reply, room)):
                return None
        elif outcome is Outcome.ACCEPTED and sieve.take(offered, pick(reply)):
            control = offer if learns else None
        elif (left := set_aside(sieve, reply, offered, pick)) is not None:
            sieve.rest = left
        else:
            sieve.tally.unasked = sieve.tally.unasked or undecided(reply)
            return reply
    return None


def set_aside(sieve: Sieve, reply: Reply, offered: Sequence[int], pick: Pick) -> list[int] | None:
    """A suite that was selected and then not gone on with is neither accepted nor refused: leave it out.

    Returns what is left of ``offered``, None if that was not so.
    """
    chosen = pick(reply) if reply.ending == "hello" and not reply.accepted else None
    if chosen is None or chosen not in offered:
        return None
    sieve.tally.unasked = f"0x{chosen:04X} was selected, and then the handshake was not gone on with"
    return [code for code in offered if code != chosen]


def _pair(sieve: Sieve, make: Make, pick: Pick, manner: Manner, refusal: Reply, room: int) -> Plan[bool]:
    """The rest was refused: make sure that it was read. Returns whether the sieve is finished."""
    if not sieve.read_to_the_end:
        if not sieve.tally.accepted:
            sieve.tally.unasked = "nothing is accepted beside which a refusal would mean something"
            return True
        known = sieve.tally.accepted[-1]
        last = tuple(reversed(sieve.tally.accepted)) if sieve.turned else (known,)
        offered = (*(code for code in sieve.rest if code not in last), *last)
        reply = yield from ask_control(make(offered, room), manner)
        if not reply.accepted:
            manner.unlearn(refusal)
            yield from halve(sieve, make, pick, manner, known)
            return True
        if not sieve.take(offered, pick(reply)):
            return True
        sieve.both_ways = sieve.turned
        if not sieve.read_to_the_end:
            return False
    sieve.tally.refuse([code for code in sieve.rest if code not in sieve.stop], refusal)
    sieve.rest = []
    return True


def halve(sieve: Sieve, make: Make, pick: Pick, manner: Manner, known: int) -> Plan[None]:
    """The whole rest is too much for this listener: ask it in parts, each beside ``known``, which is accepted.

    A part holds suites for one kind of certificate, so that a listener that chooses its certificate by the first suite
    hides none of them.
    """
    parts = [sieve.rest] if sieve.kind is None else by_certificate(sieve.rest)
    for _ in range(HALVINGS):
        while parts and not parts[-1]:
            parts.pop()
        if not parts:
            return
        part = parts.pop()
        offered = (*(code for code in part if code != known), known)
        mixed = make(offered, len(offered))
        reply = yield from ask_control(mixed, manner)
        if not reply.accepted:
            left = set_aside(sieve, reply, offered, pick)
            parts.extend(_split(sieve, part, reply) if left is None else [left])
        elif not sieve.take(offered, pick(reply)):
            return
        elif pick(reply) != known:
            parts.append([code for code in part if code != pick(reply)])
        else:
            parts.append((yield from _part_alone(sieve, make, pick, manner, mixed)))
    if any(parts):
        sieve.tally.unasked = "the listener does not take long offers, and short ones would be too many"


def _part_alone(sieve: Sieve, make: Make, pick: Pick, manner: Manner, mixed: Offer) -> Plan[list[int]]:
    """The second half of the minimal pair for one part. Returns what of it is still to be asked."""
    offered = tuple(code for code in mixed.suites if code not in sieve.tally.accepted)
    if not offered:
        return []
    reply, outcome = yield from ask_soundly(make(offered, len(mixed.suites)), mixed, manner)
    if outcome is Outcome.REFUSED:
        sieve.tally.refuse(offered, reply)
        return []
    if outcome is Outcome.ACCEPTED:
        chosen = pick(reply)
        return [code for code in offered if code != chosen] if sieve.take(offered, chosen) else []
    left = set_aside(sieve, reply, offered, pick)
    if left is None:
        sieve.tally.unasked = undecided(reply)
    return left or []


def _split(sieve: Sieve, part: Sequence[int], reply: Reply) -> list[list[int]]:
    """Two halves of what was too much; none if that cannot be it."""
    middle = len(part) // 2
    if not middle or reply.ending == "silence":
        sieve.tally.unasked = undecided(reply)
        return []
    return [list(part[:middle]), list(part[middle:])]


def undecided(reply: Reply) -> str:
    """Why ``reply`` proves nothing, for a reader."""
    if reply.how == "alert 115":
        return "the listener knows one of them and asks for a user that we do not have (alert 115)"
    words = {
        "silence": "the listener did not answer",
        "fin": "the listener closed the connection, which it also does to what it accepts",
        "rst": "the listener reset the connection, which it also does to what it accepts",
        "hello": "the listener selected, and then did not go on with the handshake",
        "alert": f"the listener answered with alert {reply.alert}, which proves nothing here",
    }
    return words.get(reply.ending, f"the listener became {reply.ending}")
