"""Find the versions from TLS 1.2 down to SSLv3 that the server accepts, and those that it refuses.

Each hello names the highest version that is not yet settled. Below the lowest version that anybody speaks a single
refusal with protocol_version ends the descent (design rule 7); any other refusal has to be repeated by whatever was
not in that hello. No version is called refused before something was accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scanner.probe import candidates
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import AT_ONCE, Outcome, ask_again, ask_contradicted, ask_control, ask_soundly
from scanner.probe.session import (
    PROTOCOL_VERSION,
    Talk,
    all_before,
    batched,
    control_for,
    first_offer,
    leaner,
    most_doubtful,
    selects,
)
from scanner.probe.version_details import NO_USER, spoken, without_srp
from scanner.tls.codepoints import SSL3, TLS12, TLS13
from scanner.tls.names import needs_credentials, version_name

DEAD_ENDS = 16
"""How many suites that lead nowhere are taken out of the first offer of a version."""


def descend(talk: Talk) -> Plan[None]:
    """From TLS 1.2 down to SSLv3: each hello names the highest version that is not yet settled.

    While nothing has been accepted a refusal says little, for example of a server that does not know versions later
    than its own (RFC 5246, appendix E.1, forbids that): then the version below is asked for itself, and what was passed
    over is settled later.
    """
    version = TLS12
    passed_over: list[tuple[Offer, Reply]] = []
    while version >= SSL3:
        offer, reply, outcome = yield from _open(talk, version)
        if outcome is Outcome.ACCEPTED:
            version = (yield from _found(talk, offer, reply)) - 1
        elif talk.control is None:
            passed_over.append((offer, reply))
            version -= 1
        elif version == TLS12 and not talk.takes_at_its_word(reply) and reply.ending != "silence":
            # It may speak the version and have no suite for it: some suites end with TLS 1.1 (RFC 5246, section 1.2).
            _close(talk, [version], reply, outcome)
            version -= 1
        else:
            _close(talk, range(SSL3, version + 1), reply, outcome)
            break
    for offer, reply in passed_over:
        if talk.control is not None or offer.version == TLS12:
            yield from _settle(talk, offer, reply)


def _found(talk: Talk, offer: Offer, reply: Reply) -> Plan[int]:
    """A version was selected, which also says that none between it and the offered one is spoken. Returns it."""
    version = reply.version or 0
    talk.evidence.versions.refuse(range(version + 1, offer.version + 1), reply)
    if version not in talk.sorted:
        yield from spoken(talk, version, offer, reply)
    return version


def _close(talk: Talk, versions: Iterable[int], reply: Reply, outcome: Outcome) -> None:
    """These versions were not accepted."""
    asked = [version for version in versions if version not in talk.evidence.versions.accepted]
    if outcome is Outcome.REFUSED:
        talk.evidence.versions.refuse(asked, reply)
    elif asked:
        talk.undecided(f"{version_name(max(asked))} and below", reply)


def _settle(talk: Talk, offer: Offer, reply: Reply) -> Plan[None]:
    """A version that was passed over while nothing had been accepted."""
    version = offer.version
    if talk.takes_at_its_word(reply):
        _close(talk, [version], reply, Outcome.REFUSED)
        return
    offer, reply, outcome = yield from _ask_the_rest(talk, first_offer(talk, version))
    if outcome is Outcome.ACCEPTED:
        yield from _found(talk, offer, reply)
    else:
        _close(talk, [version], reply, outcome)


def _open(talk: Talk, version: int) -> Plan[tuple[Offer, Reply, Outcome]]:
    """The first hello of ``version``, and whatever it takes to make its refusal mean something."""
    offer = first_offer(talk, version)
    offer, reply = yield from _past_dead_ends(offer, (yield offer))
    if selects(reply, SSL3, version):
        return offer, reply, Outcome.ACCEPTED
    if talk.takes_at_its_word(reply):
        return offer, reply, Outcome.REFUSED
    if _needs_lean(talk, offer, reply):
        small, answer = yield from leaner(talk, offer, reply)
        if selects(answer, SSL3, version):
            return small, answer, Outcome.ACCEPTED
        talk.leaned = version, answer
    if talk.control is None:
        return offer, reply, Outcome.UNDECIDED
    if (yield from _deepen(talk, offer)) and reply.ending == "alert":
        # With a control between the two, a listener that refuses every second connection would refuse both.
        reply, _ = yield from ask_again(offer, talk.manner, reply)
    return (yield from _ask_the_rest(talk, offer, reply))


def _deepen(talk: Talk, offer: Offer) -> Plan[bool]:
    """Find out how many suites are read, where that is not known: as many as may be, and an accepted one last.

    Returns whether anything was asked.
    """
    asked, every = False, len(candidates.suites(offer.version))
    for size in (128, 64) if talk.lean else (every,):
        known = talk.tls13 or talk.known
        if known is None or known.version == SSL3 or talk.depth >= size:
            break
        codes = [code for code in candidates.suites(offer.version) if code not in known.suites]
        deep = all_before(known, codes[:size])
        again, asked = (yield from ask_control(deep, talk.manner)), True
        if again.accepted:
            talk.accepted(deep, again)
            break
    return asked


def _needs_lean(talk: Talk, offer: Offer, reply: Reply) -> bool:
    """Whether the refusal may be about the width of the hello. One lean hello asks for all versions below, too."""
    if len(offer.suites) > talk.widest:
        return True
    narrow = min(talk.sorted, default=TLS13) > TLS12
    return narrow and not (talk.leaned and talk.control) and reply.how not in (PROTOCOL_VERSION, "silence")


def _past_dead_ends(offer: Offer, reply: Reply) -> Plan[tuple[Offer, Reply]]:
    """Leave out what is selected and then not gone on with, so that the rest of the version can be asked."""
    for _ in range(DEAD_ENDS):
        if reply.ending != "hello" or reply.accepted or reply.suite not in offer.suites:
            break
        codes = tuple(code for code in offer.suites if code != reply.suite)
        offer = replace(offer, suites=codes, padding=offer.padding + 2)
        reply = yield offer
    return offer, reply


def _ask_the_rest(talk: Talk, offer: Offer, reply: Reply | None = None) -> Plan[tuple[Offer, Reply, Outcome]]:
    """Everything that must be refused too before the version of ``offer`` is called refused.

    ``reply`` is the answer to ``offer``, if it is at hand. Goes on after what remains undecided: something forbidden
    may still show itself.
    """
    offers = _rest_of_version(talk, offer)
    control = yield from control_for(talk, offers)
    proves = control is not None and not talk.dead_ends and not talk.few
    answers: list[Reply] = []
    while offers:
        asked = offers.pop(0)
        first = reply if asked == offer else None
        plain = tuple(code for code in asked.suites if not needs_credentials(code))
        learns = plain == asked.suites
        answer, outcome = yield from ask_soundly(asked, control if learns else None, talk.manner, first=first)
        if outcome is Outcome.ACCEPTED and selects(answer, SSL3, asked.version):
            return (yield from _contradicted(talk, offer, answers, asked, answer))
        if not learns and answers and answer.how not in (*AT_ONCE, answers[0].how):
            outcome = Outcome.UNDECIDED
        proves = proves and outcome is Outcome.REFUSED
        if talk.leaned is not None and talk.leaned[0] == asked.version and talk.about_width(answer, talk.leaned[1]):
            proves = False
        answers.append(answer)
        if answer.ending == "silence":
            break
        others = without_srp(asked.suites) if answer.how == NO_USER else asked.suites
        if others != asked.suites:
            offers.insert(0, replace(asked, suites=others))
        elif outcome is not Outcome.REFUSED and plain and not learns:
            offers.insert(0, replace(asked, suites=plain))
    return offer, most_doubtful(talk, answers), Outcome.REFUSED if proves else Outcome.UNDECIDED


def _contradicted(
    talk: Talk, offer: Offer, answers: list[Reply], asked: Offer, answer: Reply
) -> Plan[tuple[Offer, Reply, Outcome]]:
    """The first offer of a version was refused, and a later one accepted: ask the first again."""
    if answers and asked.version == offer.version:
        again = yield from ask_contradicted(offer, answers[0], talk.manner)
        if again is not None and selects(again, SSL3, offer.version):
            return offer, again, Outcome.ACCEPTED
    return asked, answer, Outcome.ACCEPTED


def _rest_of_version(talk: Talk, offer: Offer) -> list[Offer]:
    """Every suite of the version, those of today in two orders, those that need credentials apart, and SSLv3.

    In hellos that are read to the end; of one that is longer, what stands too far down is asked once more. If it takes
    several hellos, each has suites for one kind of certificate, so that their order decides nothing.
    """
    version, size = offer.version, talk.part
    whole = not talk.lean and len(offer.suites) <= 2 * size
    if whole:
        again = candidates.in_other_order(offer.suites)
        first, rest = [offer.suites], [*again, *(code for code in offer.suites[size:] if code not in again)]
    else:
        kinds = candidates.by_certificate(candidates.suites(version))
        first, rest = [part for kind in kinds for part in batched(kind, size)], []
    apart = replace(offer, name=f"{version_name(version)} with credentials")
    offers = [replace(offer, suites=part) for part in first]
    offers += [replace(apart, suites=part) for part in batched([*rest, *candidates.credential_suites(version)], size)]
    if SSL3 < version < TLS12:
        offers += [Offer("SSLv3", SSL3, part, ()) for part in batched(candidates.suites(SSL3), size)]
    return offers
