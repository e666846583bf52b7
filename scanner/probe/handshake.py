"""One full handshake, for facts that nothing else shows: the TLS 1.3 chain, ALPN, the OCSP staple, and whether a client
certificate is requested or required.

In TLS 1.3 a server reports a missing client certificate only after the handshake is complete for the client (RFC 8446,
section 4.4.2.4). So the client sends close_notify at once and reads the answer: an alert, or the server's close_notify.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import trio
from msgspec import Struct
from OpenSSL import SSL, crypto

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import ALPN as PROTOCOLS
from scanner.model.observation import Attempt, ClientCertificate, Negotiated
from scanner.probe import starttls
from scanner.probe.dial import Broken, Connection, connect, wait_for_turn
from scanner.probe.engine import (
    RECEIVE,
    HandshakeEvents,
    Identity,
    client_engine,
    do_handshake,
    flush,
    group_of,
    pump,
    reason,
    suite_of,
)
from scanner.probe.evidence import cut_off
from scanner.probe.exchange import Peer, upgrade
from scanner.probe.offers import Ending
from scanner.tls.names import ANONYMOUS, authentication
from scanner.tls.wire import Malformed
from scanner.values import replace

ALPN = tuple(name.encode() for name in PROTOCOLS)
NO_APPLICATION_PROTOCOL = 120

MIN_CLOSE_WAIT = 1.0
"""Minimum seconds to wait for the server's answer after the handshake to a client without a certificate."""
_CLOSE_WAIT_FACTOR = 10
"""The same wait as a multiple of the handshake's duration, for a distant server."""

_LATE = "no answer in time"
_NOT_OFFERED = Unknown("the listener closes handshakes that offer ALPN or status_request")
_TOO_EARLY = Unknown("the full handshake did not get that far")
_UNASKABLE = Unknown("an anonymous handshake does not show whether a client certificate is requested")


class FullHandshake(Struct, kw_only=True):
    """The results of a full handshake, possibly incomplete."""

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
    """Reason why it did not complete."""
    ending: Ending | None = None
    """The ending of a connection that broke off, also after the handshake."""
    presented: bool = False
    """A client certificate was requested, and ours was sent and signed for."""
    requested: bool = False
    """A client certificate was requested."""
    settled: bool = False
    """The server continued after it had received the client's certificate message: a session ticket, data, or an
    orderly close."""
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
    retry_without_alpn: bool = False,
    offer: str = "full handshake",
    attempts: list[Attempt] | None = None,
) -> FullHandshake:
    """Make one full handshake with ``peer``, and a second one without ALPN if the server requires it by its alert.

    ``identity`` is presented to a server that requests a client certificate. Without ``goodbye`` a client that was
    requested to present one sends nothing more, and waits for the server. With ``retry_without_alpn`` a server that
    answers, but with nothing that leads to a handshake, gets a second one without ALPN and status_request: some servers
    close the connection for these, and Botan answers ALPN with an empty name.

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
    elif retry_without_alpn and offered and full.negotiated is None and full.failure != _LATE:
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
) -> FullHandshake:
    await wait_for_turn(peer.where)
    started = trio.current_time()
    events = HandshakeEvents()
    engine = client_engine(peer, alpn, events, identity)
    full = FullHandshake()
    with cut_off(offer, attempts), trio.move_on_after(peer.where.timeout) as scope:
        full.failure = await _handshake(peer, engine, events, full, goodbye=goodbye)
    if scope.cancelled_caught and not full.completed:
        full.failure = _LATE
    _read_off(engine, events, full)
    if peer.lean:
        full.alpn = full.ocsp_stapled = _NOT_OFFERED
        full.lean = True
    full.seconds = trio.current_time() - started
    attempts.append(Attempt(offer=offer, reply=full.summary, seconds=full.seconds))
    return full


async def _handshake(
    peer: Peer, engine: SSL.Connection, events: HandshakeEvents, full: FullHandshake, *, goodbye: bool
) -> str | None:
    """Connect and do the handshake; returns why it failed, or None."""
    line: Connection | None = None
    done = False
    started = trio.current_time()
    try:
        line = await connect(peer.where)
        if peer.transport != "tls":
            await upgrade(line, peer)
        await do_handshake(line, engine, events)
        full.completed = True
        if events.requested:
            # Silence proves nothing, so waiting longer than an answer takes is useless.
            with trio.move_on_after(max(MIN_CLOSE_WAIT, _CLOSE_WAIT_FACTOR * (trio.current_time() - started))):
                await _close(line, engine, events, goodbye=goodbye)
        done = True
    except Broken as broken:
        full.ending = broken.ending
        return None if full.completed else f"the connection ended: {broken.ending} {broken.text}".rstrip()
    except (starttls.Refused, starttls.Declined, Malformed) as refused:
        return str(refused)
    except SSL.Error as error:
        return None if full.completed else reason(error, events)
    finally:
        if line is not None and done:
            line.close()
        elif line is not None:
            line.abort()
    return None


async def _close(line: Connection, engine: SSL.Connection, events: HandshakeEvents, *, goodbye: bool) -> None:
    """Send close_notify, if ``goodbye``, and read the server's last messages, such as an alert for a missing
    certificate.

    If the server has already sent an alert and closed, sending fails; the alert can still be read.
    """
    if goodbye:
        engine.shutdown()
        with suppress(Broken):
            await flush(line, engine)
    try:
        while goodbye or not (events.ticket or events.data):
            await pump(line, engine, events, lambda: engine.recv(RECEIVE))
            events.data = True
    except SSL.ZeroReturnError:
        events.closed = True


def _read_off(engine: SSL.Connection, events: HandshakeEvents, full: FullHandshake) -> None:
    """Copy the results from the engine, also after a failed handshake."""
    full.alert = events.alert
    full.requested, full.presented = events.requested, events.presented
    full.settled = events.ticket or events.closed or events.data
    full.chain = tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, c) for c in engine.get_peer_cert_chain() or [])
    full.ocsp_stapled = bool(events.staple)
    suite = suite_of(engine)
    full.client_certificate = _client_certificate(events, full, suite)
    if suite is not None and (full.completed or full.chain):
        full.negotiated = Negotiated(version=engine.get_protocol_version(), suite=suite, group=group_of(engine))
    if full.completed:
        full.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None


def _client_certificate(events: HandshakeEvents, full: FullHandshake, suite: int | None) -> Known[ClientCertificate]:
    if not events.requested and suite is not None and authentication(suite) == ANONYMOUS:
        return _UNASKABLE  # RFC 5246, section 7.4.4
    if not events.requested:
        return "none" if full.completed else full.client_certificate
    if events.alert is not None:
        return "required"
    if full.settled:
        return "requested"
    return Unknown("a client certificate is requested; whether it is required could not be determined")
