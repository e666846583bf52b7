"""The questions that one endpoint is asked, in order. Pure generators: no I/O, no clock, no randomness.

From TLS 1.3 downwards, each version gets one hello with everything that is worth asking. In verdict mode the forbidden
stand first and the allowed last; as soon as an allowed suite is chosen only the forbidden are offered again, and their
refusal completes the minimal pair. In inventory mode nothing stops the removal but a refusal. Below the lowest version
that anybody speaks a single refusal with protocol_version ends the descent (design rule 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scanner.model.known import Unknown
from scanner.probe import candidates
from scanner.probe.evidence import Evidence
from scanner.probe.manner import Manner, Outcome, ask_control, ask_soundly
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.sieve import Make, Sieve, Tally, halve, sift, undecided
from scanner.tls.codepoints import SSL2, SSL3, TLS12, TLS13
from scanner.tls.names import authentication, key_exchange, version_name

Mode = Literal["inventory", "verdict"]

PROTOCOL_VERSION = "alert 70"
GIVE_UP = frozenset({"closed", "filtered", "unreachable", "plaintext"})
"""Endings of the very first offer after which nothing else is worth asking."""

PART = 32
"""Suites in a hello that no listener finds too long."""

VERDICT_ONLY = "verdict mode asks only for what is forbidden"


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


@dataclass(slots=True)
class Talk:
    """One conversation: the question, what was found, and an offer that is known to be accepted."""

    question: Question
    evidence: Evidence
    control: Offer | None = None
    widest: int = 0
    """Most suites in an offer that was accepted: a refusal of no more than these is not about the length."""
    lean: bool = False
    """The listener takes short offers only."""

    @property
    def manner(self) -> Manner:
        """How the endpoint ends what it does not accept."""
        return self.evidence.manner

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


def interrogate(question: Question, evidence: Evidence) -> Plan[None]:
    """Ask everything that ``question`` needs; what was found lies in ``evidence``, also after an interruption."""
    talk = Talk(question, evidence)
    wide = _first_offer(talk, TLS13)
    first = yield wide
    if first.ending in GIVE_UP or (first.ending == "silence" and not (yield from _wakes_up(talk))):
        return
    settled = yield from _tls13(talk, wide, first)
    yield from _descend(talk)
    if not settled and talk.control is not None:
        yield from _settle_tls13(talk, first)
    if evidence.versions.accepted:
        yield from _ssl2(talk)
        evidence.versions.complete = True


def _wakes_up(talk: Talk) -> Plan[bool]:
    """Silence to the first offer: one short hello before the listener is called silent."""
    offer = _lean(_first_offer(talk, TLS12))
    reply = yield offer
    if reply.accepted:
        talk.control = offer
    return reply.ending not in ("silence", *GIVE_UP)


# --- TLS 1.3 --------------------------------------------------------------------------------------------------------


def _tls13(talk: Talk, wide: Offer, reply: Reply) -> Plan[bool]:
    """TLS 1.3: suites and groups, both read off HelloRetryRequests, for which the server signs nothing.

    Returns whether it is settled that the version is spoken or refused.
    """
    offer = wide
    if not reply.accepted and reply.how != PROTOCOL_VERSION:
        short = replace(_lean(wide), name=f"{wide.name}, short", shares="common")
        again = yield short
        if again.accepted:
            offer = replace(wide, name=f"{wide.name}, with a share", shares="common")
            reply = yield offer
            if not reply.accepted:
                offer, reply = short, again
    if reply.accepted:
        yield from _spoken(talk, TLS13, offer, reply)
        return True
    if talk.manner.outcome(reply) is Outcome.REFUSED:
        talk.evidence.versions.refuse([TLS13], reply)
        return True
    return False


def _settle_tls13(talk: Talk, first: Reply) -> Plan[None]:
    """TLS 1.3 was not answered in a way that says no by itself; now there is a control to compare with."""
    for offer in (_lean(_first_offer(talk, TLS13)), _first_offer(talk, TLS13)):
        reply, outcome = yield from ask_soundly(offer, talk.control, talk.manner)
        if outcome is Outcome.ACCEPTED:
            yield from _spoken(talk, TLS13, offer, reply)
            return
        if outcome is not Outcome.REFUSED:
            talk.undecided("TLSv1.3", first)
            return
    talk.evidence.versions.refuse([TLS13], reply)


# --- TLS 1.2 and below ----------------------------------------------------------------------------------------------


def _descend(talk: Talk) -> Plan[None]:
    """From TLS 1.2 down to SSLv3: each hello names the highest version that is not yet settled."""
    version = TLS12
    while version >= SSL3:
        offer, reply, outcome = yield from _open(talk, version)
        if outcome is Outcome.ACCEPTED:
            spoken = min(reply.version or version, version)
            talk.evidence.versions.refuse(range(spoken + 1, version + 1), reply)
            yield from _spoken(talk, spoken, offer, reply)
            version = spoken - 1
        else:
            if outcome is Outcome.REFUSED:
                talk.evidence.versions.refuse(range(SSL3, version + 1), reply)
            else:
                talk.undecided(f"{version_name(version)} and below", reply)
            return


def _open(talk: Talk, version: int) -> Plan[tuple[Offer, Reply, Outcome]]:
    """The first hello of ``version``, and whatever it takes to make its refusal mean something.

    Only protocol_version speaks for what was not in the hello (design rule 7). Any other refusal has to be repeated
    by a short hello, by the suites that travel apart and by an SSLv3 hello without extensions.
    """
    offer = _first_offer(talk, version)
    reply = yield offer
    if not reply.accepted and reply.how != PROTOCOL_VERSION and len(offer.suites) > talk.widest:
        short = replace(_lean(offer), name=f"{offer.name}, short")
        again = yield from ask_control(short, talk.manner)
        if again.accepted:
            talk.lean = True
            return short, again, Outcome.ACCEPTED
        if again.how == PROTOCOL_VERSION:
            reply = again
    if reply.accepted or reply.how == PROTOCOL_VERSION:
        return offer, reply, Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED
    for rest in _rest_of_version(talk, offer):
        answer, outcome = yield from ask_soundly(rest, talk.control, talk.manner)
        if outcome is not Outcome.REFUSED or answer.how == PROTOCOL_VERSION:
            return rest, answer, outcome
    return offer, reply, Outcome.REFUSED if talk.control is not None else Outcome.UNDECIDED


def _rest_of_version(talk: Talk, offer: Offer) -> list[Offer]:
    """What must be refused too before a version is called refused: everything, in hellos that are not too long."""
    fits = len(offer.suites) <= talk.widest
    version = offer.version
    apart = Offer(f"{version_name(version)} with credentials", version, candidates.credential_suites(version), ())
    bare = Offer("SSLv3", SSL3, candidates.suites(SSL3), ())
    if fits:
        offers = [offer, replace(apart, groups=offer.groups), bare]
    else:
        codes = candidates.suites(version)
        offers = [replace(_lean(offer), suites=part) for part in batched(codes, PART)]
        offers += [replace(_lean(apart), suites=part) for part in batched(apart.suites, PART)]
        offers += [replace(_lean(bare), suites=part) for part in batched(bare.suites, PART)]
    return offers if version > SSL3 else [one for one in offers if one.name != bare.name]


def _ssl2(talk: Talk) -> Plan[None]:
    """SSLv2 has a hello of its own, and nobody who does not speak it has a proper way to say so.

    To such a server the hello is not even a record: it sends a TLS alert, which an SSLv2 server would not have, or
    closes. One ending of these is enough (docs/decisions/0002-sslv2-refusals.md), unless it is doubtful here.
    """
    reply = yield Offer("SSLv2", SSL2, (), ())
    if reply.ending in ("alert", "fin", "rst"):
        talk.evidence.versions.refuse([SSL2], reply)
    elif not reply.accepted:
        talk.undecided("SSLv2", reply)


# --- one version that is spoken -------------------------------------------------------------------------------------


def _spoken(talk: Talk, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """``version`` was accepted: sort its suites, and its groups where they are asked for."""
    talk.control = talk.control or offer
    talk.widest = max(talk.widest, len(offer.suites))
    tally = talk.tally(version)
    if not talk.wants(version):
        tally.unasked = "the version itself is forbidden"
        return
    sieve = Sieve(list(offer.suites), tally, _stop(talk))
    if not sieve.take(offer.suites, reply.suite):
        return
    make = _suites_offer(version, offer)
    if offer.lean:
        yield from _in_parts(talk, version, offer, sieve, make)
    elif talk.question.mode == "inventory":
        sieve.rest = candidates.fitting_last(sieve.rest, reply.suite or 0)
        yield from _inventory(talk, version, offer, reply, sieve, make)
    else:
        yield from sift(sieve, make, _suite, talk.manner, offer, room=len(offer.suites))
        tally.unasked = tally.unasked or VERDICT_ONLY
        yield from _verdict_groups(talk, version, offer, reply)
    yield from _credentials(talk, version, offer, sieve)


def _in_parts(talk: Talk, version: int, offer: Offer, sieve: Sieve, make: Make) -> Plan[None]:
    """Everything in short offers, for a listener that takes no others."""
    left = {*candidates.suites(version)} - {*offer.suites} | {*sieve.rest}
    parts = replace(sieve, rest=candidates.by_likelihood(left))
    yield from halve(parts, make, _suite, talk.manner, sieve.tally.accepted[-1])
    sieve.tally.complete = True
    talk.groups(version).unasked = "the listener does not take long offers"


def _credentials(talk: Talk, version: int, offer: Offer, sieve: Sieve) -> Plan[None]:
    """Suites for SRP, PSK and Kerberos in a hello of their own, as long as the one that was accepted."""
    left = list(candidates.credential_suites(version))
    if not left:
        return
    depth = max((choice.place for choice in sieve.choices), default=0)
    make = _suites_offer(version, offer, note=" with credentials")
    room = len(offer.suites)
    before = talk.tally(version).unasked
    for part in (left, [code for code in left if not key_exchange(code).startswith("SRP")]):
        talk.tally(version).unasked = before
        apart = Sieve(part, talk.tally(version), depth=depth)
        yield from sift(apart, make, _suite, talk.manner, offer, room=room)
        if "alert 115" not in (talk.tally(version).unasked or ""):
            break
    if len(part) < len(left):
        talk.tally(version).unasked = "SRP suites: the listener asks for a user that we do not have (alert 115)"


# --- inventory ------------------------------------------------------------------------------------------------------


def _inventory(talk: Talk, version: int, offer: Offer, reply: Reply, sieve: Sieve, make: Make) -> Plan[None]:
    """All suites and groups. While both go on, one hello asks for the next of each."""
    manner = talk.manner
    groups = Sieve(list(offer.groups), talk.groups(version))
    note_group(groups, offer.groups, reply)
    refused: Reply | None = None
    while sieve.rest and groups.rest and reply.accepted and not _exhausted(version, sieve.tally):
        asked = replace(make(tuple(sieve.rest), len(offer.suites)), groups=tuple(groups.rest))
        asked = replace(asked, padding=asked.padding + 2 * (len(offer.groups) - len(asked.groups)))
        reply = yield asked
        if not reply.accepted or not sieve.take(asked.suites, reply.suite):
            refused = reply
            break
        note_group(groups, asked.groups, reply)
    if refused is None or refused.ending != "silence":
        yield from sift(sieve, make, _suite, manner, offer, room=len(offer.suites))
        yield from _preference(talk, version, sieve, make)
    else:
        sieve.tally.unasked = undecided(refused)
    yield from _groups(talk, version, offer, groups)


def _exhausted(version: int, tally: Tally) -> bool:
    """Whether the likely TLS 1.3 suites are all found, so that the next refusal will be about the suites."""
    return version == TLS13 and {0x1301, 0x1302, 0x1303} <= set(tally.accepted)


def note_group(groups: Sieve, offered: Sequence[int], reply: Reply) -> None:
    """Take the group out that was chosen, where taking it out cannot change which suites are accepted.

    Up to TLS 1.2 an ECDSA certificate's curve must stay in the offer (RFC 8422, section 5.1), so only RSA
    suites count.
    """
    if reply.group is None:
        return
    if reply.version == TLS13 or _signs_with_rsa(reply.suite):
        groups.take(offered, reply.group)


def _signs_with_rsa(suite: int | None) -> bool:
    return suite is not None and key_exchange(suite) == "ECDHE" and authentication(suite) == "RSA"


def _groups(talk: Talk, version: int, offer: Offer, groups: Sieve) -> Plan[None]:
    """What is left of the groups, offered with all accepted suites for which a refusal means something."""
    tally = talk.groups(version)
    if offer.shares != "empty":
        tally.unasked = "the listener answers no empty key_share, so it does not name its groups"
        return
    accepted = talk.tally(version).accepted
    usable = [code for code in accepted if version == TLS13 or _signs_with_rsa(code)]
    if not usable:
        tally.unasked = "groups of TLS 1.2 and below are concluded only from ECDHE suites with an RSA certificate"
        return
    control = replace(offer, suites=tuple(usable), name=f"{version_name(version)} groups, control")

    def make(codes: Sequence[int], room: int) -> Offer:
        padding = 2 * (room - len(codes))
        return replace(control, groups=tuple(codes), padding=padding, name=f"{version_name(version)} groups")

    yield from sift(groups, make, _group, talk.manner, replace(control, padding=0), room=len(offer.groups))


def _verdict_groups(talk: Talk, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """In verdict mode groups are asked for only if the verdict depends on them."""
    if talk.question.mode == "inventory":
        return
    if talk.question.groups is None:
        talk.groups(version).unasked = "verdict mode asks for groups only if the policy enforces them"
        return
    rest = sorted(offer.groups, key=lambda code: code in (talk.question.groups or ()))
    groups = Sieve(rest, talk.groups(version), talk.question.groups)
    first = replace(offer, suites=tuple(talk.tally(version).accepted), groups=tuple(rest))
    note_group(groups, offer.groups, reply)
    groups.choices.clear()  # the order of that offer was another
    yield from _groups(talk, version, first, groups)


def _preference(talk: Talk, version: int, sieve: Sieve, make: Make) -> Plan[None]:
    """Whose order decides. Free where the server has passed over something that it accepts."""
    accepted = candidates.by_likelihood(sieve.tally.accepted)
    if len(accepted) < 2:
        talk.evidence.preference[version] = Unknown("fewer than two suites are accepted")
    elif sieve.passed_over:
        talk.evidence.preference[version] = "server"
    else:
        reply = yield from ask_control(make(tuple(reversed(accepted)), len(accepted)), talk.manner)
        if reply.accepted:
            first = reply.suite == accepted[-1]
            talk.evidence.preference[version] = "client" if first else "server"
        else:
            talk.evidence.preference[version] = Unknown(undecided(reply))


# --- offers ---------------------------------------------------------------------------------------------------------


def _first_offer(talk: Talk, version: int) -> Offer:
    """Everything worth asking in one hello: the forbidden first, the allowed last."""
    codes = candidates.suites(version)
    if talk.question.mode == "verdict" and talk.wants(version):
        codes = tuple(sorted(codes, key=lambda code: code in _stop(talk)))
    offer = Offer(version_name(version), version, codes, candidates.groups(version) if version > SSL3 else ())
    return _lean(offer) if talk.lean else offer


def _lean(offer: Offer) -> Offer:
    """The same in under 256 bytes; TLS 1.3 has so few suites that all fit."""
    suites = offer.suites if offer.version == TLS13 else candidates.LEAN_SUITES
    return replace(offer, suites=suites, groups=candidates.LEAN_GROUPS if offer.version > SSL3 else (), lean=True)


def _suites_offer(version: int, like: Offer, note: str = "") -> Make:
    """Offers of ``version`` that differ from ``like`` in their suites only."""
    name = f"{version_name(version)}{note or ' suites'}"

    def make(codes: Sequence[int], room: int) -> Offer:
        return replace(like, name=name, version=version, suites=tuple(codes), padding=2 * max(0, room - len(codes)))

    return make


def _stop(talk: Talk) -> frozenset[int]:
    return talk.question.allowed if talk.question.mode == "verdict" else frozenset()


def batched(codes: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """``codes`` in tuples of at most ``size``."""
    return [tuple(codes[start : start + size]) for start in range(0, len(codes), size)]


def _suite(reply: Reply) -> int | None:
    return reply.suite


def _group(reply: Reply) -> int | None:
    return reply.group
