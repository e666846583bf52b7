"""Offer once more what was refused, with other extensions. Pure generators.

A refusal holds for the extensions of its hello. OpenSSL 4 refuses DHE if groups of RFC 7919 are offered and none is
shared, and GnuTLS if none is offered; Envoy chooses its filter chain, and with it versions and suites, by ALPN
(docs/decisions/0055-two-shapes-of-hello.md). So each accepted version is offered its refused suites once more in the
other shape, with ALPN where the transport has it, and so are the versions below. What is accepted there counts, and an
answer that proves nothing leaves open what was refused before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from scanner.model.observation import ENOUGH
from scanner.probe import candidates
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.refusal_evidence import AT_ONCE, PROTOCOL_VERSION, Outcome, ask_control, ask_with_control
from scanner.probe.session import LEAN_PART, PART, Session, as_long_as, first_offer, in_other_shape, length, selects
from scanner.probe.suite_enumeration import undecided
from scanner.probe.version_details import enumerate_version
from scanner.tls.codepoints import SSL3, TLS10, TLS11, TLS12
from scanner.tls.names import since_tls12, version_name
from scanner.values import replace

_NO_APPLICATION_PROTOCOL = "alert 120"


def offer_again(session: Session) -> Plan[None]:
    """Offer again what was refused from TLS 1.2 to TLS 1.0, if anything was accepted."""
    if session.control is None:
        return
    session.evidence.reshaped = True
    refused = frozenset[int]()
    for version in (TLS12, TLS11, TLS10):
        if version in session.evidence.versions.accepted:
            if not session.needs_suites(version):
                break  # it is forbidden, whatever is accepted below
            codes = _left(session, version)
        else:
            codes = [] if _of_old_versions(version) <= refused else candidates.suites(version)
        if codes and not _is_silent(session, version) and not _is_enough(session, version):
            found = yield from _offer(session, version, codes)
            refused = frozenset() if found else refused.union(codes)
    session.evidence.reshaped = False


def _left(session: Session, version: int) -> Sequence[int]:
    tally = session.tally(version)
    settled = {*tally.accepted, *session.dead_ends, *session.stop.difference(tally.refused)}
    return [code for code in candidates.suites(version) if code not in settled]


@cache
def _of_old_versions(version: int) -> frozenset[int]:
    """The suites that TLS 1.1 and below can select."""
    return frozenset(code for code in candidates.suites(version) if not since_tls12(code))


def _is_enough(session: Session, version: int) -> bool:
    """True if a verdict has enough forbidden suites of the version."""
    tally = session.evidence.suites.get(version)
    if tally is None or not tally.is_enough(session.stop, session.most):
        return False
    tally.unasked = ENOUGH
    return True


def _is_silent(session: Session, version: int) -> bool:
    """True if the listener is silent instead of refusing: more of it shows nothing and costs a timeout."""
    tally = session.evidence.suites.get(version) or session.evidence.versions
    return "silence" in session.evidence.failures and not tally.refused


def _offer(session: Session, version: int, codes: Sequence[int]) -> Plan[bool]:
    """Offer these suites until they are refused. True if any was accepted.

    A listener that takes no hello of this shape, also none that it otherwise accepts, is offered fewer suites, and then
    no ALPN. If it takes none of these, it does not refuse the suites for their shape.
    """
    of_version = session.evidence.versions.refused.get(version) == PROTOCOL_VERSION
    size = len(codes) if of_version and not session.lean else session.part
    sizes = [size, LEAN_PART if session.lean else PART]
    shapes = [(each, alpn) for alpn in dict.fromkeys((session.alpn, ())) for each in dict.fromkeys(sizes)]
    found, left = False, list(codes)
    while left and shapes and not _is_enough(session, version):
        size, session.alpn = shapes[0]
        offer = replace(first_offer(session, version), suites=tuple(left[:size]))
        reply, outcome = yield from _answer(session, in_other_shape(offer, session.alpn))
        if outcome is None:
            short = reply.ending_kind != _NO_APPLICATION_PROTOCOL
            shapes = [each for each in shapes[1:] if short or not each[1]]
            continue
        if outcome is Outcome.UNDECIDED:
            _leave_open(session, version, offer.suites, reply)
        if selects(reply, SSL3, version) and reply.suite in left:
            found = True
            if reply.version != version or version not in session.sorted:
                if reply.version is not None and reply.version not in session.sorted:
                    yield from enumerate_version(session, reply.version, in_other_shape(offer, session.alpn), reply)
                    tally = session.tally(reply.version)  # its suites were not offered in the usual shape
                    tally.refused.clear()
                    tally.unasked = tally.unasked or "the version was accepted only with other extensions"
                break
            left.remove(reply.suite)
        else:
            left = left[size:]
    return found


def _answer(session: Session, offer: Offer) -> Plan[tuple[Reply, Outcome | None]]:
    """Send an offer of the other shape. None: the listener does not take the shape."""
    reply, outcome = yield from ask_with_control(offer, None, session.refusals)
    known = session.known or session.control
    if session.control is None or known is None or outcome is Outcome.ACCEPTED:
        return reply, outcome
    clear = reply.ending_kind in AT_ONCE or length(offer) <= length(session.control)  # else it may be about the length
    if outcome is Outcome.REFUSED and clear:
        return reply, outcome
    if reply.ending_kind == _NO_APPLICATION_PROTOCOL:
        return reply, None
    control = as_long_as([offer], in_other_shape(known, offer.alpn))
    # SSLv3 has neither extensions nor padding.
    if length(control) < length(offer) or not (yield from ask_control(control, session.refusals)).accepted:
        return reply, None
    return (yield from ask_with_control(offer, control, session.refusals, first=reply))


def _leave_open(session: Session, version: int, codes: Sequence[int], reply: Reply) -> None:
    """After an answer that proves nothing the former refusal may be about the extensions."""
    why = f"with other extensions: {undecided(reply)}"
    if version in session.evidence.versions.accepted:
        tally = session.tally(version)
        refused: Sequence[int] = codes
    else:
        tally = session.evidence.versions
        refused = [each for each in tally.refused if SSL3 < each <= version]
        why = f"{version_name(version)} and below, {why}"
    for code in refused:
        tally.refused.pop(code, None)
    tally.unasked = why
