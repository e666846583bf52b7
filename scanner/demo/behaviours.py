"""Parts that are not TLS, or not yet: outcomes of the taxonomy, and the choice by server name as in a router.

A close with unread bytes makes Linux send RST, and an RST discards the answer before it. So every part that ends with
FIN reads the whole hello first and drains what else comes before it closes. A part that chooses looks at the first
bytes without taking them off the socket (``MSG_PEEK``), so that the part that it chooses reads them all.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Awaitable, Callable, Mapping

import trio

from scanner.demo.listening import Part
from scanner.tls import codepoints
from scanner.tls.client_hello import ClientHello
from scanner.tls.extensions import find, pull_server_name
from scanner.tls.records import HEADER_SIZE, RecordReader
from scanner.tls.wire import Malformed

_RECORD_LIMIT = 5 + 2**14 + 2048
"""The longest record that anybody may send (RFC 5246 section 6.2.3)."""
_DRAIN_LIMIT = 2**20
_DRAIN_SECONDS = 10.0
_LINES = 64
_LINE_LIMIT = 1024

HANDSHAKE_FAILURE, UNRECOGNIZED_NAME = 40, 112
"""Alert descriptions, RFC 8446 section 6 and RFC 6066 section 3."""


async def read_hello(stream: trio.SocketStream) -> bytes:
    """The first TLS record, whole; or what came instead, up to its limit or the peer's end."""
    received = b""
    while len(received) < 5 or len(received) < min(5 + int.from_bytes(received[3:5], "big"), _RECORD_LIMIT):
        more = await stream.receive_some(_RECORD_LIMIT)
        if not more:
            break
        received += more
        if received[0] != 0x16:
            break
    return bytes(received)


async def finish(stream: trio.SocketStream) -> None:
    """End with FIN: no more from us, and read what is on its way so that the close sends no RST."""
    await stream.send_eof()
    left = _DRAIN_LIMIT
    with trio.move_on_after(_DRAIN_SECONDS):
        while left > 0 and (more := await stream.receive_some(65536)):
            left -= len(more)


def say(reply: bytes) -> Part:
    """Send ``reply``, end with FIN."""

    async def part(stream: trio.SocketStream) -> None:
        if reply:
            await stream.send_all(reply)
        await finish(stream)

    return part


def after_hello(part: Part) -> Part:
    """Read the hello, then do as ``part``."""

    async def whole(stream: trio.SocketStream) -> None:
        await read_hello(stream)
        await part(stream)

    return whole


async def abort(stream: trio.SocketStream) -> None:
    """Make the close an RST (SO_LINGER with no time, socket(7))."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def alert(description: int, *, level: int = 2) -> bytes:
    """One alert record: RFC 8446 section 6. ``level`` 2 is fatal."""
    return bytes((0x15, 3, 3, 0, 2, level, description))


MALFORMED = b"\x16\x03\x03\x00\x2e\x02\x00\x00\x2a" + b"\xff" * 42
"""A record that claims to be a ServerHello and is none: there is no version 0xFFFF, no session id of 255 bytes."""

HTTP_400 = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: 12\r\n\r\nBad Request\n"
)
"""What a web server without TLS says to a ClientHello."""

hang_up = after_hello(say(b""))
"""FIN without a byte (gRPC's only way to refuse)."""

rejecting = after_hello(say(alert(HANDSHAKE_FAILURE)))
"""Refuse every hello with handshake_failure."""

malformed = after_hello(say(MALFORMED))
plaintext_http = after_hello(say(HTTP_400))
reset = after_hello(abort)


async def silent(stream: trio.SocketStream) -> None:
    """Take everything, say nothing, until the peer gives up."""
    while await stream.receive_some(65536):
        pass


def smtp(upgrade: Callable[[trio.SocketStream], Awaitable[None]]) -> Part:
    """A mail server (RFC 5321) that offers STARTTLS (RFC 3207); ``upgrade`` goes on after the 220."""

    async def part(stream: trio.SocketStream) -> None:
        await stream.send_all(b"220 mail.demo.example ESMTP ready\r\n")
        buffer = bytearray()
        for _ in range(_LINES):
            line = await _line(stream, buffer)
            verb = line.split(b" ")[0].upper()
            if verb == b"STARTTLS" and not buffer:  # bytes pipelined behind it could be injected (RFC 3207 section 6)
                await stream.send_all(b"220 2.0.0 go ahead\r\n")
                return await upgrade(stream)
            await stream.send_all(_SMTP_REPLIES.get(verb, b"500 5.5.1 command not recognized\r\n"))
            if verb in {b"QUIT", b""}:
                break
        return await finish(stream)

    return part


_SMTP_REPLIES = {
    b"EHLO": b"250-mail.demo.example\r\n250-8BITMIME\r\n250 STARTTLS\r\n",
    b"HELO": b"250 mail.demo.example\r\n",
    b"NOOP": b"250 2.0.0 ok\r\n",
    b"QUIT": b"221 2.0.0 bye\r\n",
}


async def _line(stream: trio.SocketStream, buffer: bytearray) -> bytes:
    """Next line without its end, taken off ``buffer``; empty when the peer ended or sent no line within the limit."""
    while b"\n" not in buffer:
        more = await stream.receive_some(_LINE_LIMIT)
        if not more or len(buffer) > _LINE_LIMIT:
            return b""
        buffer += more
    line, _, rest = bytes(buffer).partition(b"\n")
    buffer[:] = rest
    return line.rstrip(b"\r")


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
