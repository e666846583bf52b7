"""What is asked beside a listener's own name and profile, where an object says what it owes there: other server names,
and a client certificate that nobody trusts.

A refusal counts by the same rule as everywhere (``docs/design.md``, the ten rules of probing, 6): an alert at once, an
end without a word only where it comes again, and silence never.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Literal

import trio

from scanner.model.known import Known, Unknown
from scanner.model.observation import Attempt, Stray
from scanner.probe.converse import Peer
from scanner.probe.evidence import Evidence
from scanner.probe.handshake import Full, handshake
from scanner.probe.identity import Identity, stranger
from scanner.probe.talk import Question
from scanner.tls.certificate import parsed_once

_WORDLESS: Final = frozenset({"fin", "rst"})
_AGAIN: Final = 4
"""How often a connection has to end without a word to be refused, and how often what told nothing is tried."""

Pace = Callable[[], Awaitable[None]]
"""Waits for the next connection's turn."""


async def asides(peer: Peer, question: Question, evidence: Evidence, pace: Pace) -> None:
    """Ask ``peer`` what ``question`` has beside the rest; every connection waits for ``pace``."""
    for name in question.strays:
        evidence.strays.append(await _stray(replace(peer, server_name=name), evidence, pace))
    if question.untrusted_client:
        evidence.untrusted_client = Unknown("the time was over before it was tried")
        evidence.untrusted_client = await _untrusted(peer, evidence, pace)


async def _stray(peer: Peer, evidence: Evidence, pace: Pace) -> Stray:
    """One other name, or none."""
    label = f"server name {peer.server_name}" if peer.server_name else "no server name"
    full = Full()
    for _ in range(_AGAIN):
        full = await _attempt(peer, label, None, evidence, pace)
        if full.chain:
            leaf = parsed_once(full.chain[0])
            served: Literal["served"] = "served"
            return Stray(name=peer.server_name, answer=served, leaf=leaf, client_certificate=full.client_certificate)
        if full.alert is not None or full.ending not in _WORDLESS:
            break
    return Stray(name=peer.server_name, answer=_refusal(full))


def _refusal(full: Full) -> Known[Literal["refused"]]:
    if full.alert is not None or full.ending in _WORDLESS:
        return "refused"
    return Unknown(full.failure or "it completed a handshake without a certificate")


async def _untrusted(peer: Peer, evidence: Evidence, pace: Pace) -> Known[Literal["refused", "accepted"]]:
    """A handshake with a certificate that nobody has signed but itself.

    TLS 1.3 shows the refusal on the first read after it (RFC 8446, section 4.4.2.4), and an end without a word there
    says nothing: it may be the server's answer to our goodbye.
    """
    full = Full()
    for _ in range(_AGAIN):
        full = await _attempt(peer, "untrusted client certificate", stranger(), evidence, pace)
        if full.completed and not full.presented:
            return Unknown("the listener asked for no client certificate")
        if full.presented and full.alert is not None:
            return "refused"
        if full.completed and full.settled:
            return "accepted"
        if not full.completed and full.ending not in _WORDLESS:
            break  # silence, and whatever else more patience would not change
    if full.presented and not full.completed and full.ending in _WORDLESS:
        return "refused"
    return Unknown(f"what it did with one does not say whether it was accepted: {full.summary}")


async def _attempt(peer: Peer, label: str, identity: Identity | None, evidence: Evidence, pace: Pace) -> Full:
    await pace()
    started = trio.current_time()
    try:
        full = await handshake(peer, identity)
    except trio.Cancelled:
        evidence.attempts.append(Attempt(offer=label, reply="cut off", seconds=trio.current_time() - started))
        raise
    alert = f", then alert {full.alert}" if full.completed and full.alert is not None else ""
    evidence.attempts.append(Attempt(offer=label, reply=f"{full.summary}{alert}", seconds=full.seconds))
    return full
