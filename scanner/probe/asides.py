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
from scanner.model.names import NOBODYS
from scanner.model.observation import Answered, Attempt, ClientCertificate, Stray
from scanner.probe.cleartext import cleartext
from scanner.probe.converse import Peer
from scanner.probe.evidence import Evidence
from scanner.probe.handshake import Full, handshake
from scanner.probe.identity import Identity, stranger
from scanner.probe.request import head
from scanner.probe.talk import Question
from scanner.tls.certificate import parsed_once
from scanner.tls.codepoints import TLS13

_WORDLESS: Final = frozenset({"fin", "rst"})
_AGAIN: Final = 5
"""How often a connection has to end without a word to be refused."""

Pace = Callable[[], Awaitable[None]]
"""Waits for the next connection's turn."""


async def asides(peer: Peer, question: Question, evidence: Evidence, pace: Pace) -> None:
    """Ask ``peer`` what ``question`` has beside the rest; every connection waits for ``pace``."""
    if question.cleartext and peer.transport == "tls":
        await pace()
        evidence.cleartext = await cleartext(peer, evidence.attempts)
    await _requests(peer, question.authorities, evidence, pace)
    for name in question.strays:
        evidence.strays.append(await _stray(replace(peer, server_name=name), evidence, pace))
    if question.untrusted_client:
        evidence.untrusted_client = Unknown("the time was over before it was tried")
        evidence.untrusted_client = await _untrusted(peer, evidence, pace)


async def _requests(peer: Peer, authorities: tuple[str, ...], evidence: Evidence, pace: Pace) -> None:
    """For this name, for nobody's, and for each neighbour both here and where it belongs."""
    here = peer.server_name
    if here is None or not authorities:
        return
    pairs = [(here, here), (here, NOBODYS)]
    pairs += [pair for name in authorities for pair in ((here, name), (name, name))]
    for server_name, authority in pairs:
        await pace()
        answer = await head(replace(peer, server_name=server_name), authority, evidence.attempts)
        evidence.answered.append(Answered(server_name=server_name, authority=authority, answer=answer))


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

    TLS 1.3 shows the refusal on the first read after it (RFC 8446, section 4.4.2.4). Where the connection then ends
    without a word, the client says none either from there on: an end can then be no answer to its goodbye.
    """
    label, full = "untrusted client certificate", Full()
    for number in range(_AGAIN + 1):
        full = await _attempt(peer, label, stranger(), evidence, pace, goodbye=number == 0)
        if full.completed and not full.presented:
            return Unknown("the listener asked for no client certificate")
        if full.presented and full.alert is not None:
            return "refused"
        if _went_on(full):
            return "accepted"
        if not full.presented or full.ending not in _WORDLESS:
            return Unknown(f"what it did with one does not say whether it was accepted: {_did(full)}")
    return "refused"


async def insist(peer: Peer, evidence: Evidence, pace: Pace) -> Known[ClientCertificate]:
    """Whether a client certificate is required by a listener that asks for one, and ended without a word."""
    full = Full()
    for _ in range(_AGAIN):
        full = await _attempt(peer, "no client certificate", None, evidence, pace, goodbye=False)
        if not full.requested:
            return Unknown("a client certificate is asked for now and then")
        if full.alert is not None:
            return "required"
        if _went_on(full):
            return "requested"
        if full.ending not in _WORDLESS:
            return Unknown(f"a client certificate is asked for, and whether one is required is not known: {_did(full)}")
    return "required"


def _went_on(full: Full) -> bool:
    """Up to TLS 1.2 the server's Finished comes after it has seen the client's certificate."""
    old = full.negotiated is not None and full.negotiated.version < TLS13
    return full.completed and (full.settled or old)


def _did(full: Full) -> str:
    return full.failure or "it did nothing, and waited for a request"


async def _attempt(
    peer: Peer, label: str, identity: Identity | None, evidence: Evidence, pace: Pace, *, goodbye: bool = True
) -> Full:
    await pace()
    started = trio.current_time()
    try:
        full = await handshake(peer, identity, goodbye=goodbye)
    except trio.Cancelled:
        evidence.attempts.append(Attempt(offer=label, reply="cut off", seconds=trio.current_time() - started))
        raise
    then = f", then alert {full.alert}" if full.alert is not None else f", then {full.ending}" if full.ending else ""
    reply = f"{full.summary}{then if full.completed else ''}"
    evidence.attempts.append(Attempt(offer=label, reply=reply, seconds=full.seconds))
    return full
