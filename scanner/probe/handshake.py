"""One full handshake, for what only a full one shows: the TLS 1.3 chain, ALPN, the OCSP staple, and whether a client
certificate is requested or required.

TLS 1.3 tells a missing client certificate only
after the handshake has ended for the client (RFC 8446, section 4.4.2.4), so the client says close_notify at once and
reads what comes: an alert, or the server's own close_notify.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import trio
from OpenSSL import SSL, crypto

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt, ClientCertificate, Negotiated
from scanner.probe import starttls
from scanner.probe.converse import Peer, upgrade
from scanner.probe.dial import Broken, Connection, connect, turn
from scanner.probe.engine import (
    RECEIVE,
    Identity,
    Witness,
    engine_for,
    flush,
    group_of,
    pump,
    reason,
    shake_hands,
    suite_of,
)
from scanner.probe.evidence import cut_off
from scanner.probe.offers import Ending
from scanner.tls.names import ANONYMOUS, authentication
from scanner.tls.wire import Malformed

ALPN = (b"h2", b"http/1.1")
NO_APPLICATION_PROTOCOL = 120

LAST_WORDS = 1.0
"""Seconds, at least, for what a server says after the handshake to a client without a certificate."""
_ROUNDS = 10
"""The same as a multiple of the time that the handshake took, for a server that is far away."""

_NOT_OFFERED = Unknown("the listener ends a handshake whose hello has ALPN or status_request")
_TOO_EARLY = Unknown("the full handshake did not come that far")
_UNASKABLE = Unknown("an anonymous handshake does not show whether a client certificate is asked for")


@dataclass(slots=True, kw_only=True)
class Full:
    """What the full handshake showed, as far as it came."""

    negotiated: Negotiated | None = None
    chain: tuple[bytes, ...] | None = None
    alpn: Known[str | None] = None
    ocsp_stapled: Known[bool] = False
    client_certificate: Known[ClientCertificate] = _TOO_EARLY
    completed: bool = False
    """Both Finished messages were exchanged."""
    alert: int | None = None
    """The fatal alert that the server sent."""
    failure: str | None = None
    """Why it did not complete, for a reader."""
    ending: Ending | None = None
    """How the connection ended where it broke off; also of one that broke off after the handshake."""
    presented: bool = False
    """A client certificate was asked for, and ours was sent and signed for."""
    requested: bool = False
    """A client certificate was asked for."""
    settled: bool = False
    """The server went on after it had seen what the client has: a session ticket, data, an orderly end of its own."""
    seconds: float = 0.0
    lean: bool = False
    """Neither ALPN nor status_request was offered."""

    @property
    def summary(self) -> str:
        """One line for the evidence."""
        then = (
            f", then alert {self.alert}" if self.alert is not None else f", then {self.ending}" if self.ending else ""
        )
        return self.failure or f"completed{then}"


async def handshake(
    peer: Peer,
    identity: Identity | None = None,
    *,
    goodbye: bool = True,
    insist: bool = False,
    offer: str = "full handshake",
    attempts: list[Attempt] | None = None,
) -> Full:
    """Make one full handshake with ``peer``, and a second one without ALPN, if the server insists by its alert.

    ``identity`` is shown to a server that asks for a client certificate. Without ``goodbye`` the client that was asked
    for one says nothing more, and waits for what the server does of its own accord. With ``insist`` a server that ends
    the connection without a word is asked again without ALPN and status_request, for which some servers end it.

    Each connection is added to ``attempts`` as ``offer``.

    Never raises for anything that the peer does. Raises ``ResourceError`` when this machine cannot connect.
    """
    attempt = partial(
        _attempt, identity=identity, goodbye=goodbye, offer=offer, attempts=[] if attempts is None else attempts
    )
    offered = ALPN if peer.transport == "tls" and not peer.lean else ()
    full = await attempt(peer, offered)
    if full.alert == NO_APPLICATION_PROTOCOL:
        full = await attempt(peer, ())
    elif insist and offered and full.negotiated is None and full.ending in ("fin", "rst"):
        full = await attempt(replace(peer, lean=True), ())
    return full


async def _attempt(
    peer: Peer,
    alpn: tuple[bytes, ...],
    *,
    identity: Identity | None,
    goodbye: bool,
    offer: str,
    attempts: list[Attempt],
) -> Full:
    await turn(peer.where)
    started = trio.current_time()
    witness = Witness()
    engine = engine_for(peer, alpn, witness, identity)
    full = Full()
    with cut_off(offer, attempts), trio.move_on_after(peer.where.timeout) as scope:
        full.failure = await _converse(peer, engine, witness, full, goodbye=goodbye)
    if scope.cancelled_caught and not full.completed:
        full.failure = "no answer in time"
    _read_off(engine, witness, full)
    if peer.lean:
        full.alpn = full.ocsp_stapled = _NOT_OFFERED
        full.lean = True
    full.seconds = trio.current_time() - started
    attempts.append(Attempt(offer=offer, reply=full.summary, seconds=full.seconds))
    return full


async def _converse(peer: Peer, engine: SSL.Connection, witness: Witness, full: Full, *, goodbye: bool) -> str | None:
    """Connect and shake hands; returns why it failed, None when it did not."""
    line: Connection | None = None
    done = False
    started = trio.current_time()
    try:
        line = await connect(peer.where)
        if peer.transport != "tls":
            await upgrade(line, peer)
        await shake_hands(line, engine, witness)
        full.completed = True
        if witness.requested:
            # Silence says nothing, however long it lasts: no more time than an answer takes is given to it.
            with trio.move_on_after(max(LAST_WORDS, _ROUNDS * (trio.current_time() - started))):
                await _part(line, engine, witness, goodbye=goodbye)
        done = True
    except Broken as broken:
        full.ending = broken.ending
        return None if full.completed else f"the connection ended: {broken.ending} {broken.text}".rstrip()
    except (starttls.Refused, starttls.Declined, Malformed) as refused:
        return str(refused)
    except SSL.Error as error:
        return None if full.completed else reason(error, witness)
    finally:
        if line is not None and done:
            line.close()
        elif line is not None:
            line.abort()
    return None


async def _part(line: Connection, engine: SSL.Connection, witness: Witness, *, goodbye: bool) -> None:
    """Say goodbye, if that is wanted, and read the server's last words: its alert for a missing certificate, perhaps.

    A server that was quicker with its alert has closed, and then the goodbye fails. The alert is there to be read.
    """
    if goodbye:
        engine.shutdown()
        with suppress(Broken):
            await flush(line, engine)
    try:
        while goodbye or not (witness.ticket or witness.data):
            await pump(line, engine, witness, lambda: engine.recv(RECEIVE))
            witness.data = True
    except SSL.ZeroReturnError:
        witness.closed = True


def _read_off(engine: SSL.Connection, witness: Witness, full: Full) -> None:
    """What the engine knows afterwards, also of a handshake that failed late."""
    full.alert = witness.alert
    full.requested, full.presented = witness.requested, witness.presented
    full.settled = witness.ticket or witness.closed or witness.data
    full.chain = tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, c) for c in engine.get_peer_cert_chain() or [])
    full.ocsp_stapled = bool(witness.staple)
    suite = suite_of(engine)
    full.client_certificate = _client_certificate(witness, full, suite)
    if suite is not None and (full.completed or full.chain):
        full.negotiated = Negotiated(version=engine.get_protocol_version(), suite=suite, group=group_of(engine))
    if full.completed:
        full.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None


def _client_certificate(witness: Witness, full: Full, suite: int | None) -> Known[ClientCertificate]:
    if not witness.requested and suite is not None and authentication(suite) == ANONYMOUS:
        return _UNASKABLE  # RFC 5246, section 7.4.4
    if not witness.requested:
        return "none" if full.completed else full.client_certificate
    if witness.alert is not None:
        return "required"
    if full.settled:
        return "requested"
    return Unknown("a client certificate is asked for; what the listener did then does not say whether it is required")
