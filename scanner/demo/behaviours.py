"""Handlers without TLS, or before it: outcomes of the taxonomy, and the choice by server name as in a router.

A close with unread bytes makes Linux send RST, and an RST discards the answer before it. So every handler that ends
with FIN reads the complete hello first and the rest before it closes. A handler that chooses another one reads the
first bytes with ``MSG_PEEK``, so that they stay on the socket for that handler.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Awaitable, Callable, Mapping

import trio

from scanner.demo.listening import Handler
from scanner.tls import codepoints
from scanner.tls.client_hello import ClientHello
from scanner.tls.extensions import find, pull_server_name
from scanner.tls.records import HEADER_SIZE, RecordReader
from scanner.tls.wire import Malformed

_RECORD_LIMIT = 5 + 2**14 + 2048
"""The longest allowed record (RFC 5246 section 6.2.3)."""
_DRAIN_LIMIT = 2**20
_DRAIN_SECONDS = 10.0
_LINES = 64
_LINE_LIMIT = 1024

HANDSHAKE_FAILURE, UNRECOGNIZED_NAME = 40, 112
"""Alert descriptions, RFC 8446 section 6 and RFC 6066 section 3."""


async def read_hello(stream: trio.SocketStream) -> bytes:
    """The first TLS record; or other bytes, up to the longest record or the peer's FIN."""
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
    """Send FIN, and read the rest so that the close sends no RST."""
    await stream.send_eof()
    left = _DRAIN_LIMIT
    with trio.move_on_after(_DRAIN_SECONDS):
        while left > 0 and (more := await stream.receive_some(65536)):
            left -= len(more)


def say(reply: bytes) -> Handler:
    """A handler that sends ``reply`` and FIN."""

    async def handler(stream: trio.SocketStream) -> None:
        if reply:
            await stream.send_all(reply)
        await finish(stream)

    return handler


def after_hello(handler: Handler) -> Handler:
    """A handler that reads the hello before ``handler``."""

    async def wrapped(stream: trio.SocketStream) -> None:
        await read_hello(stream)
        await handler(stream)

    return wrapped


async def abort(stream: trio.SocketStream) -> None:
    """Make the close an RST (SO_LINGER with no time, socket(7))."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def alert(description: int, *, level: int = 2) -> bytes:
    """One alert record: RFC 8446 section 6. ``level`` 2 is fatal."""
    return bytes((0x15, 3, 3, 0, 2, level, description))


MALFORMED = b"\x16\x03\x03\x00\x2e\x02\x00\x00\x2a" + b"\xff" * 42
"""An invalid ServerHello: there is no version 0xFFFF and no session id of 255 bytes."""

HTTP_400 = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: 12\r\n\r\nBad Request\n"
)
"""The answer of a web server without TLS to a ClientHello."""

hang_up = after_hello(say(b""))
"""FIN without a byte (gRPC's only way to refuse)."""

rejecting = after_hello(say(alert(HANDSHAKE_FAILURE)))
"""Rejects every hello with handshake_failure."""

malformed = after_hello(say(MALFORMED))
plaintext_http = after_hello(say(HTTP_400))
reset = after_hello(abort)


async def silent(stream: trio.SocketStream) -> None:
    """Read everything and send nothing until the peer closes."""
    while await stream.receive_some(65536):
        pass


def smtp(upgrade: Callable[[trio.SocketStream], Awaitable[None]]) -> Handler:
    """A mail server (RFC 5321) that offers STARTTLS (RFC 3207); ``upgrade`` continues after the 220."""

    async def handler(stream: trio.SocketStream) -> None:
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

    return handler


_SMTP_REPLIES = {
    b"EHLO": b"250-mail.demo.example\r\n250-8BITMIME\r\n250 STARTTLS\r\n",
    b"HELO": b"250 mail.demo.example\r\n",
    b"NOOP": b"250 2.0.0 ok\r\n",
    b"QUIT": b"221 2.0.0 bye\r\n",
}


async def _line(stream: trio.SocketStream, buffer: bytearray) -> bytes:
    """Take the next line without its end off ``buffer``; b"" if the peer closed or the line is too long."""
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
_RETRY_SECONDS = 0.005
_PEEK_SECONDS = 10.0


def by_server_name(handlers: Mapping[str, Handler], otherwise: Handler) -> Handler:
    """Choose a handler by server name (RFC 6066, section 3); ``otherwise`` for an unknown name or none."""

    async def handler(stream: trio.SocketStream) -> None:
        name = server_name(await _peek_record(stream))
        await handlers.get((name or "").lower(), otherwise)(stream)

    return handler


def tls_or_plaintext(tls: Handler, plaintext: Handler) -> Handler:
    """HTTP if the first byte is the capital letter of a method, else TLS, as in the router's cmux.

    Source: openshift/router ``pkg/router/metrics``.
    """

    async def handler(stream: trio.SocketStream) -> None:
        first = await stream.socket.recv(1, socket.MSG_PEEK)
        await (plaintext if first.isupper() else tls)(stream)

    return handler


def passing_to(address: str, port: int) -> Handler:
    """Forward the connection, byte for byte, until one side closes it."""

    async def handler(stream: trio.SocketStream) -> None:
        backend = await trio.open_tcp_stream(address, port)
        async with backend, trio.open_nursery() as nursery:
            nursery.start_soon(_copy, stream, backend)
            await _copy(backend, stream)
            nursery.cancel_scope.cancel()

    return handler


def server_name(record: bytes) -> str | None:
    """The name in the ClientHello of a complete record, or None."""
    try:
        (first,) = RecordReader().feed(record)
        return pull_server_name(find(ClientHello.decode(first.fragment).extensions, codepoints.SERVER_NAME) or b"")
    except (Malformed, ValueError):
        return None


async def _peek_record(stream: trio.SocketStream) -> bytes:
    """Peek at the first record; a part of it if the rest does not come in time."""
    seen = b""
    with trio.move_on_after(_PEEK_SECONDS):
        while True:
            before, seen = seen, await stream.socket.recv(_HELLO_LIMIT, socket.MSG_PEEK)
            if not seen or seen[0] != _HANDSHAKE:
                return seen
            length = HEADER_SIZE + int.from_bytes(seen[3:HEADER_SIZE], "big")
            if len(seen) >= max(HEADER_SIZE, length):
                return seen[:length]
            if len(seen) == len(before):
                await trio.sleep(_RETRY_SECONDS)
    return seen


async def _copy(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    while data := await source.receive_some(65536):
        await sink.send_all(data)
    await sink.send_eof()
