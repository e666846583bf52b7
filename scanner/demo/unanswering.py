"""Ports that answer a SYN with RST, and ports that do not answer it at all."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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
