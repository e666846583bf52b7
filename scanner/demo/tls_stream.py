"""TLS for a server that has more to say than one answer: a trio stream over pyOpenSSL's memory BIOs.

``trio.SSLStream`` would do, but Python's ``ssl`` takes a private key from a file only, and ours live in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

import trio
from OpenSSL import SSL

from scanner.demo.behaviours import finish

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
