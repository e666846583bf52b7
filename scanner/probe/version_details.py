"""Enumerate the suites, and the groups where they are asked for, of one accepted version.

In verdict mode the forbidden stand first and the allowed last; as soon as an allowed suite is chosen only the forbidden
are offered again, and their refusal completes the minimal pair. In inventory mode nothing stops the removal but a
refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from scanner.kube.maybe import Unknown
from scanner.probe import candidates
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import AT_ONCE, ask_contradicted, ask_control
from scanner.probe.session import LEAN_PART, PART, Talk, batched, suites_offer
from scanner.probe.suite_enumeration import Make, Pick, Sieve, halve, sift, undecided
from scanner.tls.codepoints import SSL3, TLS13
from scanner.tls.names import authentication, key_exchange, version_name

ON_CURVES = frozenset({"ECDHE", "ECDH_anon", "ECDHE_PSK", "ECCPWD"})
ODD = frozenset({"ECDH", "GOST", "KEA"})
"""Key exchanges whose certificate may need a group or an algorithm that few offers have."""
FEW_GROUPS = "the listener refuses offers with all groups"
_SUITES_OF_TODAY = frozenset({0xC02F, 0xC030, 0xCCA8})
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
    if _few_groups(offer):
        tally.open = _may_need_another_group
    sieve = Sieve(list(offer.suites), tally, talk.stop, kind=authentication)
    if not sieve.take(offer.suites, reply.suite):
        return
    tally.provisional = True
    left = candidates.others(version, offer.suites)
    if left & talk.dead_ends:
        tally.unasked = "some suites were selected, and then the handshake was not gone on with"
    make, pick = suites_offer(offer), _suite_of(version)
    if left - talk.dead_ends:
        sieve.rest = candidates.by_likelihood({*sieve.rest} | left - talk.dead_ends)
        yield from _in_parts(talk, version, offer, sieve, make, pick)
    elif talk.question.mode == "inventory":
        sieve.rest = candidates.by_likelihood(sieve.rest, last=authentication(reply.suite or 0))
        sieve.turned = True
        yield from _inventory(talk, version, offer, reply, sieve)
    else:
        yield from sift(sieve, make, pick, talk.manner, offer, room=len(offer.suites))
        yield from _verdict_groups(talk, version, offer, reply)
    talk.depth = max(talk.depth, sieve.read)
    yield from _second_look(talk, version, offer, sieve)
    tally.provisional = False
    if talk.question.mode == "verdict":
        tally.unasked = tally.unasked or VERDICT_ONLY


def _few_groups(offer: Offer) -> bool:
    return len(offer.groups) < len(candidates.groups(offer.version)) and offer.version > SSL3


def _may_need_another_group(code: int, accepted: Collection[int]) -> str | None:
    """Of an offer with few groups a refusal counts where something accepted shows that it cannot be about these."""
    exchange, known = key_exchange(code), {key_exchange(one) for one in accepted}
    ecdsa = authentication(code) == "ECDSA" and all(authentication(one) != "ECDSA" for one in accepted)
    curve = exchange in ON_CURVES and known.isdisjoint(ON_CURVES)
    return FEW_GROUPS if ecdsa or curve or (exchange in ODD and exchange not in known) else None


def _suite_of(version: int) -> Pick:
    """The suite that was selected, where the version is the one that is being sorted."""

    def pick(reply: Reply) -> int | None:
        return reply.suite if reply.version == version else None

    return pick


def _group_of(version: int) -> Pick:
    def pick(reply: Reply) -> int | None:
        return reply.group if reply.version == version else None

    return pick


def _in_parts(talk: Talk, version: int, offer: Offer, sieve: Sieve, make: Make, pick: Pick) -> Plan[None]:
    """Everything in short offers, for a listener that takes no others."""
    yield from halve(sieve, make, pick, talk.manner, sieve.tally.accepted[-1])
    sieve.tally.complete = True
    if talk.question.mode == "inventory":
        yield from _preference(talk, version, sieve, make)
        yield from _groups(talk, version, offer, Sieve(list(nameable(offer)), talk.groups(version)))
    else:
        talk.groups(version).unasked = "the listener does not take long offers"


def without_srp(codes: Sequence[int]) -> tuple[int, ...]:
    """Those that no missing user makes a listener refuse."""
    return tuple(code for code in codes if key_exchange(code) != "SRP")


def _second_look(talk: Talk, version: int, offer: Offer, sieve: Sieve) -> Plan[None]:
    """What was refused once more, in the other order, and with it the suites for SRP, PSK and Kerberos.

    A random refusal seldom comes twice, and a listener that chooses its certificate by the first suite chooses another.
    No new way to refuse is learnt from suites that need credentials: a listener that knows one of them may answer in a
    way of its own (Erlang: alert 80).
    """
    tally = talk.tally(version)
    refused = [code for code in sieve.refused[0].suites if code in tally.refused] if sieve.refused else []
    again = candidates.in_other_order(refused) if version < TLS13 else []
    apart = [code for code in candidates.credential_suites(version) if code not in tally.accepted]
    if len(again) + len(apart) > sieve.read:
        yield from _once_more(talk, version, offer, sieve, again, [])
        for part in batched(apart, max(sieve.read, LEAN_PART if talk.lean else PART)):
            yield from _once_more(talk, version, offer, sieve, [], part)
    else:
        yield from _once_more(talk, version, offer, sieve, again, apart)
    if sieve.refused and not tally.refused.keys().isdisjoint(refused) and not set(again).isdisjoint(tally.accepted):
        yield from _split(talk, version, offer, sieve, *sieve.refused)


def _once_more(
    talk: Talk, version: int, offer: Offer, sieve: Sieve, again: list[int], apart: Sequence[int]
) -> Plan[None]:
    tally, room = talk.tally(version), len(offer.suites)
    usual = {sieve.refused[1].how} if sieve.refused else set[str]()
    manner = replace(talk.manner, learnt={*AT_ONCE, *usual}) if apart else talk.manner
    before, why = tally.unasked, None
    make, pick = suites_offer(offer, note=" with credentials" if apart else " again"), _suite_of(version)
    while again or apart:
        rest = [code for code in (*again, *apart) if code not in tally.accepted]
        one = Sieve(rest, tally, depth=sieve.read)
        known = manner if apart else talk.manner
        last = yield from sift(one, make, pick, known, None if apart else offer, room=room)
        if last is None:
            break
        if not apart or last.ending == "silence":
            for code in again:
                tally.refused.pop(code, None)
            return
        without = without_srp(apart) if last.how == NO_USER else ()
        srp = "SRP suites: the listener asks for a user that we do not have (alert 115)"
        why = srp if without else f"suites that need credentials: {undecided(last)}"
        apart = without if len(without) < len(apart) else ()
        tally.unasked = before
    tally.unasked = tally.unasked or why


def _split(talk: Talk, version: int, offer: Offer, sieve: Sieve, asked: Offer, refusal: Reply) -> Plan[None]:
    """Something was refused in one order and accepted in the other.

    Either the listener refuses at random, or the order decides: then each key exchange and authentication is asked for
    by itself.
    """
    tally = talk.tally(version)
    if (yield from ask_contradicted(asked, refusal, talk.manner)) is not None:
        return
    rest = [code for code in asked.suites if code in tally.refused and code not in tally.accepted]
    for code in rest:
        del tally.refused[code]
    make, pick = suites_offer(offer, note=" by key exchange"), _suite_of(version)
    for part in candidates.by_exchange(rest):
        one = Sieve(part, tally, depth=sieve.read)
        yield from sift(one, make, pick, talk.manner, offer, room=len(offer.suites))


# --- inventory ------------------------------------------------------------------------------------------------------


def _inventory(talk: Talk, version: int, offer: Offer, reply: Reply, sieve: Sieve) -> Plan[None]:
    """All suites and groups. While both go on, one hello asks for the next of each."""
    make, pick = suites_offer(offer), _suite_of(version)
    groups = Sieve(list(nameable(offer)), talk.groups(version))
    last = yield from _both(talk, version, offer, reply, sieve, groups)
    if last is None or last[1].ending != "silence":
        first = last[1] if last is not None and last[0].groups == offer.groups else None
        yield from sift(sieve, make, pick, talk.manner, offer, room=len(offer.suites), first=first)
        yield from _preference(talk, version, sieve, make)
    else:
        sieve.tally.unasked = undecided(last[1])
        talk.evidence.preference[version] = Unknown(undecided(last[1]))
    yield from _groups(talk, version, offer, groups)


def _both(
    talk: Talk, version: int, offer: Offer, reply: Reply, sieve: Sieve, groups: Sieve
) -> Plan[tuple[Offer, Reply] | None]:
    """Take out a suite and a group with each accepted hello (docs/decisions/0003-suites-and-groups-together.md).

    Returns the offer that was not accepted, and its reply. Not with key shares, whose groups have to stay (RFC 8446,
    section 4.2.8). Where the next refusal will be about the suites, they are asked for alone.
    """
    make, pick = suites_offer(offer), _suite_of(version)
    note_group(groups, offer.groups, reply)
    elsewhere = set(talk.groups(TLS13).accepted) & set(nameable(offer)) if version < TLS13 else set()
    tried = False
    while offer.shares == "empty" and sieve.rest and groups.rest and not _exhausted(version, sieve):
        if elsewhere and elsewhere.issubset(groups.tally.accepted):
            return None
        asked = make(sieve.rest, len(offer.suites))
        if tried or not set(sieve.tally.accepted) >= _SUITES_OF_TODAY:
            asked = with_groups(asked, groups.rest)
        else:
            tried = True
        reply = yield asked
        # Up to TLS 1.2 what is chosen may now depend on the missing groups, so it says nothing about the order.
        fair = version == TLS13 or asked.groups == offer.groups
        if not reply.accepted or not sieve.take(asked.suites, pick(reply), fair=fair):
            return asked, reply
        note_group(groups, asked.groups, reply)
    return None


def nameable(offer: Offer) -> tuple[int, ...]:
    """The groups of an offer that a reply can name: finite fields up to TLS 1.2 only make DHE possible."""
    return tuple(code for code in offer.groups if offer.version >= TLS13 or code not in candidates.FINITE_FIELDS)


def with_groups(offer: Offer, codes: Sequence[int]) -> Offer:
    """The same offer, as long, with only these of the groups that a reply can name."""
    others = tuple(code for code in offer.groups if code not in nameable(offer))
    groups = (*codes, *others)
    return replace(offer, groups=groups, padding=offer.padding + 2 * (len(offer.groups) - len(groups)))


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
    if _few_groups(offer):
        tally.unasked = FEW_GROUPS
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

    def make(codes: Sequence[int], _: int) -> Offer:
        return replace(with_groups(control, codes), name=name)

    yield from sift(groups, make, _group_of(version), talk.manner, control, room=len(nameable(offer)))


def _preference(talk: Talk, version: int, sieve: Sieve, make: Make) -> Plan[None]:
    """Whose order decides. Free where the server has passed over something that it accepts."""
    accepted = candidates.by_likelihood(sieve.tally.accepted)
    if len(accepted) < 2:
        talk.evidence.preference[version] = Unknown("fewer than two suites are accepted")
    elif sieve.passed_over:
        talk.evidence.preference[version] = "server"
    elif sieve.both_ways:
        talk.evidence.preference[version] = "client"
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
    rest = sorted(nameable(offer), key=lambda code: code in allowed)
    groups = Sieve(rest, talk.groups(version), allowed)
    note_group(groups, offer.groups, reply)
    yield from _groups(talk, version, offer, groups)
