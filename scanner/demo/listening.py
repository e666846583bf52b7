"""Loopback sockets: listeners that count their connections, and closed and filtered ports."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

import trio
from msgspec import Struct

Handler = Callable[[trio.SocketStream], Awaitable[None]]
"""Serves one connection. It need not close it, nor catch errors of a peer that disconnects."""

_LONGEST = 120.0
"""Seconds of one connection: longer than any scanner waits, so that silence never ends early."""
_BACKLOG = 512


class Listening(Struct):
    """An open socket."""

    address: str
    port: int
    connections: int = 0
    """Accepted so far."""
    open: int = 0
    """Accepted and not closed yet."""

    @property
    def sockaddr(self) -> tuple[str, int]:
        """For ``socket.connect``."""
        return self.address, self.port


@asynccontextmanager
async def background() -> AsyncIterator[trio.Nursery]:
    """A nursery for listeners: cancelled when the block is left. Exceptions of the block are raised unchanged."""
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


async def open_listening(nursery: trio.Nursery, handler: Handler, *, address: str = "127.0.0.1") -> Listening:
    """Start a listener at a free port of ``address``. Raises ``OSError`` if not even 127.0.0.1 can be bound."""
    return await start_listener(nursery, handler, await bind(address))


async def start_listener(
    nursery: trio.Nursery, handler: Handler, listener: trio.SocketListener, *, longest: float = _LONGEST
) -> Listening:
    """Serve each connection to ``listener`` by ``handler``, as a task of ``nursery``.

    ``longest``: seconds of one connection. The peer may cause ``OSError`` and ``trio.BrokenResourceError``; any other
    exception of ``handler`` is a bug in it and ends the nursery.
    """
    host, port = listener.socket.getsockname()[:2]
    open_now = Listening(host, port)
    serve = partial(_serve, handler, open_now, longest)
    await nursery.start(partial(trio.serve_listeners, serve, [listener]))
    return open_now


@asynccontextmanager
async def listening(handler: Handler, *, address: str = "127.0.0.1") -> AsyncIterator[Listening]:
    """A listener at a free port of ``address``, until the block is left."""
    async with background() as nursery:
        yield await open_listening(nursery, handler, address=address)


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
    """Listen on exactly this address and port. Raises ``OSError``."""
    bound = trio.socket.socket()
    try:
        bound.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_REUSEADDR, 1)  # a former run may have left connections
        await bound.bind((address, port))
        bound.listen(_BACKLOG)
    except BaseException:
        bound.close()
        raise
    return trio.SocketListener(bound)


async def _serve(handler: Handler, open_now: Listening, longest: float, stream: trio.SocketStream) -> None:
    open_now.connections += 1
    open_now.open += 1
    try:
        with trio.move_on_after(longest):
            await handler(stream)
    except* (OSError, trio.BrokenResourceError):  # in groups if the handler has a nursery
        pass  # the peer disconnected
    finally:
        open_now.open -= 1
        stream.socket.close()  # at once, also when cancelled; ``handler`` decided between RST and FIN


_TRIES = 8
_WAIT_MS = 150
"""On loopback the answer to a SYN takes microseconds."""


@contextmanager
def closed_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """A port that is bound, so that no other program gets it, and has no listener."""
    with _bound(address) as bound:
        yield bound.getsockname()


@contextmanager
def filtered_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int] | None]:
    """A port that drops every SYN, as behind a firewall; None if this system cannot do that without one.

    Linux drops the SYN to a listener whose accept queue is full (listen(2), ``tcp_abort_on_overflow`` 0); a queue of
    length 0 is full after one connection. Other systems answer with RST.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(_bound(address))
        listener.listen(0)
        for _ in range(_TRIES):
            client = stack.enter_context(socket.socket())
            client.settimeout(0)
            if client.connect_ex(listener.getsockname()) not in {0, errno.EINPROGRESS}:
                break
            poll = select.poll()
            poll.register(client, select.POLLOUT)
            if not poll.poll(_WAIT_MS):
                yield listener.getsockname()
                return
            if client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
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
