"""Find the versions that the server accepts, and those that it refuses. Pure generators: no I/O, no clock, no
randomness.

TLS 1.3 comes first. Below it each hello names the highest version that is not yet settled. Below the lowest supported
version a single refusal with protocol_version ends the search (design rule 7). Any other refusal must be repeated with
the suites that were not in that hello. No version counts as refused before something was accepted. The suites of each
version are enumerated as soon as it is accepted (``version_details``).
"""

from __future__ import annotations

from collections.abc import Iterable

from scanner.probe import candidates
from scanner.probe.evidence import Evidence
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.other_shape import offer_again
from scanner.probe.refusal_evidence import (
    AT_ONCE,
    PROTOCOL_VERSION,
    Outcome,
    ask_contradicted,
    ask_control,
    ask_with_control,
    repeat_offer,
)
from scanner.probe.session import (
    Question,
    Session,
    all_before,
    batched,
    control_for,
    first_offer,
    lean,
    leaner,
    most_doubtful,
    selects,
)
from scanner.probe.version_details import NO_USER, enumerate_version, without_srp
from scanner.tls.codepoints import SSL2, SSL3, TLS12, TLS13
from scanner.tls.names import needs_credentials, version_name
from scanner.values import replace

DEAD_ENDS = 16
"""Limit of suites to remove from the first offer of a version because the server does not continue with them."""

GIVE_UP = frozenset({"closed", "filtered", "unreachable", "plaintext", "declined", "unnamed"})
"""Endings of the first offer after which no other offer is sent."""

_ALERT_OF_SSL2 = "\\x15\\x00\\x02"
"""s2n-tls's answer to an SSLv2 hello: an alert in a record with the version of the hello."""

MOST_OFFERS = 600
"""Limit of connections to one endpoint. Four versions with a hundred suites each need fewer; a listener that accepts
any offer is not probed forever."""


def interrogate(question: Question, evidence: Evidence) -> Plan[None]:
    """Send all offers that ``question`` needs; the results are in ``evidence``, also after an interruption.

    At most ``MOST_OFFERS`` offers.
    """
    plan = _everything(Session(question, evidence))
    offer = next(plan)
    for _ in range(MOST_OFFERS):
        reply = yield offer
        try:
            offer = plan.send(reply)
        except StopIteration:
            evidence.asked = True
            return
    plan.close()
    evidence.interrupted = f"the limit of {MOST_OFFERS} connections was reached"


def _everything(session: Session) -> Plan[None]:
    wide = first_offer(session, TLS13)
    first = yield wide
    if first.ending in GIVE_UP or (first.ending == "silence" and not (yield from _wakes_up(session))):
        return
    session.evidence.versions.provisional = True
    outcome, last = yield from _tls13(session, wide, first)
    yield from settle_versions(session)
    if session.control is not None and outcome is Outcome.REFUSED:
        session.evidence.versions.refuse([TLS13], first)
    elif session.control is not None and outcome is Outcome.UNDECIDED:
        yield from _settle_tls13(session, wide, last)
    yield from _ssl2(session)
    yield from offer_again(session)
    for tally in (session.evidence.versions, *session.evidence.suites.values()):
        tally.provisional = False
    session.evidence.versions.complete = session.control is not None


def _wakes_up(session: Session) -> Plan[bool]:
    """After silence to the first offer: send one short hello before the listener is called silent."""
    reply = yield lean(first_offer(session, TLS12))
    return reply.ending not in ("silence", *GIVE_UP)


# --- TLS 1.3 --------------------------------------------------------------------------------------------------------


def _with_shares(wide: Offer) -> Offer:
    return replace(wide, name=f"{wide.name}, with shares", shares="common")


def _tls13(session: Session, wide: Offer, reply: Reply) -> Plan[tuple[Outcome, Reply]]:
    """TLS 1.3: suites and groups, both from HelloRetryRequests, for which the server signs nothing.

    A listener that does not answer an empty key_share is offered real shares, and then a lean hello, before the version
    counts as refused. Returns also the last answer.
    """
    offer, answers = wide, [reply]
    if not reply.accepted and reply.ending_kind != PROTOCOL_VERSION:
        offer = _with_shares(wide)
        answers.append((yield offer))
        if answers[-1].accepted:
            contradicted = yield from ask_contradicted(wide, reply, session.refusals)
            if contradicted is not None:
                offer, answers = wide, [contradicted]
        elif answers[-1].ending_kind != PROTOCOL_VERSION and answers[-1].ending != "silence":
            offer, last = yield from leaner(session, offer, answers[-1])
            answers.append(last)
    if selects(answers[-1], TLS13, TLS13):
        yield from enumerate_version(session, TLS13, offer, answers[-1])
        return Outcome.ACCEPTED, answers[-1]
    if all(session.refusals.outcome(answer) is Outcome.REFUSED for answer in answers):
        return Outcome.REFUSED, answers[-1]
    return Outcome.UNDECIDED, answers[-1]


def _settle_tls13(session: Session, wide: Offer, narrow: Reply) -> Plan[None]:
    """Repeat an undecided TLS 1.3, now that there is a control to compare with."""
    offers = [_with_shares(wide), wide]
    control = yield from control_for(session, offers)
    if control is None:
        session.evidence.versions.unasked = "TLSv1.3: the listener accepts only shorter offers than one for TLS 1.3"
        return
    answers: list[Reply] = []
    for offer in offers:
        reply, outcome = yield from ask_with_control(offer, control, session.refusals)
        if outcome is Outcome.ACCEPTED and selects(reply, TLS13, TLS13):
            yield from enumerate_version(session, TLS13, offer, reply)
            return
        if outcome is not Outcome.REFUSED or session.about_width(reply, narrow):
            session.undecided("TLSv1.3", reply)
            return
        answers.append(reply)
    session.evidence.versions.refuse([TLS13], most_doubtful(session, answers))


# --- TLS 1.2 to SSLv3 -------------------------------------------------------------------------------------------------


def settle_versions(session: Session) -> Plan[None]:
    """Settle the versions from TLS 1.2 down to SSLv3.

    While nothing has been accepted a refusal proves little: some servers refuse versions later than their own, which
    RFC 5246, appendix E.1, forbids. Then the version below is tried, and the skipped one is settled later.
    """
    version = TLS12
    passed_over: list[tuple[Offer, Reply]] = []
    while version >= SSL3:
        offer, reply, outcome = yield from _open(session, version)
        if outcome is Outcome.ACCEPTED:
            version = (yield from _found(session, offer, reply)) - 1
        elif session.control is None:
            passed_over.append((offer, reply))
            version -= 1
        elif version == TLS12 and not session.refuses_version(reply) and reply.ending != "silence":
            # It may support the version and have no suite for it: some suites end with TLS 1.1 (RFC 5246, section 1.2).
            _close(session, [version], reply, outcome)
            version -= 1
        else:
            _close(session, range(SSL3, version + 1), reply, outcome)
            break
    for offer, reply in passed_over:
        if session.control is not None or offer.version == TLS12:
            yield from _settle(session, offer, reply)


def _found(session: Session, offer: Offer, reply: Reply) -> Plan[int]:
    """Record the selected version, and that none between it and the offered one is supported. Returns it."""
    version = reply.version or 0
    session.evidence.versions.refuse(range(version + 1, offer.version + 1), reply)
    if version not in session.sorted:
        yield from enumerate_version(session, version, offer, reply)
    return version


def _close(session: Session, versions: Iterable[int], reply: Reply, outcome: Outcome) -> None:
    """Record versions that were not accepted."""
    asked = [version for version in versions if version not in session.evidence.versions.accepted]
    if outcome is Outcome.REFUSED:
        session.evidence.versions.refuse(asked, reply)
    elif asked:
        session.undecided(f"{version_name(max(asked))} and below", reply)


def _settle(session: Session, offer: Offer, reply: Reply) -> Plan[None]:
    """Settle a version that was skipped while nothing had been accepted."""
    version = offer.version
    if session.refuses_version(reply):
        _close(session, [version], reply, Outcome.REFUSED)
        return
    offer, reply, outcome = yield from _ask_the_rest(session, first_offer(session, version))
    if outcome is Outcome.ACCEPTED:
        yield from _found(session, offer, reply)
    else:
        _close(session, [version], reply, outcome)


def _open(session: Session, version: int) -> Plan[tuple[Offer, Reply, Outcome]]:
    """Send the first hello of ``version``, and the others that prove its refusal."""
    offer = first_offer(session, version)
    offer, reply = yield from _without_dead_ends(offer, (yield offer))
    if selects(reply, SSL3, version):
        return offer, reply, Outcome.ACCEPTED
    if session.refuses_version(reply):
        if session.known is not None:
            return offer, reply, Outcome.REFUSED
        # No hello of this kind was accepted yet, so that one alert may come from another replica.
        first, (reply, _) = reply, (yield from repeat_offer(offer, session.refusals, reply))
        if selects(reply, SSL3, version):
            return offer, reply, Outcome.ACCEPTED
        if reply.ending_kind == first.ending_kind:
            return offer, reply, Outcome.REFUSED
    if _needs_lean(session, offer, reply):
        small, answer = yield from leaner(session, offer, reply)
        if selects(answer, SSL3, version):
            return small, answer, Outcome.ACCEPTED
        session.leaned = version, answer
    if session.control is None:
        return offer, reply, Outcome.UNDECIDED
    if (yield from _deepen(session, offer)) and reply.ending == "alert":
        # After one more offer, a listener that refuses every second connection would refuse both.
        reply, _ = yield from repeat_offer(offer, session.refusals, reply)
    return (yield from _ask_the_rest(session, offer, reply))


def _deepen(session: Session, offer: Offer) -> Plan[bool]:
    """Find out how many suites are read, if unknown: offer as many as possible, and an accepted one last.

    Returns whether anything was sent.
    """
    asked, every = False, len(candidates.suites(offer.version))
    for size in (128, 64) if session.lean else (every,):
        known = session.tls13 or session.known
        if known is None or known.version == SSL3 or session.depth >= size:
            break
        codes = [code for code in candidates.suites(offer.version) if code not in known.suites]
        deep = all_before(known, codes[:size])
        repeated, asked = (yield from ask_control(deep, session.refusals)), True
        if repeated.accepted:
            session.accepted(deep, repeated)
            break
    return asked


def _needs_lean(session: Session, offer: Offer, reply: Reply) -> bool:
    """True if the refusal may be about the width of the hello. One lean hello covers all lower versions, too."""
    if len(offer.suites) > session.widest:
        return True
    narrow = min(session.sorted, default=TLS13) > TLS12
    return (
        narrow and not (session.leaned and session.control) and reply.ending_kind not in (PROTOCOL_VERSION, "silence")
    )


def _without_dead_ends(offer: Offer, reply: Reply) -> Plan[tuple[Offer, Reply]]:
    """Remove suites that the server selects without continuing, so that the others can be offered."""
    for _ in range(DEAD_ENDS):
        if reply.ending != "hello" or reply.accepted or reply.suite not in offer.suites:
            break
        codes = tuple(code for code in offer.suites if code != reply.suite)
        offer = replace(offer, suites=codes, padding=offer.padding + 2)
        reply = yield offer
    return offer, reply


def _ask_the_rest(session: Session, offer: Offer, reply: Reply | None = None) -> Plan[tuple[Offer, Reply, Outcome]]:
    """Send all offers that must be refused before the version of ``offer`` counts as refused.

    ``reply`` is a known answer to ``offer``. Continues after an undecided answer: a forbidden suite may still be
    accepted.
    """
    offers = _rest_of_version(session, offer)
    control = yield from control_for(session, offers)
    proves = control is not None and not session.dead_ends and not session.few
    answers: list[Reply] = []
    while offers:
        asked = offers.pop(0)
        first = reply if asked == offer else None
        plain = tuple(code for code in asked.suites if not needs_credentials(code))
        learns = plain == asked.suites
        answer, outcome = yield from ask_with_control(asked, control if learns else None, session.refusals, first=first)
        if outcome is Outcome.ACCEPTED and selects(answer, SSL3, asked.version):
            return (yield from _contradicted(session, offer, answers, asked, answer))
        if not learns and answers and answer.ending_kind not in (*AT_ONCE, answers[0].ending_kind):
            outcome = Outcome.UNDECIDED
        proves = proves and outcome is Outcome.REFUSED
        if (
            session.leaned is not None
            and session.leaned[0] == asked.version
            and session.about_width(answer, session.leaned[1])
        ):
            proves = False
        answers.append(answer)
        if answer.ending == "silence":
            break
        others = without_srp(asked.suites) if answer.ending_kind == NO_USER else asked.suites
        if others != asked.suites:
            offers.insert(0, replace(asked, suites=others))
        elif outcome is not Outcome.REFUSED and plain and not learns:
            offers.insert(0, replace(asked, suites=plain))
    return offer, most_doubtful(session, answers), Outcome.REFUSED if proves else Outcome.UNDECIDED


def _contradicted(
    session: Session, offer: Offer, answers: list[Reply], asked: Offer, answer: Reply
) -> Plan[tuple[Offer, Reply, Outcome]]:
    """Repeat the refused first offer of a version after a later one was accepted."""
    if answers and asked.version == offer.version:
        contradicted = yield from ask_contradicted(offer, answers[0], session.refusals)
        if contradicted is not None and selects(contradicted, SSL3, offer.version):
            return offer, contradicted, Outcome.ACCEPTED
    return asked, answer, Outcome.ACCEPTED


def _rest_of_version(session: Session, offer: Offer) -> list[Offer]:
    """Offers of all suites of the version: current ones in two orders, those that need credentials separately, and
    SSLv3.

    Each hello is short enough to be read to its end; of a longer one, the suites that are too far down are offered
    again. If several hellos are needed, each has suites for one certificate type, so that their order decides nothing.
    """
    version, size = offer.version, session.part
    whole = not session.lean and len(offer.suites) <= 2 * size
    if whole:
        reordered = candidates.in_other_order(offer.suites)
        first, rest = [offer.suites], [*reordered, *(code for code in offer.suites[size:] if code not in reordered)]
    else:
        kinds = candidates.by_certificate(candidates.suites(version))
        first, rest = [part for kind in kinds for part in batched(kind, size)], []
    apart = replace(offer, name=f"{version_name(version)} with credentials")
    offers = [replace(offer, suites=part) for part in first]
    offers += [replace(apart, suites=part) for part in batched([*rest, *candidates.credential_suites(version)], size)]
    if SSL3 < version < TLS12:
        offers += [Offer("SSLv3", SSL3, part, ()) for part in batched(candidates.suites(SSL3), size)]
    return offers


# --- SSLv2 ----------------------------------------------------------------------------------------------------------


def _ssl2(session: Session) -> Plan[None]:
    """SSLv2 has its own hello, and a server without SSLv2 has no proper way to refuse it.

    To such a server the hello is not even a record. It sends a TLS alert, which an SSLv2 server does not have, or
    closes the connection; a server that also accepts plaintext on the port answers as to a bad request. One such ending
    is enough (docs/decisions/0002-sslv2-refusals.md), unless it is doubtful here.
    """
    reply = yield Offer("SSLv2", SSL2, (), ())
    alert = reply.text.startswith(_ALERT_OF_SSL2)
    if session.control is not None and (alert or reply.ending in ("alert", "fin", "rst", "plaintext")):
        session.evidence.versions.refuse([SSL2], reply)
    elif not reply.accepted:
        session.undecided("SSLv2", reply)
