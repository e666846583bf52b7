"""What a router does with one port: choose by server name, pass TLS through, speak plaintext and TLS on one port.

The first bytes are looked at without taking them off the socket (``MSG_PEEK``), so that whoever goes on gets them all.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping

import trio

from scanner.demo.listening import Part
from scanner.tls import codepoints
from scanner.tls.client_hello import ClientHello
from scanner.tls.extensions import find, pull_server_name
from scanner.tls.records import HEADER_SIZE, RecordReader
from scanner.tls.wire import Malformed

_HELLO_LIMIT = 2**16
_HANDSHAKE = 0x16
_AGAIN_SECONDS = 0.005
_PATIENCE_SECONDS = 10.0


def by_server_name(parts: Mapping[str, Part], otherwise: Part) -> Part:
    """Play the part of the name that the client asks for (RFC 6066, section 3); ``otherwise`` for any other or none."""

    async def part(stream: trio.SocketStream) -> None:
        name = server_name(await _peek_record(stream))
        await parts.get((name or "").lower(), otherwise)(stream)

    return part


def tls_or_plaintext(tls: Part, plaintext: Part) -> Part:
    """HTTP by the capital letter that a method begins with, and TLS whatever else comes, as the router's cmux has it
    (openshift/router ``pkg/router/metrics``)."""

    async def part(stream: trio.SocketStream) -> None:
        first = await stream.socket.recv(1, socket.MSG_PEEK)
        await (plaintext if first.isupper() else tls)(stream)

    return part


def passing_to(address: str, port: int) -> Part:
    """Pass the connection on, byte for byte, until either side ends it."""

    async def part(stream: trio.SocketStream) -> None:
        backend = await trio.open_tcp_stream(address, port)
        async with backend, trio.open_nursery() as nursery:
            nursery.start_soon(_pump, stream, backend)
            await _pump(backend, stream)
            nursery.cancel_scope.cancel()

    return _alone(part)


def _alone(part: Part) -> Part:
    """A part with tasks of its own, which fails as one without them does: by its first exception."""

    async def whole(stream: trio.SocketStream) -> None:
        try:
            await part(stream)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    return whole


def server_name(record: bytes) -> str | None:
    """The name in the ClientHello of a whole record, or None."""
    try:
        (first,) = RecordReader().feed(record)
        return pull_server_name(find(ClientHello.decode(first.fragment).extensions, codepoints.SERVER_NAME) or b"")
    except (Malformed, ValueError):
        return None


async def _peek_record(stream: trio.SocketStream) -> bytes:
    """The first record, whole, or what there is of it when nothing more comes."""
    seen = b""
    with trio.move_on_after(_PATIENCE_SECONDS):
        while True:
            before, seen = seen, await stream.socket.recv(_HELLO_LIMIT, socket.MSG_PEEK)
            if not seen or seen[0] != _HANDSHAKE:
                return seen
            whole = HEADER_SIZE + int.from_bytes(seen[3:HEADER_SIZE], "big")
            if len(seen) >= max(HEADER_SIZE, whole):
                return seen[:whole]
            if len(seen) == len(before):
                await trio.sleep(_AGAIN_SECONDS)
    return seen


async def _pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    while data := await source.receive_some(65536):
        await sink.send_all(data)
    await sink.send_eof()
