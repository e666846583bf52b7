"""Observe one endpoint: version plans, a full handshake and extra checks, within limits and a deadline.

The extra checks are those that an object requires beside the endpoint's name and profile: other server names, an
untrusted client certificate, and HTTP requests. A refusal counts by the same rule as everywhere (``docs/design.md``,
rule 6 of probing): a clear alert at once, a close without an alert only if it is repeated, and silence never.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final, Literal

import trio

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known, Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Answered, Attempt, ClientCertificate, HttpVersion, Observation, Reach, Stray
from scanner.probe import http1
from scanner.probe.dial import Dialer, Where, wait_for_turn
from scanner.probe.engine import Identity, suites_for, untrusted_identity
from scanner.probe.evidence import NO_REQUEST, Evidence, cut_off
from scanner.probe.exchange import Peer, Timer, exchange
from scanner.probe.handshake import FullHandshake, handshake
from scanner.probe.http1 import cleartext, plain_port
from scanner.probe.interview import Interview
from scanner.probe.limits import Gate
from scanner.probe.offers import CLOSE_REPEATS, CLOSES, Offer, Reply
from scanner.probe.session import Question
from scanner.tls.certificate import parsed_once
from scanner.tls.codepoints import TLS13
from scanner.tls.names import alert_name, group_name, suite_name, version_name
from scanner.values import replace

_NEEDS_ALPN: Final = frozenset({"alert", "fin", "rst"})
"""Endings of every hello by a front end that knows no filter chain for clients without ALPN."""

DEADLINE = "the deadline ({:g} s) was reached"


async def observe(
    endpoint: Endpoint, question: Question, gate: Gate, at: datetime, dialer: Dialer | None = None
) -> Observation:
    """Probe ``endpoint`` for ``question``; ``dialer`` opens connections if a socket cannot reach it.

    Takes at most ``gate.limits.deadline`` seconds, plus the time that our own limits (per host, rate) make it wait.

    Never raises for anything that the endpoint does; results before the deadline are in the observation. Raises
    ``ResourceError`` when this machine cannot open connections.
    """
    limits = gate.limits
    evidence = Evidence()
    peer = Peer(
        where=Where(address=endpoint.address, port=endpoint.port, timeout=limits.timeout, dialer=dialer),
        server_name=endpoint.server_name,
        transport=endpoint.transport,
        host=endpoint.host,
    )
    async with gate.host(endpoint):
        with gate.deadline() as scope:
            if limits.rate:
                peer = replace(peer, where=replace(peer.where, pace=partial(gate.pace, scope)))
            await _probe(peer, question, gate, evidence)
    if scope.cancelled_caught:
        evidence.interrupted = gate.stopped or gate.expired or DEADLINE.format(limits.deadline)
    explain_unchecked(peer, question, evidence)
    await evidence.read_certificates()
    observation = evidence.conclude(endpoint.instance, at)
    if scope.cancelled_caught:
        observation = replace(observation, stopped=gate.stopped)
        if not gate.stopped and gate.expired and not evidence.attempts:
            return replace(observation, detail=f"not tested: {gate.expired}", dialled=False)
    if observation.reach is Reach.STARTTLS_NEEDED and endpoint.transport != "tls":
        return replace(observation, reach=Reach.PLAINTEXT)  # the STARTTLS command was sent, and refused
    return observation


async def _probe(peer: Peer, question: Question, gate: Gate, evidence: Evidence) -> None:
    full: FullHandshake | None = None
    if peer.transport != "tls":
        question = replace(question, alpn="never")
    await _ask_all(peer, question, gate, evidence)
    if not evidence.versions.accepted and peer.transport == "tls" and not _NEEDS_ALPN.isdisjoint(evidence.failures):
        full = await handshake(peer, attempts=evidence.attempts)
        if full.negotiated is not None:
            await _ask_all(peer, replace(question, alpn="always"), gate, evidence)
    if evidence.versions.accepted or (full is not None and full.negotiated is not None):
        accepted = chain.from_iterable(tally.accepted for tally in evidence.suites.values())
        peer = replace(peer, suites=suites_for(accepted))
        full = full or await handshake(peer, retry_without_alpn=True, attempts=evidence.attempts)
        add_handshake(evidence, full)
        peer = replace(peer, lean=full.lean)
        if full.requested and isinstance(full.client_certificate, Unknown) and full.ending in ("fin", "rst"):
            evidence.client_certificate = await recheck_client_certificate(peer, evidence)
        await run_extra_checks(peer, question, evidence)


async def _ask_all(peer: Peer, question: Question, gate: Gate, evidence: Evidence) -> None:
    """Send all offers of the question."""
    interview = Interview(question, evidence)
    try:
        with Timer() as timer:
            while (offer := interview.offer) is not None:
                reply = await ask(peer, offer, gate, evidence, timer)
                interview.answer(reply)
                if reply.ending in ("rst", "silence") and interview.offer == offer:
                    await _pause(gate, timer)  # the plan repeats an offer: the failure may be temporary
    finally:
        interview.close()


async def ask(peer: Peer, offer: Offer, gate: Gate, evidence: Evidence, timer: Timer) -> Reply:
    """Send one offer; retry after a pause if no connection was established."""
    left = gate.limits.retries
    while True:
        if peer.where.pace is None:
            await trio.lowlevel.checkpoint_if_cancelled()
        else:
            timer.stop()
            await wait_for_turn(peer.where)
        with cut_off(offer.name, evidence.attempts):
            reply = await exchange(peer, offer, timer)
        evidence.attempts.append(Attempt(offer=offer.name, reply=summary(reply), seconds=reply.seconds))
        if reply.ending != "filtered" or not left:
            return reply
        left -= 1
        await _pause(gate, timer)


async def _pause(gate: Gate, timer: Timer) -> None:
    """Wait before a retry."""
    timer.stop()
    await trio.sleep(gate.limits.backoff * random.uniform(0.5, 1.5))  # noqa: S311 - jitter


def add_handshake(evidence: Evidence, full: FullHandshake) -> None:
    """Add the results of the full handshake."""
    evidence.add_chain(full.chain)
    evidence.client_certificate, evidence.requested = full.client_certificate, full.requested
    if full.negotiated is not None:
        evidence.negotiated = full.negotiated
        # Also accepted: another ALPN may lead to another backend.
        ended = full.negotiated
        evidence.add_reply(Reply("hello", version=ended.version, suite=ended.suite, group=ended.group, done=True))
        evidence.unfinished = f"it negotiated {version_name(ended.version)}" if ended.version != TLS13 else None
    missing = Unknown(f"the full handshake failed: {full.summary}")
    if not full.completed:
        evidence.unfinished = missing.reason
    if full.negotiated is None:
        evidence.negotiated = missing
        if full.alert is not None and not full.requested:
            evidence.control_failed(full.alert)
    evidence.alpn = full.alpn if full.completed else missing
    evidence.ocsp_stapled = full.ocsp_stapled if full.completed else missing


def summary(reply: Reply) -> str:
    """A short description of a reply."""
    if reply.ending == "alert" and reply.alert is not None:
        return f"alert {reply.alert} {alert_name(reply.alert)}"
    if reply.ending != "hello":
        return f"{reply.ending} {reply.text}".rstrip()
    assert reply.version is not None  # noqa: S101 - a hello has one
    parts = [version_name(reply.version)]
    parts += [suite_name(reply.suite)] if reply.suite is not None else []
    parts += [group_name(reply.group)] if reply.group is not None else []
    return " ".join(parts) + ("" if reply.accepted else ", then not continued")


_REFUSING: Final = frozenset({40, 70, 71, 112})
"""Alerts that refuse a name by themselves; others, such as internal_error, must be repeated."""


async def run_extra_checks(peer: Peer, question: Question, evidence: Evidence) -> None:
    """Run the extra checks of ``question``."""
    if question.cleartext and peer.transport == "tls":
        evidence.cleartext = Unknown("the deadline was reached before this check")
        evidence.cleartext = await cleartext(peer, evidence.attempts)
    if question.plain_port is not None:
        evidence.plain_port = Unknown("the deadline was reached before this check")
        evidence.plain_port = await plain_port(peer, *question.plain_port, evidence.attempts)
    await _requests(peer, question.authorities, evidence)
    for name in question.strays:
        evidence.strays.append(await _stray(replace(peer, server_name=name), peer, evidence))
    if question.untrusted_client:
        evidence.untrusted_client = Unknown("the deadline was reached before this check")
        evidence.untrusted_client = await _untrusted(peer, evidence)
        if question.client_requests:
            await _client_requests(peer, evidence)


async def _client_requests(peer: Peer, evidence: Evidence) -> None:
    """Send requests to proxies that complete a handshake with every client and refuse its requests: nginx with
    ``ssl_verify_client``."""
    if evidence.client_certificate == "requested":
        evidence.request_without_certificate = await _answer(peer, None, evidence)
    if evidence.untrusted_client == "accepted":
        evidence.request_untrusted = await _answer(peer, untrusted_identity(), evidence)


async def _answer(peer: Peer, identity: Identity | None, evidence: Evidence) -> Known[str]:
    """The HTTP status, or ``closed`` if the connection closes without an answer each time."""
    found: Known[str] = http1.CLOSED
    for _ in range(CLOSE_REPEATS):
        authority = peer.server_name or peer.host or peer.where.address
        found = await http1.head(peer, authority, evidence.attempts, identity)
        if found is not http1.CLOSED:
            return found if isinstance(found, Unknown) else found.partition(";")[0]
    return "closed"


async def _requests(peer: Peer, authorities: tuple[str, ...], evidence: Evidence) -> None:
    """Send requests for this name, for an unknown name, and for each neighbour on both its own connection and this
    one."""
    here = peer.server_name
    own = (here,) if here is not None else ()
    connections = ((here, (*own, NO_SUCH_NAME, *authorities)), *((name, (name,)) for name in authorities))
    for server_name, named in connections if authorities else ():
        asked = replace(peer, server_name=server_name)
        for authority in named:
            answer = await http1.head(asked, authority, evidence.attempts)
            _answered(evidence, server_name, {authority: answer}, "http/1.1")
        if evidence.alpn == "h2":
            from scanner.probe import http2  # noqa: PLC0415 - few scans need it, and the library behind it

            shared: dict[str, Known[str]] = {}
            try:
                await http2.heads(asked, named, evidence.attempts, shared)
            finally:
                _answered(evidence, server_name, shared, "h2")


def explain_unchecked(peer: Peer, question: Question, evidence: Evidence) -> None:
    """Record why a requested check was not run. A listener that never answered in TLS needs none."""
    why = Unknown(evidence.interrupted or "the probe ended before this check")
    if not evidence.versions.accepted:
        return
    if question.cleartext and peer.transport == "tls" and evidence.cleartext is NO_REQUEST:
        evidence.cleartext = why
    if question.plain_port is not None and evidence.plain_port is NO_REQUEST:
        evidence.plain_port = why
    if question.authorities and not evidence.answered:
        _answered(evidence, peer.server_name, {question.authorities[0]: why}, "http/1.1")


def _answered(
    evidence: Evidence, server_name: str | None, answers: Mapping[str, Known[str]], protocol: HttpVersion
) -> None:
    evidence.answered += [
        Answered(server_name=server_name or "", authority=authority, answer=answer, protocol=protocol)
        for authority, answer in answers.items()
    ]


async def _stray(peer: Peer, known: Peer, evidence: Evidence) -> Stray:
    """Try another name, or none; ``known`` is the peer with its own name. If every connection ended in a way that may
    be an accident, the own name must still be served."""
    label = f"server name {peer.server_name}" if peer.server_name else "no server name"
    full = FullHandshake()
    for _ in range(CLOSE_REPEATS):
        full = await _attempt(peer, label, None, evidence)
        if full.chain:
            leaf = parsed_once(full.chain[0])
            served: Literal["served"] = "served"
            return Stray(name=peer.server_name, answer=served, leaf=leaf, client_certificate=full.client_certificate)
        if full.alert in _REFUSING or (full.alert is None and full.ending not in CLOSES):
            return Stray(name=peer.server_name, answer=_refusal(full))
    control = await _attempt(known, "control", None, evidence)
    answer = (
        _refusal(full) if control.chain else Unknown(f"the endpoint's own name is refused now, too: {control.summary}")
    )
    return Stray(name=peer.server_name, answer=answer)


def _refusal(full: FullHandshake) -> Known[Literal["refused"]]:
    if full.alert is not None or full.ending in CLOSES:
        return "refused"
    return Unknown(full.failure or "the listener completed a handshake without a certificate")


async def _untrusted(peer: Peer, evidence: Evidence) -> Known[Literal["refused", "accepted"]]:
    """Try a handshake with an untrusted, self-signed client certificate.

    TLS 1.3 shows the refusal on the first read after it (RFC 8446, section 4.4.2.4). If the connection then closes
    without an alert, the next tries send no close_notify, so that the close cannot be an answer to it.
    """
    label, full = "untrusted client certificate", FullHandshake()
    for number in range(CLOSE_REPEATS + 1):
        full = await _attempt(peer, label, untrusted_identity(), evidence, goodbye=number == 0)
        if full.completed and not full.presented:
            return Unknown("the listener requested no client certificate")
        if full.presented and full.alert is not None:
            return "refused"
        if _continued(full):
            return "accepted"
        if not full.presented or full.ending not in CLOSES:
            return Unknown(f"whether the listener accepted it could not be determined: {_description(full)}")
    return "refused"


async def recheck_client_certificate(peer: Peer, evidence: Evidence) -> Known[ClientCertificate]:
    """Determine if a client certificate is required by a listener that requests one and closed without an alert."""
    full = FullHandshake()
    for _ in range(CLOSE_REPEATS):
        full = await _attempt(peer, "no client certificate", None, evidence, goodbye=False)
        if not full.requested:
            return Unknown("a client certificate is requested only in some handshakes")
        if full.alert is not None:
            return "required"
        if _continued(full):
            return "requested"
        if full.ending not in CLOSES:
            return Unknown(
                f"a client certificate is requested; whether it is required is unknown: {_description(full)}"
            )
    return "required"


def _continued(full: FullHandshake) -> bool:
    """True if the server continued. Up to TLS 1.2 its Finished follows the client's certificate."""
    old = full.negotiated is not None and full.negotiated.version < TLS13
    return full.completed and (full.settled or old)


def _description(full: FullHandshake) -> str:
    return full.failure or "the listener waited for a request"


async def _attempt(
    peer: Peer, label: str, identity: Identity | None, evidence: Evidence, *, goodbye: bool = True
) -> FullHandshake:
    return await handshake(peer, identity, goodbye=goodbye, offer=label, attempts=evidence.attempts)
