"""A TLS client that takes whatever it is served and says what it saw: pyOpenSSL, apart from the probe."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL

from scanner.demo.certificates import Credential
from tests.servers import PATIENCE


@dataclass(slots=True)
class Seen:
    """The result of one handshake; ``alerts`` are the received ones."""

    completed: bool = False
    version: str = ""
    cipher: str | None = None
    group: str | None = None
    chain: list[bytes] = field(default_factory=list)
    certificate_requested: bool = False
    alerts: list[int] = field(default_factory=list)
    alpn: bytes = b""
    staple: bytes = b""
    said: bytes = b""


async def shake_hands(
    sockaddr: tuple[str, int],
    *,
    server_name: str | None = None,
    versions: tuple[int, int] = (0x0301, 0x0304),
    ciphers: str = "ALL:eNULL:@SECLEVEL=0",
    alpn: tuple[bytes, ...] = (),
    credential: Credential | None = None,
    before: bytes = b"",
) -> Seen:
    """Handshake and one HTTP request, read to the end. ``before`` is sent first and one answer to it is ignored."""
    seen = Seen()
    connection = SSL.Connection(_context(seen, versions, ciphers, alpn, credential), None)
    connection.set_connect_state()
    connection.request_ocsp()
    if server_name:
        connection.set_tlsext_host_name(server_name.encode())
    stream = await trio.open_tcp_stream(*sockaddr)
    async with stream:
        if before:
            await stream.receive_some()
            await stream.send_all(before)
            await stream.receive_some()
        with trio.fail_after(PATIENCE):
            await _converse(stream, connection, seen)
    return seen


async def _converse(stream: trio.SocketStream, connection: SSL.Connection, seen: Seen) -> None:
    ended = False
    request = b"GET / HTTP/1.0\r\n\r\n"
    while True:
        try:
            if not seen.completed:
                connection.do_handshake()
                _note(connection, seen)
                connection.send(request)
            while True:
                seen.said += connection.recv(65536)
        except SSL.WantReadError:
            pass
        except SSL.Error:
            return
        try:
            while True:
                await stream.send_all(connection.bio_read(65536))
        except (SSL.WantReadError, trio.BrokenResourceError):
            pass
        if ended:
            return
        received = await stream.receive_some(65536)
        ended = not received
        connection.bio_write(received) if received else connection.bio_shutdown()


def _note(connection: SSL.Connection, seen: Seen) -> None:
    seen.completed = True
    seen.version = connection.get_protocol_version_name()
    seen.cipher = connection.get_cipher_name()
    seen.group = connection.get_group_name()
    seen.alpn = connection.get_alpn_proto_negotiated()
    chain = connection.get_peer_cert_chain(as_cryptography=True) or []
    seen.chain = [each.public_bytes(Encoding.DER) for each in chain]


def _context(
    seen: Seen, versions: tuple[int, int], ciphers: str, alpn: tuple[bytes, ...], credential: Credential | None
) -> SSL.Context:
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_cipher_list(ciphers.encode())
    context.set_min_proto_version(versions[0])
    context.set_max_proto_version(versions[1])
    if alpn:
        context.set_alpn_protos(list(alpn))
    if credential is not None:
        context.use_certificate(credential.certificate)
        context.use_privatekey(credential.key)

    def note(connection: SSL.Connection, where: int, value: int) -> None:
        if where & SSL.SSL_CB_ALERT and where & SSL.SSL_CB_READ:
            seen.alerts.append(value & 0xFF)
        if b"read server certificate request" in connection.get_state_string():
            seen.certificate_requested = True

    def staple(_connection: SSL.Connection, response: bytes, _data: None) -> bool:
        seen.staple = response
        return True

    context.set_info_callback(note)
    context.set_ocsp_client_callback(staple)
    return context
