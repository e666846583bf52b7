"""Listeners on loopback that misbehave in one stated way, for tests under trio.

    async with scripted(say(b"hello")) as server:
        ... server.sockaddr, server.connections, server.hellos

A script is a ``Handler`` of the demo (an async function of the stream). The ready ones here come beside those of
``scanner.demo.behaviours``; ``closed_port`` and ``filtered_port`` are plain context managers. ``tests/test_servers.py``
shows with the standard library's sockets that each does what its name says.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from scanner.demo import listening as loopback
from scanner.demo.behaviours import HTTP_400, MALFORMED, abort, alert, finish, read_hello, say, silent, smtp
from scanner.demo.certificates import Authority, Credential
from scanner.demo.listening import Handler, Listening, closed_port, listening
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.probe.engine import STEPS

__all__ = [
    "HTTP_400",
    "MALFORMED",
    "PATIENCE",
    "Scripted",
    "abort",
    "alert",
    "balanced",
    "closed_port",
    "drip",
    "endless",
    "filtered_port",
    "finish",
    "flaky",
    "listening",
    "ordinary",
    "patient_clock",
    "say",
    "scripted",
    "silent",
    "smtp",
    "stall_after",
    "tls_handler",
    "tls_listener",
]


PATIENCE = 60.0
"""Seconds after which what happens at once on an idle machine has failed on any."""


def patient_clock() -> MockClock:
    """Jumps to the next timeout after a tenth of a second without anything to do, and not while a handshake is computed
    in a worker thread: that is no silence."""
    clock = MockClock(autojump_threshold=0.1)
    jump = clock._autojump
    object.__setattr__(clock, "_autojump", lambda: None if STEPS.borrowed_tokens else jump())
    return clock


@dataclass(slots=True)
class Scripted:
    """A scripted listener that is open now."""

    listening: Listening
    hellos: list[bytes] = field(default_factory=list)
    """The first record of every connection, in order; empty where the script does not wait for one."""

    @property
    def sockaddr(self) -> tuple[str, int]:
        """For ``socket.connect``."""
        return self.listening.sockaddr

    @property
    def address(self) -> str:
        return self.listening.address

    @property
    def port(self) -> int:
        return self.listening.port

    @property
    def connections(self) -> int:
        """Accepted so far."""
        return self.listening.connections


@asynccontextmanager
async def scripted(script: Handler, *, reads_hello: bool = True, address: str = "127.0.0.1") -> AsyncIterator[Scripted]:
    """Play ``script`` to everybody, after their hello unless it ``reads_hello`` not (speaks first, or is TLS)."""
    hellos: list[bytes] = []

    async def part(stream: trio.SocketStream) -> None:
        if reads_hello:
            hellos.append(await read_hello(stream))
        await script(stream)

    async with listening(part, address=address) as open_now:
        yield Scripted(open_now, hellos)


def drip(reply: bytes) -> Handler:
    """Send ``reply`` byte by byte, a segment each, then FIN. No time passes, but nothing comes in one piece."""

    async def part(stream: trio.SocketStream) -> None:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in reply:
            await stream.send_all(bytes([byte]))
            await trio.lowlevel.checkpoint()
        await finish(stream)

    return part


ENDLESS_CERTIFICATE = b"\x16\x03\x03\x40\x00" + b"\x0b\xff\xff\xff" + bytes(2**14 - 4)
"""A full record with the beginning of a Certificate message of 16 MiB (RFC 5246 section 7.4.2)."""


def endless(start: bytes = ENDLESS_CERTIFICATE, then: bytes = b"\x16\x03\x03\x40\x00" + bytes(2**14)) -> Handler:
    """Send ``start`` and then ``then`` for ever: only the reader's own limit ends it."""

    async def part(stream: trio.SocketStream) -> None:
        await stream.send_all(start)
        while True:
            await stream.send_all(then)

    return part


def stall_after(prefix: bytes) -> Handler:
    """Send ``prefix``, then say nothing until the peer gives up."""

    async def part(stream: trio.SocketStream) -> None:
        await stream.send_all(prefix)
        await silent(stream)

    return part


def flaky(times: int, then: Handler, *, first: Handler = abort) -> Handler:
    """The first ``times`` connections end by ``first``, later ones get ``then``."""
    visits = count()

    async def part(stream: trio.SocketStream) -> None:
        if next(visits) >= times:
            return await then(stream)
        await read_hello(stream)
        return await first(stream)

    return part


def balanced(*parts: Handler) -> Handler:
    """Connection by connection to the next of ``parts``, as a load balancer does."""
    visits = count()

    async def part(stream: trio.SocketStream) -> None:
        await parts[next(visits) % len(parts)](stream)

    return part


@contextmanager
def filtered_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """A port that drops every SYN; skips the test, with the reason, where the system cannot play it."""
    with loopback.filtered_port(address) as sockaddr:
        if sockaddr is None:
            pytest.skip("this system answers a SYN to a full accept queue: nothing looks filtered without a firewall")
        yield sockaddr


@cache
def ordinary() -> Credential:
    """One certificate without fault for all tests that do not care which, valid for localhost and 127.0.0.1."""
    return Authority("Ordinary test CA").leaf(names=("localhost", "127.0.0.1"))


def tls_listener(
    settings: TlsSettings | None = None, *, address: str = "127.0.0.1"
) -> AbstractAsyncContextManager[Listening]:
    """A real TLS server in this process, TLS 1.2 and 1.3 with ``ordinary`` unless told otherwise."""
    return listening(tls_handler(settings or TlsSettings(credential=ordinary())), address=address)
