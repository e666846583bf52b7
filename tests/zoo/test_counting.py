"""The counting forwarder itself: it counts, and it does not change what passes through."""

from __future__ import annotations

from functools import partial

import trio

from tests.zoo.counting import counted


async def test_it_counts_and_passes_bytes_and_ends_through(nursery: trio.Nursery) -> None:
    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(b"got " + await stream.receive_some())

    listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]
    async with counted("127.0.0.1", port) as counter:
        for expected in (1, 2):
            async with await trio.open_tcp_stream(counter.address, counter.port) as stream:
                await stream.send_all(b"this")
                received = b"".join([chunk async for chunk in stream])
            assert received == b"got this"
            assert counter.connections == expected
    nursery.cancel_scope.cancel()


async def test_a_connection_that_says_nothing_is_counted_too(nursery: trio.Nursery) -> None:
    async def swallow(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()

    listeners = await nursery.start(partial(trio.serve_tcp, swallow, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]
    async with counted("127.0.0.1", port) as counter:
        async with await trio.open_tcp_stream(counter.address, counter.port) as stream:
            await stream.send_eof()
            assert not await stream.receive_some()
        assert counter.connections == 1
    nursery.cancel_scope.cancel()
