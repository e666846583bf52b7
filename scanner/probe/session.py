"""The state that the plans of one endpoint share, and the first offer of each version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

from scanner.model.observation import ALPN, OTHER_EXTENSIONS, WITH_ALPN
from scanner.probe import candidates
from scanner.probe.evidence import Evidence
from scanner.probe.exchange import BAD_LENGTHS, client_hello
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import (
    AT_ONCE,
    PROTOCOL_VERSION,
    Outcome,
    RefusalEvidence,
    ask_contradicted,
    ask_control,
    ask_with_control,
)
from scanner.probe.suite_enumeration import Make, Tally, undecided
from scanner.tls.codepoints import SSL3, TLS12, TLS13
from scanner.tls.names import version_name
from scanner.values import replace

Mode = Literal["inventory", "verdict"]

PART = 32
"""Suites in a hello that every listener accepts: the lowest limit that was observed."""

LEAN_PART = 16
"""The same limit for a hello of under 256 bytes."""

MOST_FORBIDDEN = 16
"""Accepted forbidden suites of a version that a verdict names: each costs a connection, and the first one decides."""

_SAFE = 5 + BAD_LENGTHS.stop + 1
"""A record of this length or more (with its header) was not lengthened to avoid ``BAD_LENGTHS``, so that a server name
lengthens it like any other."""

_STEP = 64
"""Smallest step of padding in bytes, because a lengthened record hides the first few."""


class Question(Struct, frozen=True, kw_only=True):
    """The facts to find out about an endpoint."""

    mode: Mode
    allowed: frozenset[int] = frozenset()
    """Suites whose acceptance is no violation (verdict mode)."""
    min_version: int = TLS12
    """Lowest allowed version (verdict mode)."""
    groups: frozenset[int] | None = None
    """Allowed groups if the verdict depends on them, else None; inventory mode always enumerates them."""
    untrusted_client: bool = False
    """Present an untrusted client certificate."""
    client_requests: bool = False
    """Send HTTP requests to a listener that completes handshakes with clients that it should refuse."""
    cleartext: bool = False
    """Send one request without TLS."""
    plain_port: tuple[int, str] | None = None
    """Another port and path for one request without TLS."""
    authorities: tuple[str, ...] = ()
    """Names of neighbours to send requests for, through a connection for this name and through one for theirs."""
    strays: tuple[str | None, ...] = ()
    """Other server names to try; None: no name."""
    alpn: Literal["never", "last", "always"] = "last"
    """Hellos with ALPN: none, where the transport has none; after the others; or all, for a listener that accepts no
    others."""


class Session(Struct):
    """The state that the plans of one endpoint share."""

    question: Question
    evidence: Evidence
    control: Offer | None = None
    """The longest accepted first offer of a version."""
    widest: int = 0
    """Most suites in an accepted offer: a refusal of fewer suites is not about their number."""
    depth: int = 0
    """Number of suites that the listener is known to read: it selected the last of so many. An accepted offer proves
    less, because some listeners read only the first few."""
    tls13: Offer | None = None
    """An accepted TLS 1.3 offer with one suite, to be appended to others. TLS 1.3 cannot select suites of TLS 1.2 and
    below, so its selection proves that all were read."""
    known: Offer | None = None
    """An accepted offer with one suite of another version."""
    few: bool = False
    """The listener accepts no offer with all groups and signature algorithms."""
    lean: bool = False
    """The listener accepts only short offers."""
    leaned: tuple[int, Reply] | None = None
    """The version of a lean hello of TLS 1.2 or below that was not accepted, and its reply."""
    sorted: set[int] = field(default_factory=set)
    """Versions whose suites are enumerated."""
    alpn: tuple[str, ...] = ()
    """ALPN of the hellos that are sent last."""

    def __post_init__(self) -> None:
        self.alpn = () if self.question.alpn == "never" else ALPN

    @property
    def refusals(self) -> RefusalEvidence:
        return self.evidence.refusals

    @property
    def dead_ends(self) -> frozenset[int]:
        """Suites that the listener selected without continuing."""
        return frozenset().union(*self.evidence.dead_ends.values())

    @property
    def part(self) -> int:
        """Number of suites that a hello may have so that all of them are read."""
        return max(self.depth, LEAN_PART if self.lean else PART)

    @property
    def stop(self) -> frozenset[int]:
        """Suites that need no further answer once one of them is selected."""
        return self.question.allowed if self.question.mode == "verdict" else frozenset()

    @property
    def most(self) -> int | None:
        """Number of accepted forbidden suites of a version after which the others are not asked for."""
        return MOST_FORBIDDEN if self.question.mode == "verdict" else None

    def needs_suites(self, version: int) -> bool:
        """True if the suites of ``version`` matter; of a forbidden version only its support does."""
        return self.question.mode == "inventory" or version >= self.question.min_version

    def tally(self, version: int) -> Tally:
        return self.evidence.suites.setdefault(version, Tally())

    def groups(self, version: int) -> Tally:
        return self.evidence.groups.setdefault(version, Tally())

    def undecided(self, what: str, reply: Reply) -> None:
        """Record why versions are unknown."""
        versions = self.evidence.versions
        versions.unasked = versions.unasked or f"{what}: {undecided(reply)}"

    def accepted(self, offer: Offer, reply: Reply) -> None:
        """Record the first accepted offer of a version."""
        if self.control is None or length(offer) > length(self.control):
            self.control = offer
        self.refusals.selected.update(range(reply.version or 0, offer.version + 1))
        self.widest = max(self.widest, len(offer.suites))
        if reply.version == TLS13 and reply.suite is not None:
            self.tls13 = replace(offer, suites=(reply.suite,))
        elif reply.suite is not None and self.known is None:
            self.known = replace(offer, suites=(reply.suite,), padding=0)
        if reply.suite in offer.suites:
            self.depth = max(self.depth, offer.suites.index(reply.suite) + 1)

    def about_width(self, wide: Reply, narrow: Reply) -> bool:
        """True if the refusal of a wide hello may be caused by its width, because a lean one ended differently."""
        differs = wide.ending_kind not in AT_ONCE and wide.ending_kind != narrow.ending_kind
        if differs:
            self.refusals.doubt(wide)
        return differs

    def refuses_version(self, reply: Reply) -> bool:
        """True if ``reply`` refuses the version, and all below (design rule 7), and not just the suites.

        Only if this listener is known to refuse suites with another alert.
        """
        if reply.ending_kind != PROTOCOL_VERSION:
            return False
        tallies = (*self.evidence.suites.values(), *self.evidence.groups.values())
        words = set[str]().union(*(tally.refused.values() for tally in tallies))
        return bool(words) and PROTOCOL_VERSION not in words


def first_offer(session: Session, version: int) -> Offer:
    """The widest hello of ``version``: forbidden suites first, allowed ones last."""
    codes = _in_order(version, session.stop if session.needs_suites(version) else frozenset())
    alpn = ALPN if session.question.alpn == "always" and version > SSL3 else ()
    groups = candidates.groups(version) if version > SSL3 else ()
    offer = Offer(version_name(version) + (WITH_ALPN if alpn else ""), version, codes, groups, alpn=alpn)
    return lean(offer, few=session.few) if session.lean else sparing(offer) if session.few else offer


@lru_cache(maxsize=64)
def _in_order(version: int, last: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(candidates.suites(version), key=lambda code: code in last))


def sparing(offer: Offer) -> Offer:
    """The offer with few groups and signature algorithms."""
    groups = candidates.LEAN_GROUPS_TLS13 if offer.version == TLS13 else candidates.LEAN_GROUPS
    return replace(offer, groups=groups if offer.version > SSL3 else (), lean=True)


def lean(offer: Offer, *, few: bool = True) -> Offer:
    """The offer with common suites only, up to TLS 1.2 in under 256 bytes. With key shares in TLS 1.3."""
    if offer.version == TLS13:
        return replace(sparing(offer), suites=candidates.LEAN_TLS13, shares="common", padding=0)
    short = replace(offer, suites=candidates.LEAN_SUITES, lean=True, padding=0)
    return sparing(short) if few else short


def in_other_shape(offer: Offer, alpn: tuple[str, ...]) -> Offer:
    """The offer with the extensions of the other shape, up to TLS 1.2 without groups of RFC 7919."""
    groups = tuple(code for code in offer.groups if code not in candidates.FINITE_FIELDS or offer.version == TLS13)
    plain = offer.name.removesuffix(WITH_ALPN).removesuffix(OTHER_EXTENSIONS)
    shaped = replace(offer, groups=groups, shape="other", alpn=alpn)
    return replace(shaped, name=_named(plain, shaped))


def _named(name: str, like: Offer) -> str:
    """The name of an offer with the extensions of ``like``."""
    return name + (OTHER_EXTENSIONS if like.shape == "other" else "") + (WITH_ALPN if like.alpn else "")


def leaner(session: Session, wide: Offer, refusal: Reply) -> Plan[tuple[Offer, Reply]]:
    """Try a lean hello in case ``wide`` was too long. If it is accepted, return the widest accepted one and its
    reply."""
    small = replace(lean(wide), name=f"{wide.name}, lean")
    if refusal.ending_kind in session.refusals.learnt:
        answer, _ = yield from ask_with_control(small, None, session.refusals)
    else:
        answer = yield from ask_control(small, session.refusals, likely=False)
    if not selects(answer, SSL3, wide.version):
        return small, answer
    contradicted = yield from ask_contradicted(wide, refusal, session.refusals)
    if contradicted is not None and selects(contradicted, SSL3, wide.version):
        return wide, contradicted
    if wide.version > SSL3:
        medium = replace(sparing(wide), name=f"{wide.name}, few groups", shares=small.shares)
        reply = yield from ask_control(medium, session.refusals, likely=False)
        if selects(reply, SSL3, wide.version):
            session.few |= wide.version < TLS13
            return medium, reply
        short = replace(lean(wide, few=False), name=f"{wide.name}, few suites", groups=wide.groups)
        reply = yield from ask_control(short, session.refusals, likely=False)
        if selects(reply, SSL3, wide.version):
            small, answer = short, reply
        else:
            session.few |= wide.version < TLS13
    session.lean |= wide.version < TLS13
    return small, answer


def suites_offer(like: Offer, note: str = "") -> Make:
    """A function that makes offers which differ from ``like`` only in their suites."""
    name = _named(f"{version_name(like.version)}{note or ' suites'}", like)

    def make(codes: Sequence[int], room: int) -> Offer:
        return replace(like, name=name, suites=tuple(codes), padding=2 * max(0, room - len(codes)))

    return make


def all_before(suite: Offer, codes: Sequence[int]) -> Offer:
    """An offer of ``codes`` before the one suite of an accepted offer."""
    return replace(suite, name=f"{suite.name}, after all others", suites=(*codes, *suite.suites))


def batched(codes: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(codes[start : start + size]) for start in range(0, len(codes), size)]


def length(offer: Offer) -> int:
    """Length of the record in bytes, without a server name, which adds the same to all offers."""
    return len(client_hello(offer, None, bytes(32)))


def as_long_as(offers: Iterable[Offer], control: Offer) -> Offer:
    """``control``, padded to the length of the longest of ``offers``, with any server name.

    From ``_SAFE`` on a server name lengthens both alike. SSLv3 has no padding: such a control is not changed.
    """
    length_needed = max(_SAFE, *map(length, offers))
    while control.version > SSL3 and (missing := length_needed - length(control)) > 0:
        control = replace(control, name="control, as long", padding=control.padding + max(missing, _STEP))
    return control


def control_for(session: Session, offers: list[Offer]) -> Plan[Offer | None]:
    """An accepted offer at least as long as each of ``offers``, so that their refusal is not about their length."""
    if session.control is None:
        return None
    control = as_long_as(offers, session.control)
    if control is session.control:
        return control if length(control) >= max(map(length, offers)) else None
    reply = yield from ask_control(control, session.refusals)
    return control if reply.accepted else None


def selects(reply: Reply, least: int, most: int) -> bool:
    """True if an offered version was selected; anything else does not answer this hello."""
    return reply.accepted and least <= (reply.version or 0) <= most


def most_doubtful(session: Session, answers: list[Reply]) -> Reply:
    """The weakest proof of several answers: one that proves nothing, else one that may yet be doubted."""
    return min(
        answers, key=lambda answer: (session.refusals.outcome(answer) is Outcome.REFUSED, answer.ending_kind in AT_ONCE)
    )
