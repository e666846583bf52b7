"""Observe one endpoint: control offer, plans and a full handshake, within limits and a deadline."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain

import trio

from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Attempt, Observation, Reach
from scanner.probe.converse import Patience, Peer, converse
from scanner.probe.dial import Way, Where, turn
from scanner.probe.engine import suites_for
from scanner.probe.evidence import Evidence, cut_off
from scanner.probe.extra_checks import asides, insist, leave_open
from scanner.probe.handshake import Full, handshake
from scanner.probe.limits import Gate
from scanner.probe.offers import Offer, Reply
from scanner.probe.plans import Question, interrogate
from scanner.tls.codepoints import TLS13
from scanner.tls.names import alert_name, group_name, suite_name, version_name

DEADLINE = "the deadline of {:g} s came first"


async def observe(
    endpoint: Endpoint, question: Question, gate: Gate, at: datetime, way: Way | None = None
) -> Observation:
    """Ask ``endpoint`` what ``question`` needs; ``way`` is how to get there, where a socket does not lead there.

    Takes ``gate.limits.deadline`` seconds at most, beside the time in which our own limits (per host, rate) make it
    wait.

    Never raises for anything that the endpoint does; what was seen before the deadline is in the observation.
    Raises ``ResourceError`` when this machine cannot open connections.
    """
    limits = gate.limits
    evidence = Evidence()
    peer = Peer(
        where=Where(address=endpoint.address, port=endpoint.port, timeout=limits.timeout, way=way),
        server_name=endpoint.server_name,
        transport=endpoint.transport,
        host=endpoint.host,
    )
    async with gate.host(endpoint):
        with gate.deadline() as scope:
            where = replace(peer.where, pace=partial(gate.pace, scope))
            await _interview(replace(peer, where=where), question, gate, evidence)
    if scope.cancelled_caught:
        evidence.interrupted = gate.stopped or DEADLINE.format(limits.deadline)
    leave_open(peer, question, evidence)
    await evidence.read_certificates()
    observation = evidence.conclude(endpoint.instance, at)
    if scope.cancelled_caught:
        observation = replace(observation, stopped=gate.stopped)
    if observation.reach is Reach.STARTTLS_NEEDED and endpoint.transport != "tls":
        return replace(observation, reach=Reach.PLAINTEXT)  # the command was said, and refused
    return observation


async def _interview(peer: Peer, question: Question, gate: Gate, evidence: Evidence) -> None:
    plan = interrogate(question, evidence)
    offer = next(plan)
    with Patience() as patience, suppress(StopIteration):
        while True:
            reply = await ask(peer, offer, gate, evidence, patience)
            evidence.note(reply)
            last, offer = offer, plan.send(reply)
            if offer == last and reply.ending in ("rst", "silence"):
                await _pause(gate, patience)  # the same again: what went wrong may pass
    if evidence.versions.accepted:
        accepted = chain.from_iterable(tally.accepted for tally in evidence.suites.values())
        peer = replace(peer, suites=suites_for(accepted))
        full = await handshake(peer, insist=True, attempts=evidence.attempts)
        take_in(evidence, full)
        peer = replace(peer, lean=full.lean)
        await _beside(peer, question, evidence, full)


async def _beside(peer: Peer, question: Question, evidence: Evidence, full: Full) -> None:
    """What the full handshake left open of client certificates, and what ``question`` has beside the rest."""
    if full.requested and isinstance(full.client_certificate, Unknown) and full.ending in ("fin", "rst"):
        evidence.client_certificate = await insist(peer, evidence)
    await asides(peer, question, evidence)


async def ask(peer: Peer, offer: Offer, gate: Gate, evidence: Evidence, patience: Patience) -> Reply:
    """One offer, asked again after a pause where not even the connection came about."""
    left = gate.limits.retries
    while True:
        patience.rest()
        await turn(peer.where)
        with cut_off(offer.name, evidence.attempts):
            reply = await converse(peer, offer, patience)
        evidence.attempts.append(Attempt(offer=offer.name, reply=summary(reply), seconds=reply.seconds))
        if reply.ending != "filtered" or not left:
            return reply
        left -= 1
        await _pause(gate, patience)


async def _pause(gate: Gate, patience: Patience) -> None:
    """Before the same is tried again."""
    patience.rest()
    await trio.sleep(gate.limits.backoff * random.uniform(0.5, 1.5))  # noqa: S311 - jitter


def take_in(evidence: Evidence, full: Full) -> None:
    """Add what the full handshake showed."""
    evidence.shown(full.chain)
    evidence.client_certificate, evidence.requested = full.client_certificate, full.requested
    if full.negotiated is not None:
        evidence.negotiated = full.negotiated
        # What it ended in is accepted like anything else: another ALPN may lead to another backend.
        ended = full.negotiated
        evidence.note(Reply("hello", version=ended.version, suite=ended.suite, group=ended.group, done=True))
        evidence.unfinished = f"it ended in {version_name(ended.version)}" if ended.version != TLS13 else None
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
    """A reply in a few words."""
    if reply.ending == "alert" and reply.alert is not None:
        return f"alert {reply.alert} {alert_name(reply.alert)}"
    if reply.ending != "hello":
        return f"{reply.ending} {reply.text}".rstrip()
    parts = [version_name(reply.version or 0)]
    parts += [suite_name(reply.suite)] if reply.suite is not None else []
    parts += [group_name(reply.group)] if reply.group is not None else []
    return " ".join(parts) + ("" if reply.accepted else ", not gone on with")
