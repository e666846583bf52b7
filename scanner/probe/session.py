"""One conversation: the question, what is known of the listener so far, and the first offer of each version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from scanner.probe import candidates
from scanner.probe.converse import BAD_LENGTHS, client_hello
from scanner.probe.evidence import Evidence
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import AT_ONCE, Manner, Outcome, ask_contradicted, ask_control, ask_soundly
from scanner.probe.suite_enumeration import Make, Tally, undecided
from scanner.tls.codepoints import SSL3, TLS12, TLS13
from scanner.tls.names import version_name

Mode = Literal["inventory", "verdict"]

PROTOCOL_VERSION = "alert 70"

PART = 32
"""Suites in a hello that no listener finds too many: the lowest limit that anybody has seen."""

LEAN_PART = 16
"""The same for one of under 256 bytes."""

_SAFE = 5 + BAD_LENGTHS.stop + 1
"""A record of this length or more (with its header) is not one that was lengthened to get it out of ``BAD_LENGTHS``,
so that a server name lengthens it like any other."""

_STEP = 64
"""Bytes of padding that are tried at least, because a record that was lengthened hides the first few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be found out."""

    mode: Mode
    allowed: frozenset[int] = frozenset()
    """Suites whose acceptance is no violation (verdict mode)."""
    min_version: int = TLS12
    """Lowest allowed version (verdict mode)."""
    groups: frozenset[int] | None = None
    """Allowed groups if the verdict depends on them, else None; inventory mode always asks."""
    untrusted_client: bool = False
    """Whether to show a client certificate that nobody trusts."""
    client_requests: bool = False
    """Whether to send requests to a listener that lets in, by TLS, clients that it should refuse."""
    cleartext: bool = False
    """Whether to send one request without TLS."""
    plain_port: tuple[int, str] | None = None
    """The port beside it, and the path, to send one request without TLS to."""
    authorities: tuple[str, ...] = ()
    """Names of neighbours to send requests for, through a connection for this name and through one for theirs."""
    strays: tuple[str | None, ...] = ()
    """Server names to ask for beside the endpoint's own; None: no name at all."""


@dataclass(slots=True)
class Talk:
    """What the plans of one conversation share."""

    question: Question
    evidence: Evidence
    control: Offer | None = None
    """The longest first offer of a version that was accepted."""
    widest: int = 0
    """Most suites in an accepted offer: a refusal of no more than these is not about their number."""
    depth: int = 0
    """How many suites the listener is known to read: it chose the last of so many. An accepted offer alone shows less,
    because some read the first few only."""
    tls13: Offer | None = None
    """An offer of one suite that TLS 1.3 accepted, to put others before: none of TLS 1.2 and below can be chosen there,
    so that the choice shows that all were read."""
    known: Offer | None = None
    """An offer of one suite that another version accepted."""
    few: bool = False
    """The listener takes no offer with all groups and signature algorithms."""
    lean: bool = False
    """The listener takes short offers only."""
    leaned: tuple[int, Reply] | None = None
    """The version of a lean hello of TLS 1.2 or below, and its reply, if it was not accepted."""
    sorted: set[int] = field(default_factory=set)
    """Versions whose suites were gone through."""

    @property
    def manner(self) -> Manner:
        """How the endpoint ends what it does not accept."""
        return self.evidence.manner

    @property
    def dead_ends(self) -> frozenset[int]:
        """Suites that it selected and then did not go on with."""
        return frozenset().union(*self.evidence.dead_ends.values())

    @property
    def part(self) -> int:
        """How many suites may stand in a hello in which all of them are sure to be read."""
        return max(self.depth, LEAN_PART if self.lean else PART)

    @property
    def stop(self) -> frozenset[int]:
        """Suites that need no answer once one of them is chosen."""
        return self.question.allowed if self.question.mode == "verdict" else frozenset()

    def wants(self, version: int) -> bool:
        """Whether the suites of ``version`` matter; of a forbidden version only that it is spoken."""
        return self.question.mode == "inventory" or version >= self.question.min_version

    def tally(self, version: int) -> Tally:
        """The suites of ``version``."""
        return self.evidence.suites.setdefault(version, Tally())

    def groups(self, version: int) -> Tally:
        """The groups of ``version``."""
        return self.evidence.groups.setdefault(version, Tally())

    def undecided(self, what: str, reply: Reply) -> None:
        """Versions of which nothing can be said, and why."""
        versions = self.evidence.versions
        versions.unasked = versions.unasked or f"{what}: {undecided(reply)}"

    def accepted(self, offer: Offer, reply: Reply) -> None:
        """The first offer of a version was accepted."""
        if self.control is None or length(offer) > length(self.control):
            self.control = offer
        self.widest = max(self.widest, len(offer.suites))
        if reply.version == TLS13 and reply.suite is not None:
            self.tls13 = replace(offer, suites=(reply.suite,))
        elif reply.suite is not None and self.known is None:
            self.known = replace(offer, suites=(reply.suite,), padding=0)
        if reply.suite in offer.suites:
            self.depth = max(self.depth, offer.suites.index(reply.suite) + 1)

    def about_width(self, wide: Reply, narrow: Reply) -> bool:
        """Whether the refusal of a wide hello may be about its width, because a lean one ended in another way."""
        differs = wide.how not in AT_ONCE and wide.how != narrow.how
        if differs:
            self.manner.doubt(wide)
        return differs

    def takes_at_its_word(self, reply: Reply) -> bool:
        """Whether ``reply`` refuses the version, and with it all below (design rule 7), and not just the suites.

        Only if this listener is known to refuse suites in other words.
        """
        if reply.how != PROTOCOL_VERSION:
            return False
        tallies = (*self.evidence.suites.values(), *self.evidence.groups.values())
        words = set[str]().union(*(tally.refused.values() for tally in tallies))
        return bool(words) and PROTOCOL_VERSION not in words


def first_offer(talk: Talk, version: int) -> Offer:
    """Everything worth asking in one hello: the forbidden first, the allowed last."""
    codes = _in_order(version, talk.stop if talk.wants(version) else frozenset())
    offer = Offer(version_name(version), version, codes, candidates.groups(version) if version > SSL3 else ())
    return lean(offer, few=talk.few) if talk.lean else sparing(offer) if talk.few else offer


@lru_cache(maxsize=64)
def _in_order(version: int, last: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(candidates.suites(version), key=lambda code: code in last))


def sparing(offer: Offer) -> Offer:
    """The same with few groups and signature algorithms."""
    groups = candidates.LEAN_GROUPS_TLS13 if offer.version == TLS13 else candidates.LEAN_GROUPS
    return replace(offer, groups=groups if offer.version > SSL3 else (), lean=True)


def lean(offer: Offer, *, few: bool = True) -> Offer:
    """The same with common suites only; up to TLS 1.2 in under 256 bytes. With real shares in TLS 1.3."""
    if offer.version == TLS13:
        return replace(sparing(offer), suites=candidates.LEAN_TLS13, shares="common", padding=0)
    short = replace(offer, suites=candidates.LEAN_SUITES, lean=True, padding=0)
    return sparing(short) if few else short


def leaner(talk: Talk, wide: Offer, refusal: Reply) -> Plan[tuple[Offer, Reply]]:
    """A lean hello, in case that ``wide`` was too much, and its reply; if it is accepted, the widest one that is."""
    small = replace(lean(wide), name=f"{wide.name}, lean")
    if refusal.how in talk.manner.learnt:
        answer, _ = yield from ask_soundly(small, None, talk.manner)
    else:
        answer = yield from ask_control(small, talk.manner, likely=False)
    if not selects(answer, SSL3, wide.version):
        return small, answer
    again = yield from ask_contradicted(wide, refusal, talk.manner)
    if again is not None and selects(again, SSL3, wide.version):
        return wide, again
    if wide.version > SSL3:
        medium = replace(sparing(wide), name=f"{wide.name}, few groups", shares=small.shares)
        reply = yield from ask_control(medium, talk.manner, likely=False)
        if selects(reply, SSL3, wide.version):
            talk.few |= wide.version < TLS13
            return medium, reply
        short = replace(lean(wide, few=False), name=f"{wide.name}, few suites", groups=wide.groups)
        reply = yield from ask_control(short, talk.manner, likely=False)
        if selects(reply, SSL3, wide.version):
            small, answer = short, reply
        else:
            talk.few |= wide.version < TLS13
    talk.lean |= wide.version < TLS13
    return small, answer


def suites_offer(like: Offer, note: str = "") -> Make:
    """Offers that differ from ``like`` in their suites only."""
    name = f"{version_name(like.version)}{note or ' suites'}"

    def make(codes: Sequence[int], room: int) -> Offer:
        return replace(like, name=name, suites=tuple(codes), padding=2 * max(0, room - len(codes)))

    return make


def all_before(suite: Offer, codes: Sequence[int]) -> Offer:
    """``codes``, and last the one suite of an offer that is accepted."""
    return replace(suite, name=f"{suite.name}, after all others", suites=(*codes, *suite.suites))


def batched(codes: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """``codes`` in tuples of at most ``size``."""
    return [tuple(codes[start : start + size]) for start in range(0, len(codes), size)]


def length(offer: Offer) -> int:
    """The record's bytes, without a server name: that adds the same to all offers."""
    return len(client_hello(offer, None, bytes(32)))


def as_long_as(offers: Iterable[Offer], control: Offer) -> Offer:
    """``control``, padded if need be to the length of the longest of ``offers``, with any server name.

    From ``_SAFE`` on a server name lengthens both alike. SSLv3 has no padding: such a control stays as it is.
    """
    wanted = max(_SAFE, *map(length, offers))
    while control.version > SSL3 and (missing := wanted - length(control)) > 0:
        control = replace(control, name="control, as long", padding=control.padding + max(missing, _STEP))
    return control


def control_for(talk: Talk, offers: list[Offer]) -> Plan[Offer | None]:
    """An accepted offer that is no shorter than any of ``offers``, so that their refusal is not about their length."""
    if talk.control is None:
        return None
    control = as_long_as(offers, talk.control)
    if control is talk.control:
        return control if length(control) >= max(map(length, offers)) else None
    reply = yield from ask_control(control, talk.manner)
    return control if reply.accepted else None


def selects(reply: Reply, least: int, most: int) -> bool:
    """Whether a version was selected that was on offer; anything else would not be an answer to this hello."""
    return reply.accepted and least <= (reply.version or 0) <= most


def most_doubtful(talk: Talk, answers: list[Reply]) -> Reply:
    """The one of several answers that speaks for all: what proves nothing, else what may yet be doubted."""
    return min(answers, key=lambda answer: (talk.manner.outcome(answer) is Outcome.REFUSED, answer.how in AT_ONCE))
