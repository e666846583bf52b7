"""One TCP connection: connect, send one hello, read one answer, close.

The only module that opens sockets and turns the operating system's errors into reasons. It uses non-blocking sockets
with trio's ``wait_readable`` and ``wait_writable``. Each call is attempted first, and waits only if it would block:
half the CPU of ``trio.SocketStream`` for one question and one answer.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Protocol

import trio
from msgspec import Struct

from scanner.errors import ResourceError
from scanner.probe.offers import Ending

RECEIVE = 16384
"""Bytes per read: the largest record (RFC 8446, section 5.1)."""

_NOT_YET = frozenset({errno.EAGAIN, errno.ENOTCONN})
"""Errors of ``send`` before the connection is established, on Linux and BSD."""

_CLOSED = frozenset({errno.ECONNREFUSED})
_RESET = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Connection(Protocol):
    """A connection. ``send`` and ``receive`` raise only ``Broken``."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``."""

    async def receive(self) -> bytes:
        """At least one byte, or b"" once the peer has closed."""

    def close(self) -> None:
        """Close without waiting."""

    def abort(self) -> None:
        """Close with RST, so that a peer that sends without end stops."""


Dialer = Callable[[], Awaitable[Connection]]
"""Opens a connection; raises ``Broken``."""
Pace = Callable[[], Awaitable[None]]
"""Waits until the next connection may start."""


class Where(Struct, frozen=True, kw_only=True):
    """Address to connect to. ``address`` is an IP address; ``timeout`` in seconds is for the entire connection."""

    address: str
    port: int
    timeout: float = 5.0
    dialer: Dialer | None = None
    """Opens the connection if a socket of this machine cannot reach the address."""
    pace: Pace | None = None
    """Awaited before every connection, if there is a rate limit."""


class Broken(Exception):
    """The connection ended before the answer was complete; ``ending`` says how."""

    def __init__(self, ending: Ending, text: str = "") -> None:
        super().__init__(ending)
        self.ending: Ending = ending
        self.text = text


class TcpConnection:
    """A connected socket. Its methods raise only ``Broken``."""

    __slots__ = ("_asked", "_socket")

    def __init__(self, connected: socket.socket, *, asked: bool = False) -> None:
        self._socket = connected
        self._asked = asked
        """Data was sent since the last answer: the next answer cannot be here yet, so reading at once is useless."""

    async def send(self, data: bytes) -> None:
        self._asked = True
        while data:
            try:
                data = data[self._socket.send(data) :]  # nearly always all of it
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._socket)
            except OSError as error:
                raise _broken(error) from None

    async def receive(self) -> bytes:
        if self._asked:
            await trio.lowlevel.wait_readable(self._socket)
            self._asked = False
        while True:
            try:
                return self._socket.recv(RECEIVE)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._socket)
            except OSError as error:
                raise _broken(error) from None

    def close(self) -> None:
        try:
            self._socket.close()
        except OSError:  # a late reset
            return

    def abort(self) -> None:
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


async def wait_for_turn(where: Where) -> None:
    """Wait until a connection may start. Done before its timeout runs, because the wait is the scanner's own limit."""
    if where.pace is not None:
        await where.pace()


async def connect(where: Where, first: bytes = b"") -> Connection:
    """Connect, and send ``first`` as soon as possible.

    Raises ``Broken`` (closed, unreachable, rst). Waits forever on a filtered port: the caller has the timeout.

    Raises ``ResourceError`` when this machine has no descriptors or memory left. Having no free port left looks like an
    address that this machine cannot use (EADDRNOTAVAIL), so it is unreachable.
    """
    if where.dialer is not None:
        connected = await where.dialer()
        if first:
            await connected.send(first)
        return connected
    try:
        connecting = new_socket(where.address)
    except OSError as error:
        raise _broken(error) from None
    return await connect_with(connecting, where, first)


def new_socket(address: str) -> socket.socket:
    """Return a socket for a connection to ``address``, in the network namespace of this thread. Raises ``OSError``."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)


async def connect_with(connecting: socket.socket, where: Where, first: bytes = b"") -> Connection:
    """Connect this socket, and close it if that fails. Raises as ``connect``."""
    line = TcpConnection(connecting, asked=bool(first))
    try:
        sent = await _connect(connecting, where, first)
        if sent < len(first):
            await line.send(first[sent:])
    except BaseException:
        connecting.close()
        raise
    return line


async def _connect(connecting: socket.socket, where: Where, first: bytes) -> int:
    """Connect, and return how many bytes of ``first`` were sent with it: all, if a nearby peer has answered already."""
    try:
        code = connecting.connect_ex(_sockaddr(where))
    except (ValueError, OverflowError) as error:
        raise Broken("unreachable", f"invalid address: {error}") from None
    except OSError as error:
        raise _broken(error) from None
    if first and code in (0, errno.EINPROGRESS):
        try:
            return connecting.send(first)
        except OSError as error:
            if error.errno not in _NOT_YET:
                raise _broken(error, connecting=True) from None
    if code == errno.EINPROGRESS:
        await trio.lowlevel.wait_writable(connecting)
        code = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise _broken(OSError(code, ""), connecting=True)
    return 0


def _sockaddr(where: Where) -> tuple[str, int] | tuple[str, int, int, int]:
    if "%" not in where.address:
        return where.address, where.port
    address, _, zone = where.address.partition("%")
    index = int(zone) if zone.isdigit() else socket.if_nametoindex(zone)
    return address, where.port, 0, index


def _broken(error: OSError, *, connecting: bool = False) -> Exception:
    code = error.errno
    known = os.strerror(code) if code is not None and code > 0 else str(error.strerror or error)
    if code in _OURS:
        return ResourceError(
            f"this machine cannot open another connection: {known}",
            hint="raise the limit of open files (ulimit -n) or lower --concurrency",
        )
    if code in _RESET:
        return Broken("rst")  # also while connecting: a SYN that is answered by RST is ECONNREFUSED
    if code in _CLOSED:
        return Broken("closed")
    if code == errno.ETIMEDOUT:
        return Broken("filtered" if connecting else "silence")
    return Broken("unreachable", known)


SECONDS = 10.0
"""Timeout in seconds to resolve one name."""


class NotResolved(Exception):
    """The name has no address, or it could not be resolved; the text says which."""


async def addresses(host: str, port: int) -> tuple[str, ...]:
    """Resolve ``host`` to its distinct IP addresses, in the resolver's order; an address is returned as it is.

    Each address of a name is a separate listener. Raises ``NotResolved``.
    """
    try:
        ip_address(host)
    except ValueError:
        return await _look_up(host, port)
    return (host,)


async def _look_up(host: str, port: int) -> tuple[str, ...]:
    try:
        with trio.fail_after(SECONDS):
            found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except trio.TooSlowError:
        raise NotResolved("the resolver did not answer") from None
    except (OSError, UnicodeError) as error:
        raise NotResolved(f"the name does not resolve ({getattr(error, 'strerror', None) or error})") from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
