"""One version that is spoken: sort its suites, and its groups where they are asked for.

In verdict mode the forbidden stand first and the allowed last; as soon as an allowed suite is chosen only the forbidden
are offered again, and their refusal completes the minimal pair. In inventory mode nothing stops the removal but a
refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scanner.model.known import Unknown
from scanner.probe import candidates
from scanner.probe.manner import ask_control
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.sieve import Make, Pick, Sieve, halve, sift, undecided
from scanner.probe.talk import Talk, suites_offer
from scanner.tls.codepoints import TLS13
from scanner.tls.names import authentication, key_exchange, version_name

VERDICT_ONLY = "verdict mode asks only for what is forbidden"
NO_USER = "alert 115"


def spoken(talk: Talk, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """``version`` was accepted by ``reply`` to ``offer``, which may have a later version and not hold all suites.

    Whatever follows has the version and extensions of ``offer``, because these are known to lead here.
    """
    talk.accepted(offer, reply)
    talk.sorted.add(version)
    tally = talk.tally(version)
    if not talk.wants(version):
        tally.unasked = "the version itself is forbidden"
        return
    sieve = Sieve(list(offer.suites), tally, talk.stop, kind=authentication)
    if not sieve.take(offer.suites, reply.suite):
        return
    left = candidates.others(version, offer.suites)
    if left & talk.dead_ends:
        tally.unasked = "some suites were selected, and then the handshake was not gone on with"
    make, pick = suites_offer(offer), _suite_of(version)
    if offer.lean or left - talk.dead_ends:
        sieve.rest = candidates.by_likelihood({*sieve.rest} | left - talk.dead_ends)
        yield from _in_parts(talk, version, sieve, make, pick)
    elif talk.question.mode == "inventory":
        sieve.rest = candidates.fitting_last(sieve.rest, reply.suite or 0)
        yield from _inventory(talk, version, offer, reply, sieve)
    else:
        yield from sift(sieve, make, pick, talk.manner, offer, room=len(offer.suites))
        tally.unasked = tally.unasked or VERDICT_ONLY
        yield from _verdict_groups(talk, version, offer, reply)
    talk.depth = max(talk.depth, sieve.read)
    yield from _credentials(talk, version, offer, sieve)


def _suite_of(version: int) -> Pick:
    """The suite that was selected, where the version is the one that is being sorted."""

    def pick(reply: Reply) -> int | None:
        return reply.suite if reply.version == version else None

    return pick


def _group_of(version: int) -> Pick:
    def pick(reply: Reply) -> int | None:
        return reply.group if reply.version == version else None

    return pick


def _in_parts(talk: Talk, version: int, sieve: Sieve, make: Make, pick: Pick) -> Plan[None]:
    """Everything in short offers, for a listener that takes no others."""
    yield from halve(sieve, make, pick, talk.manner, sieve.tally.accepted[-1])
    sieve.tally.complete = True
    talk.groups(version).unasked = "the listener does not take long offers"
    talk.evidence.preference[version] = Unknown("the listener does not take long offers")


def without_srp(codes: Sequence[int]) -> tuple[int, ...]:
    """Those that no missing user makes a listener refuse."""
    return tuple(code for code in codes if key_exchange(code) != "SRP")


def _credentials(talk: Talk, version: int, offer: Offer, sieve: Sieve) -> Plan[None]:
    """Suites for SRP, PSK and Kerberos in a hello of their own, as long as the one that was accepted."""
    tally = talk.tally(version)
    left = [code for code in candidates.credential_suites(version) if code not in tally.accepted]
    before = tally.unasked
    make, pick = suites_offer(offer, note=" with credentials"), _suite_of(version)
    for _ in range(2):
        apart = Sieve(left, tally, depth=sieve.read)
        last = yield from sift(apart, make, pick, talk.manner, offer, room=len(offer.suites))
        if last is None or last.how != NO_USER:
            return
        tally.unasked = before
        left = [code for code in without_srp(left) if code not in tally.accepted]
    tally.unasked = before or "SRP suites: the listener asks for a user that we do not have (alert 115)"


# --- inventory ------------------------------------------------------------------------------------------------------


def _inventory(talk: Talk, version: int, offer: Offer, reply: Reply, sieve: Sieve) -> Plan[None]:
    """All suites and groups. While both go on, one hello asks for the next of each."""
    make, pick = suites_offer(offer), _suite_of(version)
    groups = Sieve(list(offer.groups), talk.groups(version))
    refused = yield from _both(version, offer, reply, sieve, groups)
    if refused is None or refused.ending != "silence":
        yield from sift(sieve, make, pick, talk.manner, offer, room=len(offer.suites))
        yield from _preference(talk, version, sieve, make)
    else:
        sieve.tally.unasked = undecided(refused)
        talk.evidence.preference[version] = Unknown(undecided(refused))
    yield from _groups(talk, version, offer, groups)


def _both(version: int, offer: Offer, reply: Reply, sieve: Sieve, groups: Sieve) -> Plan[Reply | None]:
    """Take out a suite and a group with each accepted hello (docs/decisions/0003-suites-and-groups-together.md).

    Returns the reply that was none. Not with key shares, whose groups have to stay (RFC 8446, section 4.2.8).
    """
    make, pick = suites_offer(offer), _suite_of(version)
    note_group(groups, offer.groups, reply)
    while offer.shares == "empty" and sieve.rest and groups.rest and not _exhausted(version, sieve):
        asked = replace(make(sieve.rest, len(offer.suites)), groups=tuple(groups.rest))
        asked = replace(asked, padding=asked.padding + 2 * (len(offer.groups) - len(asked.groups)))
        reply = yield asked
        # Up to TLS 1.2 what is chosen may now depend on the missing groups, so it says nothing about the order.
        fair = version == TLS13 or asked.groups == offer.groups
        if not reply.accepted or not sieve.take(asked.suites, pick(reply), fair=fair):
            return reply
        note_group(groups, asked.groups, reply)
    return None


def _exhausted(version: int, sieve: Sieve) -> bool:
    """Whether the likely TLS 1.3 suites are all found, so that the next refusal will be about the suites."""
    return version == TLS13 and {0x1301, 0x1302, 0x1303} <= set(sieve.tally.accepted)


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
    if not offer.groups:
        tally.unasked = "an SSLv3 hello has no extensions"
        return
    if offer.shares != "empty":
        tally.unasked = "the listener answers no empty key_share, so it does not name its groups"
        return
    accepted = talk.tally(version).accepted
    usable = [code for code in accepted if version == TLS13 or _signs_with_rsa(code)]
    if not usable:
        tally.unasked = "groups of TLS 1.2 and below are concluded only from ECDHE suites with an RSA certificate"
        return
    name = f"{version_name(version)} groups"
    control = replace(offer, suites=tuple(usable), name=f"{name}, control", padding=0)

    def make(codes: Sequence[int], room: int) -> Offer:
        return replace(control, groups=tuple(codes), padding=2 * (room - len(codes)), name=name)

    yield from sift(groups, make, _group_of(version), talk.manner, control, room=len(offer.groups))


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


# --- verdict --------------------------------------------------------------------------------------------------------


def _verdict_groups(talk: Talk, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """In verdict mode groups are asked for only if the verdict depends on them."""
    allowed = talk.question.groups
    if allowed is None:
        talk.groups(version).unasked = "verdict mode asks for groups only if the policy enforces them"
        return
    rest = sorted(offer.groups, key=lambda code: code in allowed)
    groups = Sieve(rest, talk.groups(version), allowed)
    note_group(groups, offer.groups, reply)
    yield from _groups(talk, version, replace(offer, groups=tuple(rest)), groups)
