"""Enumerate the suites of one accepted version, and its groups if required.

In verdict mode forbidden suites come first and allowed ones last. Once an allowed suite is selected only the forbidden
ones are offered again, and their refusal completes the minimal pair. In inventory mode only a refusal ends the removal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from scanner.kube.maybe import Unknown
from scanner.probe import candidates
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import AT_ONCE, ask_contradicted, ask_control
from scanner.probe.session import LEAN_PART, PART, Session, batched, suites_offer
from scanner.probe.suite_enumeration import Make, Pick, Removal, enumerate_codes, halve, undecided
from scanner.tls.codepoints import SSL3, TLS13
from scanner.tls.names import authentication, key_exchange, version_name
from scanner.values import replace

ON_CURVES = frozenset({"ECDHE", "ECDH_anon", "ECDHE_PSK", "ECCPWD"})
ODD = frozenset({"ECDH", "GOST", "KEA"})
"""Key exchanges whose certificate may need a group or an algorithm that few offers have."""
FEW_GROUPS = "the listener refuses offers with all groups"
_SUITES_OF_TODAY = frozenset({0xC02F, 0xC030, 0xCCA8})
VERDICT_ONLY = "verdict mode only offers what is forbidden"
NO_USER = "alert 115"


def enumerate_version(session: Session, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """Enumerate ``version``, which was accepted by ``reply`` to ``offer``.

    ``offer`` may have a later version and lack some suites. All further offers have its version and extensions, because
    these are known to lead to ``version``.
    """
    session.accepted(offer, reply)
    session.sorted.add(version)
    tally = session.tally(version)
    if not session.needs_suites(version):
        tally.unasked = "the version itself is forbidden"
        return
    if _few_groups(offer):
        tally.open = _may_need_another_group
    removal = Removal(list(offer.suites), tally, session.stop, kind=authentication, most=session.most)
    if not removal.take(offer.suites, reply.suite):
        return
    tally.provisional = True
    left = candidates.others(version, offer.suites)
    if left & session.dead_ends:
        tally.unasked = "some suites were selected, but the handshake was not continued"
    make, pick = suites_offer(offer), _suite_of(version)
    if left - session.dead_ends:
        removal.rest = candidates.by_likelihood({*removal.rest} | left - session.dead_ends)
        yield from _in_parts(session, version, offer, removal, make, pick)
    elif session.question.mode == "inventory":
        removal.rest = candidates.by_likelihood(removal.rest, last=authentication(reply.suite or 0))
        removal.turned = True
        yield from _inventory(session, version, offer, reply, removal)
    else:
        yield from enumerate_codes(removal, make, pick, session.refusals, offer, room=len(offer.suites))
        yield from _verdict_groups(session, version, offer, reply)
    session.depth = max(session.depth, removal.read)
    if not removal.is_enough:
        yield from _second_look(session, version, offer, removal)
    tally.provisional = version < TLS13
    if session.question.mode == "verdict":
        tally.unasked = tally.unasked or VERDICT_ONLY


def _few_groups(offer: Offer) -> bool:
    return len(offer.groups) < len(candidates.groups(offer.version)) and offer.version > SSL3


def _may_need_another_group(code: int, accepted: Collection[int]) -> str | None:
    """Reason why a refusal by an offer with few groups proves nothing: the groups may be the cause; None if not."""
    exchange, known = key_exchange(code), {key_exchange(one) for one in accepted}
    ecdsa = authentication(code) == "ECDSA" and all(authentication(one) != "ECDSA" for one in accepted)
    curve = exchange in ON_CURVES and known.isdisjoint(ON_CURVES - {"ECCPWD"})  # its curve need be no other's
    return FEW_GROUPS if ecdsa or curve or (exchange in ODD and exchange not in known) else None


def _suite_of(version: int) -> Pick:

    def pick(reply: Reply) -> int | None:
        return reply.suite if reply.version == version else None

    return pick


def _group_of(version: int) -> Pick:
    def pick(reply: Reply) -> int | None:
        return reply.group if reply.version == version else None

    return pick


def _in_parts(session: Session, version: int, offer: Offer, removal: Removal, make: Make, pick: Pick) -> Plan[None]:
    """Enumerate in short offers, for a listener that accepts no others."""
    yield from halve(removal, make, pick, session.refusals, removal.tally.accepted[-1])
    removal.tally.complete = True
    if session.question.mode == "inventory":
        yield from _preference(session, version, removal, make)
        yield from _groups(session, version, offer, Removal(list(nameable(offer)), session.groups(version)))
    else:
        session.groups(version).unasked = "the listener does not accept long offers"


def without_srp(codes: Sequence[int]) -> tuple[int, ...]:
    """The suites that are not refused because of a missing user."""
    return tuple(code for code in codes if key_exchange(code) != "SRP")


def _second_look(session: Session, version: int, offer: Offer, removal: Removal) -> Plan[None]:
    """Repeat refused suites in another order, and offer the suites for SRP, PSK and Kerberos.

    A random refusal seldom happens twice, and a listener that chooses its certificate by the first suite chooses
    another. Suites that need credentials teach no new refusal: a listener that supports one may answer in a special way
    (Erlang: alert 80).
    """
    tally = session.tally(version)
    refused = [code for code in removal.refused[0].suites if code in tally.refused] if removal.refused else []
    reordered = candidates.in_other_order(refused) if version < TLS13 else []
    apart = _without(candidates.credential_suites(version), tally.accepted)
    if len(reordered) + len(apart) > removal.read:
        yield from _once_more(session, version, offer, removal, reordered, [])
        for part in batched(apart, max(removal.read, LEAN_PART if session.lean else PART)):
            yield from _once_more(session, version, offer, removal, [], part)
    else:
        yield from _once_more(session, version, offer, removal, reordered, apart)
    if (
        removal.refused
        and not tally.refused.keys().isdisjoint(refused)
        and not set(reordered).isdisjoint(tally.accepted)
    ):
        yield from _split(session, version, offer, removal, *removal.refused)


def _without(codes: Sequence[int], accepted: Iterable[int]) -> list[int]:
    known = frozenset(accepted)
    return [code for code in codes if code not in known]


def _once_more(
    session: Session, version: int, offer: Offer, removal: Removal, reordered: list[int], apart: Sequence[int]
) -> Plan[None]:
    tally, room = session.tally(version), len(offer.suites)
    usual = {removal.refused[1].ending_kind} if removal.refused else set[str]()
    refusals = replace(session.refusals, learnt={*AT_ONCE, *usual}) if apart else session.refusals
    before, why = tally.unasked, None
    make, pick = suites_offer(offer, note=" with credentials" if apart else " again"), _suite_of(version)
    while reordered or apart:
        rest = _without((*reordered, *apart), tally.accepted)
        one = Removal(rest, tally, depth=removal.read)
        known = refusals if apart else session.refusals
        last = yield from enumerate_codes(one, make, pick, known, None if apart else offer, room=room)
        if last is None:
            break
        if not apart or last.ending == "silence":
            for code in reordered:
                tally.refused.pop(code, None)
            return
        without = without_srp(apart) if last.ending_kind == NO_USER else ()
        srp = "SRP suites: the listener requires a user name (alert 115)"
        why = srp if without else f"suites that need credentials: {undecided(last)}"
        apart = without if len(without) < len(apart) else ()
        tally.unasked = before
    tally.unasked = tally.unasked or why


def _split(session: Session, version: int, offer: Offer, removal: Removal, asked: Offer, refusal: Reply) -> Plan[None]:
    """Settle suites that were refused in one order and accepted in the other.

    Either the listener refuses at random, or the order decides: then each key exchange and authentication is offered
    separately.
    """
    tally = session.tally(version)
    if (yield from ask_contradicted(asked, refusal, session.refusals)) is not None:
        return
    rest = [code for code in asked.suites if code in tally.refused and code not in tally.accepted]
    for code in rest:
        del tally.refused[code]
    make, pick = suites_offer(offer, note=" by key exchange"), _suite_of(version)
    for part in candidates.by_exchange(rest):
        one = Removal(part, tally, depth=removal.read)
        yield from enumerate_codes(one, make, pick, session.refusals, offer, room=len(offer.suites))


# --- inventory ------------------------------------------------------------------------------------------------------


def _inventory(session: Session, version: int, offer: Offer, reply: Reply, removal: Removal) -> Plan[None]:
    """Enumerate all suites and groups, both with the same hellos as far as possible."""
    make, pick = suites_offer(offer), _suite_of(version)
    groups = Removal(list(nameable(offer)), session.groups(version))
    last = yield from _both(session, version, offer, reply, removal, groups)
    if last is None or last[1].ending != "silence":
        first = last[1] if last is not None and last[0].groups == offer.groups else None
        yield from enumerate_codes(removal, make, pick, session.refusals, offer, room=len(offer.suites), first=first)
        yield from _preference(session, version, removal, make)
    else:
        removal.tally.unasked = undecided(last[1])
        session.evidence.preference[version] = Unknown(undecided(last[1]))
    yield from _groups(session, version, offer, groups)


def _both(
    session: Session, version: int, offer: Offer, reply: Reply, removal: Removal, groups: Removal
) -> Plan[tuple[Offer, Reply] | None]:
    """Remove a suite and a group with each accepted hello (docs/decisions/0003-suites-and-groups-together.md).

    Returns the offer that was not accepted, and its reply. Not with key shares, whose groups must stay (RFC 8446,
    section 4.2.8). If the next refusal is expected to be about the suites, they are offered without removing groups.
    """
    make, pick = suites_offer(offer), _suite_of(version)
    note_group(groups, offer.groups, reply)
    elsewhere = set(session.groups(TLS13).accepted) & set(nameable(offer)) if version < TLS13 else set()
    tried = False
    while offer.shares == "empty" and removal.rest and groups.rest and not _exhausted(version, removal):
        if elsewhere and elsewhere.issubset(groups.tally.accepted):
            return None
        asked = make(removal.rest, len(offer.suites))
        if tried or not set(removal.tally.accepted) >= _SUITES_OF_TODAY:
            asked = with_groups(asked, groups.rest)
        else:
            tried = True
        reply = yield asked
        # Up to TLS 1.2 the selection may now depend on the missing groups, so it proves nothing about the order.
        fair = version == TLS13 or asked.groups == offer.groups
        if not reply.accepted or not removal.take(asked.suites, pick(reply), fair=fair):
            return asked, reply
        note_group(groups, asked.groups, reply)
    return None


def nameable(offer: Offer) -> tuple[int, ...]:
    """The groups of an offer that a reply can name: up to TLS 1.2 finite fields only enable DHE."""
    return tuple(code for code in offer.groups if offer.version >= TLS13 or code not in candidates.FINITE_FIELDS)


def with_groups(offer: Offer, codes: Sequence[int]) -> Offer:
    """The offer, with the same length, with only these of the groups that a reply can name."""
    others = tuple(code for code in offer.groups if code not in nameable(offer))
    groups = (*codes, *others)
    return replace(offer, groups=groups, padding=offer.padding + 2 * (len(offer.groups) - len(groups)))


def _exhausted(version: int, removal: Removal) -> bool:
    """True if the likely TLS 1.3 suites are all found, so that the next refusal will be about the suites."""
    return version == TLS13 and {0x1301, 0x1302, 0x1303} <= set(removal.tally.accepted)


def note_group(groups: Removal, offered: Sequence[int], reply: Reply) -> None:
    """Remove the selected group, if that cannot change which suites are accepted.

    Up to TLS 1.2 an ECDSA certificate's curve must stay in the offer (RFC 8422, section 5.1), so only RSA suites count.
    """
    if reply.group is None:
        return
    if reply.version == TLS13 or _signs_with_rsa(reply.suite):
        groups.take(tuple(offered), reply.group)


def _signs_with_rsa(suite: int | None) -> bool:
    return suite is not None and key_exchange(suite) == "ECDHE" and authentication(suite) == "RSA"


def _groups(session: Session, version: int, offer: Offer, groups: Removal) -> Plan[None]:
    """Enumerate the remaining groups with all accepted suites for which a refusal is conclusive."""
    tally = session.groups(version)
    if not offer.groups:
        tally.unasked = "an SSLv3 hello has no extensions"
        return
    if _few_groups(offer):
        tally.unasked = FEW_GROUPS
        return
    if offer.shares != "empty":
        tally.unasked = "the listener does not answer an empty key_share, so its groups are unknown"
        return
    accepted = session.tally(version).accepted
    usable = [code for code in accepted if version == TLS13 or _signs_with_rsa(code)]
    if not usable:
        tally.unasked = "groups of TLS 1.2 and below can only be determined with ECDHE suites and an RSA certificate"
        return
    name = f"{version_name(version)} groups"
    control = replace(offer, suites=tuple(usable), name=f"{name}, control", padding=0)

    def make(codes: Sequence[int], _: int) -> Offer:
        return replace(with_groups(control, codes), name=name)

    yield from enumerate_codes(groups, make, _group_of(version), session.refusals, control, room=len(nameable(offer)))


def _preference(session: Session, version: int, removal: Removal, make: Make) -> Plan[None]:
    """Determine whose order decides. Known if the server has passed over something that it accepts."""
    accepted = candidates.by_likelihood(removal.tally.accepted)
    if len(accepted) < 2:
        session.evidence.preference[version] = Unknown("fewer than two suites are accepted")
    elif removal.passed_over:
        session.evidence.preference[version] = "server"
    elif removal.both_ways:
        session.evidence.preference[version] = "client"
    else:
        reply = yield from ask_control(make(tuple(reversed(accepted)), len(accepted)), session.refusals)
        if reply.accepted:
            first = reply.suite == accepted[-1]
            session.evidence.preference[version] = "client" if first else "server"
        else:
            session.evidence.preference[version] = Unknown(undecided(reply))


# --- verdict --------------------------------------------------------------------------------------------------------


def _verdict_groups(session: Session, version: int, offer: Offer, reply: Reply) -> Plan[None]:
    """Enumerate groups in verdict mode, only if the verdict depends on them."""
    allowed = session.question.groups
    if allowed is None:
        session.groups(version).unasked = "verdict mode checks groups only if the policy enforces them"
        return
    rest = sorted(nameable(offer), key=lambda code: code in allowed)
    groups = Removal(rest, session.groups(version), allowed)
    note_group(groups, offer.groups, reply)
    yield from _groups(session, version, offer, groups)
