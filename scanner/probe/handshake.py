"""One full handshake, for what only a full one shows: the TLS 1.3 chain, ALPN, the OCSP staple, and whether a client
certificate is requested or required.

OpenSSL's engine on memory BIOs (pyOpenSSL), our own sockets around it. TLS 1.3 tells a missing client certificate only
after the handshake has ended for the client (RFC 8446, section 4.4.2.4), so the client says close_notify at once and
reads what comes: an alert, or the server's own close_notify.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

import trio
from cryptography.hazmat.bindings.openssl.binding import Binding
from OpenSSL import SSL, crypto

from scanner.model.known import Known, Unknown
from scanner.model.observation import ClientCertificate, Negotiated
from scanner.probe import starttls
from scanner.probe.converse import Peer, upgrade
from scanner.probe.dial import Broken, Connection, connect
from scanner.probe.identity import Identity
from scanner.probe.offers import Ending
from scanner.tls.names import alert_name, group_code, suite_code
from scanner.tls.wire import Malformed

ALPN = (b"h2", b"http/1.1")
NO_APPLICATION_PROTOCOL = 120

GROUPS = (
    b"*X25519MLKEM768:*X25519:P-256:X448:P-384:P-521:SecP256r1MLKEM768:SecP384r1MLKEM1024:MLKEM768:MLKEM1024",
    b"*X25519MLKEM768:*X25519:P-256:X448:P-384:P-521:SecP256r1MLKEM768:SecP384r1MLKEM1024",
    b"X25519:P-256:X448:P-384:P-521",
)
"""All groups that OpenSSL can do; the first list that this build takes is used (``*``: send a key share)."""

LEGACY_SERVER_CONNECT = 0x4
"""SSL_OP_LEGACY_SERVER_CONNECT: also talk to servers without RFC 5746."""

LIMIT = 512 * 1024
"""Bytes from the server."""


_TOO_EARLY = Unknown("the full handshake did not come that far")


@dataclass(slots=True, kw_only=True)
class Full:
    """What the full handshake showed, as far as it came."""

    negotiated: Negotiated | None = None
    chain: tuple[bytes, ...] | None = None
    alpn: str | None = None
    ocsp_stapled: bool = False
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

    @property
    def summary(self) -> str:
        """One line for the evidence."""
        return self.failure or "completed"


@dataclass(slots=True)
class _Witness:
    """What OpenSSL's callbacks saw of one connection."""

    requested: bool = False
    presented: bool = False
    data: bool = False
    ticket: bool = False
    alert: int | None = None
    staple: bytes = b""
    received: int = 0
    closed: bool = field(default=False)


async def handshake(peer: Peer, identity: Identity | None = None, *, goodbye: bool = True) -> Full:
    """Make one full handshake with ``peer`` (and a second one without ALPN, if the server insists).

    ``identity`` is shown to a server that asks for a client certificate. Without ``goodbye`` the client that was asked
    for one says nothing more, and waits for what the server does of its own accord.

    Never raises for anything that the peer does. Raises ``ResourceError`` when this machine cannot connect.
    """
    full = await _attempt(peer, ALPN if peer.transport == "tls" else (), identity, goodbye=goodbye)
    if full.alert == NO_APPLICATION_PROTOCOL:
        full = await _attempt(peer, (), identity, goodbye=goodbye)
    return full


async def _attempt(peer: Peer, alpn: tuple[bytes, ...], identity: Identity | None, *, goodbye: bool) -> Full:
    started = trio.current_time()
    witness = _Witness()
    engine = _engine(peer, alpn, witness)
    if identity is not None:
        engine.use_certificate(identity.certificate)
        engine.use_privatekey(identity.key)
    full = Full()
    with trio.move_on_after(peer.where.timeout) as scope:
        full.failure = await _converse(peer, engine, witness, full, goodbye=goodbye)
    if scope.cancelled_caught and not full.completed:
        full.failure = "no answer in time"
    _read_off(engine, witness, full)
    full.seconds = trio.current_time() - started
    return full


async def _converse(peer: Peer, engine: SSL.Connection, witness: _Witness, full: Full, *, goodbye: bool) -> str | None:
    """Connect and shake hands; returns why it failed, None when it did not."""
    line: Connection | None = None
    done = False
    try:
        line = await connect(peer.where)
        if peer.transport != "tls":
            await upgrade(line, peer)
        await _pump(line, engine, witness, engine.do_handshake)
        full.completed = True
        if witness.requested:
            await _part(line, engine, witness, goodbye=goodbye)
        done = True
    except Broken as broken:
        full.ending = broken.ending
        return None if full.completed else f"the connection ended: {broken.ending} {broken.text}".rstrip()
    except (starttls.Refused, Malformed) as refused:
        return str(refused)
    except SSL.Error as error:
        return None if full.completed else _reason(error, witness)
    finally:
        if line is not None and done:
            line.close()
        elif line is not None:
            line.abort()
    return None


async def _part(line: Connection, engine: SSL.Connection, witness: _Witness, *, goodbye: bool) -> None:
    """Say goodbye, if that is wanted, and read the server's last words: its alert for a missing certificate, perhaps.

    A server that was quicker with its alert has closed, and then the goodbye fails. The alert is there to be read.
    """
    if goodbye:
        engine.shutdown()
        with suppress(Broken):
            await _flush(line, engine)
    try:
        while goodbye or not (witness.ticket or witness.data):
            await _pump(line, engine, witness, lambda: engine.recv(RECEIVE))
            witness.data = True
    except SSL.ZeroReturnError:
        witness.closed = True


async def exchange(peer: Peer, request: bytes) -> Known[bytes]:
    """Shake hands for HTTP/1.1, send ``request`` and read to the end of the answer's header.

    Never raises for anything that the peer does. Raises ``ResourceError`` when this machine cannot connect.
    """
    witness, seen = _Witness(), bytearray()
    engine = _engine(peer, ALPN[1:], witness)
    line: Connection | None = None
    try:
        with trio.move_on_after(peer.where.timeout):
            line = await connect(peer.where)
            await _pump(line, engine, witness, engine.do_handshake)
            engine.send(request)
            while HEADER_END not in seen and len(seen) < RECEIVE:
                await _pump(line, engine, witness, lambda: seen.extend(engine.recv(RECEIVE)))
    except (Broken, SSL.Error) as error:
        why = _reason(error, witness) if isinstance(error, SSL.Error) else f"the connection ended: {error.ending}"
        return bytes(seen) if seen else Unknown(why)
    finally:
        if line is not None:
            line.abort()
    return bytes(seen) if seen else Unknown("no answer in time")


HEADER_END = b"\r\n\r\n"
RECEIVE = 16384
FLUSH = 65536


async def _pump(line: Connection, engine: SSL.Connection, witness: _Witness, step: Callable[[], object]) -> None:
    """Run ``step`` of the engine, carrying bytes between it and the line until it is through."""
    while True:
        try:
            step()
        except SSL.WantReadError:
            await _flush(line, engine)
        except SSL.Error:
            with suppress(Broken):
                await _flush(line, engine)
            raise
        else:
            await _flush(line, engine)
            return
        data = await line.receive()
        witness.received += len(data)
        if not data:
            raise Broken("fin")
        if witness.received > LIMIT:
            raise Broken("malformed", "more bytes than a handshake has")
        engine.bio_write(data)


async def _flush(line: Connection, engine: SSL.Connection) -> None:
    with suppress(SSL.WantReadError):  # there is nothing
        while True:
            data = engine.bio_read(FLUSH)
            await line.send(data)
            if len(data) < FLUSH:  # asking once more would cost an exception
                return


# --- OpenSSL --------------------------------------------------------------------------------------------------------


@cache
def _context() -> SSL.Context:
    """One context for all handshakes: it accepts everything, because judging is not the engine's business."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_VERSION)
    context.set_cipher_list(b"ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    context.set_verify(SSL.VERIFY_NONE, lambda *_: True)
    context.set_options(LEGACY_SERVER_CONNECT)
    context.set_info_callback(_watch)
    context.set_ocsp_client_callback(_stapled)
    _set_groups(context)
    return context


def _set_groups(context: SSL.Context) -> None:
    # pyOpenSSL has no public way to set groups; without the binding (cryptography < 50) OpenSSL's own list stands.
    setter = getattr(Binding.lib, "SSL_CTX_set1_curves_list", None)
    if setter is not None:
        any(setter(context._context, groups) == 1 for groups in GROUPS)


def _engine(peer: Peer, alpn: tuple[bytes, ...], witness: _Witness) -> SSL.Connection:
    engine = SSL.Connection(_context(), None)
    engine.set_app_data(witness)
    engine.set_connect_state()
    if peer.server_name:
        engine.set_tlsext_host_name(peer.server_name.rstrip(".").encode("ascii"))
    if alpn:
        engine.set_alpn_protos(list(alpn))
    engine.request_ocsp()
    return engine


def _watch(engine: SSL.Connection, where: int, code: int) -> None:
    """OpenSSL's info callback: alerts and states that no accessor tells."""
    witness = engine.get_app_data()
    if not isinstance(witness, _Witness):
        return
    if where & SSL.SSL_CB_ALERT and where & SSL.SSL_CB_READ:
        if code >> 8 == 2:
            witness.alert = code & 0xFF
    elif where & SSL.SSL_CB_LOOP:
        state = engine.get_state_string()
        witness.requested |= b"read server certificate request" in state
        witness.presented |= b"write certificate verify" in state  # OpenSSL signs for nothing that it did not send
        witness.ticket |= b"session ticket" in state


def _stapled(engine: SSL.Connection, staple: bytes, _: object) -> bool:
    witness = engine.get_app_data()
    if isinstance(witness, _Witness):
        witness.staple = staple
    return True


def _read_off(engine: SSL.Connection, witness: _Witness, full: Full) -> None:
    """What the engine knows afterwards, also of a handshake that failed late."""
    full.alert = witness.alert
    full.requested, full.presented = witness.requested, witness.presented
    full.settled = witness.ticket or witness.closed or witness.data
    full.chain = tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, c) for c in engine.get_peer_cert_chain() or [])
    full.ocsp_stapled = bool(witness.staple)
    full.client_certificate = _client_certificate(witness, full)
    suite = _suite(engine)
    if suite is not None and (full.completed or full.chain):
        full.negotiated = Negotiated(version=engine.get_protocol_version(), suite=suite, group=_group(engine))
    if full.completed:
        full.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None


def _client_certificate(witness: _Witness, full: Full) -> Known[ClientCertificate]:
    if not witness.requested:
        return "none" if full.completed else full.client_certificate
    if witness.alert is not None:
        return "required"
    if full.settled:
        return "requested"
    return Unknown("a client certificate is asked for; what the listener did then does not say whether it is required")


def _suite(engine: SSL.Connection) -> int | None:
    name = engine.get_cipher_name()
    with suppress(KeyError):
        return suite_code(name) if name else None
    return None


def _group(engine: SSL.Connection) -> int | None:
    name = engine.get_group_name() if hasattr(engine, "get_group_name") else None
    if not name:
        return None
    with suppress(KeyError):
        return group_code(name)
    return None


def _reason(error: SSL.Error, witness: _Witness) -> str:
    if witness.alert is not None:
        return f"alert {witness.alert} {alert_name(witness.alert)}"
    details = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return "; ".join(str(detail[-1]) for detail in details if detail) or type(error).__name__
