"""A TLS server in this process, and a TLS stream for servers that send more than one answer. No thread, no file.

OpenSSL sees only bytes, through pyOpenSSL's memory BIOs; trio carries them. ``trio.SSLStream`` would take a private key
from a file only. The wheels of cryptography have no SSLv3, no 3DES and no RC4 (``openssl list -disabled``), and below
cryptography 47 groups cannot be chosen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

import trio
from cryptography import x509
from cryptography.hazmat.bindings.openssl.binding import Binding
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL, crypto

from scanner.demo.behaviours import UNRECOGNIZED_NAME, alert, finish
from scanner.demo.certificates import Credential
from scanner.demo.listening import Part
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """How a server is configured, in OpenSSL's own words."""

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
    """Whose client certificates are accepted, and what the CertificateRequest names."""
    alpn: tuple[bytes, ...] = ()
    """In the server's order of preference. None in common: the extension is left out of the answer."""
    ocsp_response: bytes | None = None
    """Stapled as it is."""
    server_name: str | None = None
    """Answer any other name, and none, with unrecognized_name (RFC 6066, section 3)."""


def can_choose_groups() -> bool:
    """Whether this build of cryptography lets a server name its groups (one classical group always works)."""
    return hasattr(Binding.lib, "SSL_CTX_set1_curves_list")


def tls_part(settings: TlsSettings) -> Part:
    """A ``Part`` that speaks TLS as configured: handshake, one request, one answer, close_notify.

    Raises ``ResourceError`` for what this machine's OpenSSL cannot play.
    """
    return partial(serve, tls_context(settings))


def tls_context(settings: TlsSettings) -> SSL.Context:
    """OpenSSL, configured so. Raises ``ResourceError`` for what this machine's OpenSSL cannot play."""
    try:
        return _context(settings)
    except SSL.Error as error:
        raise ResourceError(f"OpenSSL refuses the server's settings: {error}") from error


async def serve(context: SSL.Context, stream: trio.SocketStream) -> None:
    """One conversation. Whatever the client sends ends in an orderly answer, an alert or a close."""
    connection = SSL.Connection(context, None)
    connection.set_accept_state()
    try:
        await _step(stream, connection, connection.do_handshake)
        await _step(stream, connection, partial(connection.recv, _CHUNK))
        connection.send(_OK)
        connection.shutdown()
    except SSL.ZeroReturnError:
        with suppress(SSL.Error):
            connection.shutdown()  # the client said close_notify: say it back
    except _NameRefusedError:
        await stream.send_all(alert(UNRECOGNIZED_NAME))
        return await finish(stream)
    except (SSL.Error, EOFError):
        pass  # the alert, where there is one, waits to be sent
    await _flush(stream, connection)
    return await finish(stream)


class _NameRefusedError(Exception):
    """The client asked for another name. What OpenSSL wrote meanwhile is never sent."""


async def _step(stream: trio.SocketStream, connection: SSL.Connection, step: Callable[[], object]) -> None:
    """Run ``step`` until OpenSSL needs no more bytes for it. Raises ``SSL.Error``; ``EOFError`` at the peer's end."""
    while True:
        try:
            step()
        except SSL.WantReadError:
            done = False
        else:
            done = True
        if connection.get_app_data() is _REFUSED:
            raise _NameRefusedError
        await _flush(stream, connection)
        if done:
            return
        received = await stream.receive_some(_CHUNK)
        if not received:
            raise EOFError
        connection.bio_write(received)


async def _flush(stream: trio.SocketStream, connection: SSL.Connection) -> None:
    while True:
        try:
            pending = connection.bio_read(_CHUNK)
        except SSL.WantReadError:
            return
        await stream.send_all(pending)


def _context(settings: TlsSettings) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_cipher_list(settings.ciphers.encode())  # first: the level in it decides which keys are allowed
    if settings.tls13_suites is not None:
        context.set_tls13_ciphersuites(settings.tls13_suites.encode())
    context.set_min_proto_version(settings.min_version)
    context.set_max_proto_version(settings.max_version)
    context.set_mode(_NO_AUTO_CHAIN)  # or the client's CA, found in the trust store, would be served as our own issuer
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
        wanted = settings.server_name.encode()

        def check(connection: SSL.Connection) -> None:
            # pyOpenSSL has no way to say "refuse" from here, so ``serve`` does it instead of OpenSSL.
            if connection.get_servername() != wanted:
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


_CHUNK = 65536


class TlsStream(trio.abc.Stream):
    """The server's side of one connection. One task may send while another receives."""

    def __init__(self, transport: trio.SocketStream, context: SSL.Context) -> None:
        self._transport = transport
        self._connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        self._flushing = trio.Lock()

    async def do_handshake(self) -> None:
        """Raises ``trio.BrokenResourceError`` where the peer ends it, or where OpenSSL refuses it, with an alert."""
        try:
            await self._step(self._connection.do_handshake)
        except EOFError:
            raise trio.BrokenResourceError("the peer left during the handshake") from None

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Raises ``trio.BrokenResourceError``."""
        left = memoryview(data)
        while left:
            piece = left[:_CHUNK]
            await self._step(partial(self._connection.sendall, bytes(piece)))
            left = left[_CHUNK:]

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """The next bytes, or b"" at the peer's end. Raises ``trio.BrokenResourceError``."""
        received: list[bytes] = []
        try:
            await self._step(lambda: received.append(self._connection.recv(max_bytes or _CHUNK)))
        except (SSL.ZeroReturnError, EOFError):
            return b""
        return received[0]

    async def wait_send_all_might_not_block(self) -> None:
        """As the socket says."""
        await self._transport.wait_send_all_might_not_block()

    async def finish(self) -> None:
        """Say close_notify and FIN, and read what is on its way, so that nothing said before is lost by an RST."""
        with contextlib.suppress(SSL.Error, trio.BrokenResourceError):
            self._connection.shutdown()
            await self._flush()
        await finish(self._transport)

    async def aclose(self) -> None:
        """At once; ``finish`` is the polite way."""
        self._transport.socket.close()
        await trio.lowlevel.checkpoint()

    async def _step(self, step: Callable[[], object]) -> None:
        """Run ``step`` until OpenSSL needs no more bytes for it. Raises ``EOFError`` where the peer ended."""
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
