"""A TCP forwarder that counts: how many connections a scan costs, seen from the server's side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio


@dataclass(slots=True)
class Counter:
    """Address to connect to instead, and the number of connections."""

    address: str
    port: int
    connections: int = 0


@asynccontextmanager
async def counted(address: str, port: int) -> AsyncIterator[Counter]:
    """Forward a fresh loopback port to ``address:port`` until the block ends."""
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        counter = Counter("127.0.0.1", int(listeners[0].socket.getsockname()[1]))

        async def forward(client: trio.SocketStream) -> None:
            counter.connections += 1
            server = await trio.open_tcp_stream(address, port)
            async with client, server, trio.open_nursery() as pumps:
                pumps.start_soon(_pump, client, server)
                pumps.start_soon(_pump, server, client)

        nursery.start_soon(trio.serve_listeners, forward, listeners)
        yield counter
        nursery.cancel_scope.cancel()


async def _pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    """Copy until either side is gone; an end of file is passed on, so that a FIN stays one."""
    try:
        async for data in source:
            await sink.send_all(data)
        await sink.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        await source.aclose()
        await sink.aclose()
