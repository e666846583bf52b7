"""OpenSSL on memory BIOs (pyOpenSSL), and the client certificate that the probe presents.

The server chooses the cost of a handshake. It is bounded: no chain is verified, nothing is renegotiated, finite-field
Diffie-Hellman is offered only to a listener that accepts nothing else, its modulus with at most ``MOST_BITS``.
A step that may take long is computed in a worker thread: OpenSSL releases Python's lock, and the event loop continues
(docs/decisions/0051-handshakes-in-the-event-loop.md). It ends soon, and cancellation waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

import trio
from cryptography import x509
from cryptography.hazmat.bindings.openssl.binding import Binding
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct, field
from OpenSSL import SSL

from scanner.probe.dial import Broken, Connection
from scanner.probe.exchange import Peer
from scanner.probe.offers import EngineSuites
from scanner.tls.flight import ServerFlight
from scanner.tls.names import alert_name, group_code, needs_credentials, suite_code
from scanner.tls.wire import Malformed

_VALID: Final = timedelta(days=1)
_CALLED: Final = "adhere: not trusted"


class Identity(NamedTuple):
    """A client's certificate and key; the key never leaves this process."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@cache
def untrusted_identity() -> Identity:
    """A self-signed client certificate. Made once per run."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _CALLED)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + 30 * _VALID)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    return Identity(builder.sign(key, hashes.SHA256()), key)


RECEIVE = 16384
"""Bytes per read of decrypted data."""
FLUSH = 65536
"""Most bytes that are sent at once; requests and the client's messages of a handshake have a few hundred."""

GROUPS = (
    b"*X25519MLKEM768:*X25519:P-256:X448:P-384:P-521:SecP256r1MLKEM768:SecP384r1MLKEM1024:MLKEM768:MLKEM1024",
    b"*X25519MLKEM768:*X25519:P-256:X448:P-384:P-521:SecP256r1MLKEM768:SecP384r1MLKEM1024",
    b"X25519:P-256:X448:P-384:P-521",
)
"""All groups that OpenSSL supports; the first list that this build accepts is used (``*``: send a key share)."""

LEGACY_SERVER_CONNECT = 0x4
"""SSL_OP_LEGACY_SERVER_CONNECT: also connect to servers without RFC 5746."""

LIMIT = 512 * 1024
"""Limit of bytes from the server."""

MOST_BITS: Final = 4096
"""Limit of the modulus of finite-field Diffie-Hellman in bits: 100 ms of arithmetic. OpenSSL itself allows 10,000."""

_CIPHERS: Final[dict[EngineSuites, bytes]] = {
    "usual": b"ALL:COMPLEMENTOFALL:!DHE:!aNULL:@SECLEVEL=0",
    "with DHE": b"ALL:COMPLEMENTOFALL:!aNULL:@SECLEVEL=0",
    "all": b"ALL:COMPLEMENTOFALL:@SECLEVEL=0",
}

INLINE: Final = 16384
"""Bytes from the server without finite-field Diffie-Hellman whose step is computed in the event loop. The costliest is
one signature by an RSA key with an exponent of 3,071 bits: 15 ms. Usual chains have 3,000 to 6,000 bytes, and a thread
costs as much as the handshake."""

_THREADS: Final = 50
STEPS: Final = trio.CapacityLimiter(_THREADS)
"""Worker threads, as many as endpoints are probed at once: with fewer, hostile listeners would delay others."""


class HandshakeEvents(Struct):
    """Events of one connection, from OpenSSL's callbacks."""

    requested: bool = False
    presented: bool = False
    data: bool = False
    ticket: bool = False
    alert: int | None = None
    staple: bytes = b""
    received: int = 0
    closed: bool = field(default=False)
    flight: ServerFlight | None = None
    """Parser of the unencrypted messages, if the server may choose finite-field Diffie-Hellman."""

    @property
    def is_costly(self) -> bool:
        """True if OpenSSL may compute for long with the received bytes."""
        return self.received > INLINE or (self.received > 0 and self.flight is not None)

    def check(self, data: bytes) -> None:
        """Check received bytes. Raises ``Broken`` for what OpenSSL must not compute with."""
        self.received += len(data)
        if self.received > LIMIT:
            raise Broken("malformed", f"more than {LIMIT} bytes in a handshake")
        if self.flight is None:
            return
        try:
            self.flight.feed(data)
        except Malformed as malformed:
            raise Broken("malformed", str(malformed)) from None
        exchange = self.flight.key_exchange
        if exchange is not None and (exchange.bits or 0) > MOST_BITS:
            raise Broken("malformed", f"a Diffie-Hellman modulus of {exchange.bits} bits, {MOST_BITS} allowed")


async def do_handshake(line: Connection, engine: SSL.Connection, events: HandshakeEvents) -> None:
    """Complete a handshake."""
    await pump(line, engine, events, engine.do_handshake, is_handshake=True)


async def pump(
    line: Connection,
    engine: SSL.Connection,
    events: HandshakeEvents,
    step: Callable[[], object],
    *,
    is_handshake: bool = False,
) -> None:
    """Run ``step``, transferring bytes between OpenSSL and the connection until it succeeds."""
    while True:
        try:
            if is_handshake and events.is_costly:
                await trio.to_thread.run_sync(step, limiter=STEPS)
            else:
                step()
        except SSL.WantReadError:
            await flush(line, engine)
        except SSL.Error:
            with suppress(Broken):
                await flush(line, engine)
            raise
        else:
            await flush(line, engine)
            return
        data = await line.receive()
        if not data:
            raise Broken("fin")
        events.check(data)
        engine.bio_write(data)


async def flush(line: Connection, engine: SSL.Connection) -> None:
    """Send pending data."""
    with suppress(SSL.WantReadError):  # nothing to send
        await line.send(engine.bio_read(FLUSH))


def suites_for(accepted: Iterable[int]) -> EngineSuites:
    """The smallest suite list with one of the suites that a listener accepts; ``all`` if OpenSSL supports none."""
    codes = frozenset(accepted)
    return next((each for each in _CIPHERS if codes & _offered(each)), "all")


@cache
def _offered(suites: EngineSuites) -> frozenset[int]:
    names = SSL.Connection(_context(suites), None).get_cipher_list()
    return frozenset(code for name in names if not needs_credentials(code := suite_code(name)))


@cache
def _context(suites: EngineSuites) -> SSL.Context:
    """The context for all handshakes: it accepts everything, because OpenSSL judges nothing here."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_VERSION)
    context.set_cipher_list(_CIPHERS[suites])
    context.set_verify(SSL.VERIFY_NONE)  # without a callback and trust anchors no signature in a chain is verified
    context.set_options(LEGACY_SERVER_CONNECT | SSL.OP_NO_RENEGOTIATION)
    context.set_info_callback(_watch)
    context.set_ocsp_client_callback(_stapled)
    _set_groups(context)
    return context


def _set_groups(context: SSL.Context) -> None:
    # pyOpenSSL has no public way to set groups; without the binding (cryptography < 50) OpenSSL's default list is used.
    setter = getattr(Binding.lib, "SSL_CTX_set1_curves_list", None)
    if setter is not None:
        any(setter(context._context, groups) == 1 for groups in GROUPS)


def client_engine(
    peer: Peer, alpn: tuple[bytes, ...], events: HandshakeEvents, identity: Identity | None
) -> SSL.Connection:
    """A client before its handshake, with ``identity`` if the server requests one; ``events`` records events."""
    engine = SSL.Connection(_context(peer.suites), None)
    events.flight = None if peer.suites == "usual" else ServerFlight(limit=LIMIT)
    engine.set_app_data(events)
    engine.set_connect_state()
    if peer.server_name:
        engine.set_tlsext_host_name(peer.server_name.rstrip(".").encode("ascii"))
    if alpn:
        engine.set_alpn_protos(list(alpn))
    if identity is not None:
        engine.use_certificate(identity.certificate)
        engine.use_privatekey(identity.key)
    if not peer.lean:
        engine.request_ocsp()
    return engine


def _watch(engine: SSL.Connection, where: int, code: int) -> None:
    """OpenSSL's info callback: alerts and states that have no accessor."""
    events = engine.get_app_data()
    if not isinstance(events, HandshakeEvents):
        return
    if where & SSL.SSL_CB_ALERT and where & SSL.SSL_CB_READ:
        if code >> 8 == 2:
            events.alert = code & 0xFF
    elif where & SSL.SSL_CB_LOOP:
        state = engine.get_state_string()
        events.requested |= b"read server certificate request" in state
        events.presented |= b"write certificate verify" in state  # OpenSSL signs only if it sent a certificate
        events.ticket |= b"session ticket" in state


def _stapled(engine: SSL.Connection, staple: bytes, _: object) -> bool:
    events = engine.get_app_data()
    if isinstance(events, HandshakeEvents):
        events.staple = staple
    return True


def suite_of(engine: SSL.Connection) -> int | None:
    """Code point of the suite."""
    name = engine.get_cipher_name()
    with suppress(KeyError):
        return suite_code(name) if name else None
    return None


def group_of(engine: SSL.Connection) -> int | None:
    """Code point of the group, if this build of pyOpenSSL has an accessor."""
    name = engine.get_group_name() if hasattr(engine, "get_group_name") else None
    if not name:
        return None
    with suppress(KeyError):
        return group_code(name)
    return None


def reason(error: SSL.Error, events: HandshakeEvents) -> str:
    """Reason for a failed handshake: the alert, or OpenSSL's message."""
    if events.alert is not None:
        return f"alert {events.alert} {alert_name(events.alert)}"
    details = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return "; ".join(str(detail[-1]) for detail in details if detail) or type(error).__name__
