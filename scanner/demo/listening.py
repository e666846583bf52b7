"""Loopback sockets: one that plays a part and counts its connections, and closed and filtered ports."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

import trio

Part = Callable[[trio.SocketStream], Awaitable[None]]
"""What a listener does with one connection. It need not close it, nor mind that the peer vanishes."""

_LONGEST = 120.0
"""Seconds that one connection may last: longer than any scanner waits, so that silence is the listener's own."""
_BACKLOG = 512


@dataclass(slots=True)
class Listening:
    """A socket that is open now."""

    address: str
    port: int
    connections: int = 0
    """Accepted so far."""
    open: int = 0
    """Not yet finished with."""

    @property
    def sockaddr(self) -> tuple[str, int]:
        """For ``socket.connect``."""
        return self.address, self.port


@asynccontextmanager
async def background() -> AsyncIterator[trio.Nursery]:
    """A nursery for listeners: cancelled when the block is left, and an exception of the block arrives as it is."""
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            finally:
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from None


async def open_listening(nursery: trio.Nursery, part: Part, *, address: str = "127.0.0.1") -> Listening:
    """Play ``part`` to everybody who connects to a free port of ``address``, as a task of ``nursery``.

    Raises ``OSError`` when not even 127.0.0.1 can be bound. Else as ``play``.
    """
    return await play(nursery, part, await bind(address))


async def play(
    nursery: trio.Nursery, part: Part, listener: trio.SocketListener, *, longest: float | None = None
) -> Listening:
    """Play ``part`` to everybody who connects to ``listener``, as a task of ``nursery``.

    ``longest``: seconds that one connection may last, two minutes if not given. An exception of ``part`` that is not
    the peer's doing (``OSError``, ``trio.BrokenResourceError``) is a bug in it and ends the nursery.
    """
    host, port = listener.socket.getsockname()[:2]
    open_now = Listening(host, port)
    serve = partial(_one, part, open_now, _LONGEST if longest is None else longest)
    await nursery.start(partial(trio.serve_listeners, serve, [listener]))
    return open_now


@asynccontextmanager
async def listening(part: Part, *, address: str = "127.0.0.1") -> AsyncIterator[Listening]:
    """The like of ``open_listening``, until the block is left."""
    async with background() as nursery:
        yield await open_listening(nursery, part, address=address)


async def bind(address: str) -> trio.SocketListener:
    """Listen on a free port of ``address``, or of 127.0.0.1 where the system has only that (macOS)."""
    try:
        return (await trio.open_tcp_listeners(0, host=address, backlog=_BACKLOG))[0]
    except OSError as error:
        causes = error.exceptions if isinstance(error, ExceptionGroup) else (error.__cause__ or error,)
        if not any(isinstance(each, OSError) and each.errno == errno.EADDRNOTAVAIL for each in causes):
            raise
        return (await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=_BACKLOG))[0]


async def bind_exactly(address: str, port: int) -> trio.SocketListener:
    """Listen there and nowhere else. Raises ``OSError``: EADDRINUSE, or EADDRNOTAVAIL where there is only 127.0.0.1."""
    bound = trio.socket.socket()
    try:
        bound.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_REUSEADDR, 1)  # despite connections of a former run
        await bound.bind((address, port))
        bound.listen(_BACKLOG)
    except BaseException:
        bound.close()
        raise
    return trio.SocketListener(bound)


async def _one(part: Part, open_now: Listening, longest: float, stream: trio.SocketStream) -> None:
    open_now.connections += 1
    open_now.open += 1
    try:
        with trio.move_on_after(longest):
            await part(stream)
    except* (OSError, trio.BrokenResourceError):  # of a part with a nursery they come in groups
        pass  # the peer went away, which is its right
    finally:
        open_now.open -= 1
        stream.socket.close()  # at once, also when cancelled; RST or FIN is what ``part`` prepared


_TRIES = 8
_PATIENCE_MS = 150
"""On loopback a SYN that is answered at all is answered within microseconds."""


@contextmanager
def closed_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """A port that is bound, so that nobody else gets it, and that nobody listens on."""
    with _bound(address) as bound:
        yield bound.getsockname()


@contextmanager
def filtered_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int] | None]:
    """A port that drops every SYN, as behind a firewall; None where this system cannot play it without one.

    Linux drops the SYN to a listener whose accept queue is full (listen(2), ``tcp_abort_on_overflow`` 0); a queue of
    length 0 is full after one connection that nobody accepts. Others answer with RST.
    """
    with ExitStack() as held:
        listener = held.enter_context(_bound(address))
        listener.listen(0)
        for _ in range(_TRIES):
            visitor = held.enter_context(socket.socket())
            visitor.settimeout(0)
            if visitor.connect_ex(listener.getsockname()) not in {0, errno.EINPROGRESS}:
                break
            poll = select.poll()
            poll.register(visitor, select.POLLOUT)
            if not poll.poll(_PATIENCE_MS):
                yield listener.getsockname()
                return
            if visitor.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                break
        yield None


def _bound(address: str) -> socket.socket:
    """A TCP socket at a free port of ``address``, or of 127.0.0.1 where the system has only that (macOS)."""
    bound = socket.socket()
    try:
        bound.bind((address, 0))
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            bound.close()
            raise
        bound.bind(("127.0.0.1", 0))
    return bound
