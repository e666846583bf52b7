"""A TLS server in this process, without threads and files.

It uses pyOpenSSL's memory BIOs, because ``trio.SSLStream`` reads a private key from a file only. The wheels of
cryptography have no SSLv3, no 3DES and no RC4 (``openssl list -disabled``); below version 47 they cannot choose groups.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal

import trio
from cryptography import x509
from cryptography.hazmat.bindings.openssl.binding import Binding
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Struct
from OpenSSL import SSL, crypto

from scanner.demo.behaviours import UNRECOGNIZED_NAME, alert, finish
from scanner.demo.certificates import Credential
from scanner.demo.listening import Handler
from scanner.errors import ResourceError

_CHUNK = 65536
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 3\r\n\r\nok\n"
_NO_AUTO_CHAIN = 0x8
"""SSL_MODE_NO_AUTO_CHAIN of OpenSSL's ssl.h; pyOpenSSL has no name for it."""
_REFUSED = object()
_VERIFY = {
    "none": SSL.VERIFY_NONE,
    "requested": SSL.VERIFY_PEER,
    "required": SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
}
_CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


class TlsSettings(Struct, frozen=True, kw_only=True):
    """The configuration of a server, in the syntax of OpenSSL."""

    credential: Credential
    min_version: int = 0x0303
    max_version: int = 0x0304
    ciphers: str = "ECDHE+AESGCM:ECDHE+CHACHA20"
    """Cipher list up to TLS 1.2. Versions below 1.2 and weak keys need ``@SECLEVEL=0`` in it."""
    tls13_suites: str | None = None
    """``TLS_AES_128_GCM_SHA256:...``, or None for OpenSSL's default."""
    groups: str | None = None
    """``X25519MLKEM768:X25519:P-256``, or None for OpenSSL's default."""
    server_preference: bool = False
    client_certificate: Literal["none", "requested", "required"] = "none"
    client_ca: x509.Certificate | None = None
    """Issuer of the accepted client certificates, which the CertificateRequest names."""
    alpn: tuple[bytes, ...] = ()
    """In the server's order of preference. Without a common one, the answer has no such extension."""
    ocsp_response: bytes | None = None
    """Stapled unchanged."""
    server_name: str | None = None
    """The only accepted name; others, and none, get an unrecognized_name alert (RFC 6066, section 3)."""


def can_choose_groups() -> bool:
    """True if this build of cryptography can set several groups (one classical group always works)."""
    return hasattr(Binding.lib, "SSL_CTX_set1_curves_list")


def tls_handler(settings: TlsSettings) -> Handler:
    """A ``Handler`` that speaks TLS as configured: handshake, one request, one answer, close_notify.

    Raises ``ResourceError`` for settings that this machine's OpenSSL does not support.
    """
    return partial(_serve, tls_context(settings))


async def _serve(context: SSL.Context, transport: trio.SocketStream) -> None:
    stream = TlsStream(transport, context)
    try:
        await stream.do_handshake()
        if await stream.receive_some():
            await stream.send_all(_OK)
        await stream.finish()
    except _NameRefusedError:
        await transport.send_all(alert(UNRECOGNIZED_NAME))
        await finish(transport)
    except trio.BrokenResourceError:  # the alert is sent
        await finish(transport)


def tls_context(settings: TlsSettings) -> SSL.Context:
    """A configured context. Raises ``ResourceError`` for settings that this machine's OpenSSL does not support."""
    try:
        return _context(settings)
    except SSL.Error as error:
        raise ResourceError(f"OpenSSL refuses the server's settings: {error}") from error


def _context(settings: TlsSettings) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_cipher_list(settings.ciphers.encode())  # first: its security level decides the allowed keys
    if settings.tls13_suites is not None:
        context.set_tls13_ciphersuites(settings.tls13_suites.encode())
    context.set_min_proto_version(settings.min_version)
    context.set_max_proto_version(settings.max_version)
    context.set_mode(
        _NO_AUTO_CHAIN
    )  # else OpenSSL sends the client's CA, found in the trust store, as the server's issuer
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_session_id(b"adhere")  # without one OpenSSL refuses to resume where it asked for a certificate
    if settings.server_preference:
        context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    if settings.groups is not None:
        _limit_groups(context, settings.groups)
    context.use_certificate(settings.credential.certificate)
    for issuer in settings.credential.issuers:
        context.add_extra_chain_cert(issuer)
    context.use_privatekey(settings.credential.key)
    _ask_for_client_certificate(context, settings)
    _answer_extensions(context, settings)
    return context


def _ask_for_client_certificate(context: SSL.Context, settings: TlsSettings) -> None:
    if settings.client_ca is not None:
        store = context.get_cert_store()
        if store is not None:
            store.add_cert(crypto.X509.from_cryptography(settings.client_ca))
        context.add_client_ca(settings.client_ca)
    context.set_verify(_VERIFY[settings.client_certificate])


def _answer_extensions(context: SSL.Context, settings: TlsSettings) -> None:
    """server_name, ALPN (RFC 7301) and status_request (RFC 6066, section 8)."""
    if settings.alpn:
        context.set_alpn_select_callback(
            lambda _, offered: next((each for each in settings.alpn if each in offered), SSL.NO_OVERLAPPING_PROTOCOLS)
        )
    if settings.ocsp_response is not None:
        staple = settings.ocsp_response
        context.set_ocsp_server_callback(lambda _connection, _data: staple)
    if settings.server_name is not None:
        expected = settings.server_name.encode()

        def check(connection: SSL.Connection) -> None:
            # pyOpenSSL cannot refuse from here, so ``TlsStream`` raises ``_NameRefusedError``.
            if connection.get_servername() != expected:
                connection.set_app_data(_REFUSED)

        context.set_tlsext_servername_callback(check)


def _limit_groups(context: SSL.Context, groups: str) -> None:
    """``SSL_CTX_set1_groups_list``, where the build exports it; one classical group goes without."""
    if can_choose_groups():
        if not Binding.lib.SSL_CTX_set1_curves_list(context._context, groups.encode()):
            raise ResourceError(f"OpenSSL does not know one of the groups {groups}")
        return
    if groups not in _CURVES:
        raise ResourceError(
            f"this build of cryptography cannot limit a server to the groups {groups}",
            hint="install cryptography 50 or newer",
        )
    context.set_tmp_ecdh(_CURVES[groups])


class _NameRefusedError(Exception):
    """The client sent another server name. What OpenSSL wrote meanwhile is never sent."""


class TlsStream(trio.abc.Stream):
    """The server's side of one connection. One task may send while another receives."""

    def __init__(self, transport: trio.SocketStream, context: SSL.Context) -> None:
        self._transport = transport
        self._connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        self._flushing = trio.Lock()

    async def do_handshake(self) -> None:
        """Raises ``trio.BrokenResourceError`` if the peer ends it, or if OpenSSL refuses it, with an alert."""
        try:
            await self._step(self._connection.do_handshake)
        except EOFError:
            raise trio.BrokenResourceError("the peer closed the connection during the handshake") from None

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Raises ``trio.BrokenResourceError``."""
        for start in range(0, len(data), _CHUNK):
            await self._step(partial(self._connection.sendall, bytes(data[start : start + _CHUNK])))

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """The next bytes, or b"" at the peer's end. Raises ``trio.BrokenResourceError``."""
        received: list[bytes] = []
        try:
            await self._step(lambda: received.append(self._connection.recv(max_bytes or _CHUNK)))
        except (SSL.ZeroReturnError, EOFError):
            return b""
        return received[0]

    async def wait_send_all_might_not_block(self) -> None:
        """Required by ``trio.abc.SendStream``."""
        await self._transport.wait_send_all_might_not_block()

    async def finish(self) -> None:
        """Send close_notify and FIN, and read the rest, so that no RST discards what was sent before."""
        with suppress(SSL.Error, trio.BrokenResourceError):
            self._connection.shutdown()
            await self._flush()
        await finish(self._transport)

    async def aclose(self) -> None:
        """Close the socket at once, without close_notify (``finish`` sends it)."""
        self._transport.socket.close()
        await trio.lowlevel.checkpoint()

    async def _step(self, step: Callable[[], object]) -> None:
        """Run ``step`` until OpenSSL needs no more bytes for it. Raises ``EOFError`` if the peer closed."""
        while True:
            try:
                step()
            except SSL.WantReadError:
                done = False
            except SSL.ZeroReturnError:
                raise
            except SSL.Error as error:
                await self._flush()  # the alert
                raise trio.BrokenResourceError(f"TLS: {error}") from error
            else:
                done = True
            if self._connection.get_app_data() is _REFUSED:
                raise _NameRefusedError
            await self._flush()
            if done:
                return
            received = await self._transport.receive_some(_CHUNK)
            if not received:
                raise EOFError
            self._connection.bio_write(received)

    async def _flush(self) -> None:
        async with self._flushing:
            while True:
                try:
                    pending = self._connection.bio_read(_CHUNK)
                except SSL.WantReadError:
                    return
                await self._transport.send_all(pending)
