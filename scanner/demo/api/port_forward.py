"""Port-forward over a WebSocket: ``v4.channel.k8s.io``.

Kubernetes ``k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go`` and apimachinery
``pkg/util/httpstream/wsstream``: each binary message begins with the number of a channel. Port i has channel 2i for
data, both ways, and 2i+1 for an error's text; the first message on each is the port, two bytes little-endian.
Not played: ``SPDY/3.1+portforward.k8s.io``, which kubectl asks for first and does without.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import trio

from scanner.cluster.websocket import BINARY, CLOSE, NORMAL, PING, PONG, BrokenWebSocket, Frames
from scanner.demo.api.messages import Forward

PROTOCOLS = ("v4.channel.k8s.io", "")
"""Subprotocols, the empty one for a client that asks for none."""

_CHUNK = 32768

Connect = Callable[[str, str, int], Awaitable[trio.SocketStream]]
"""Connects to a port of a pod: (namespace, name, port). Raises ``OSError``."""


def protocol_for(offered: str) -> str | None:
    """The first of the client's subprotocols that is played, or None."""
    asked = [each.strip() for each in offered.split(",")] if offered else [""]
    return next((each for each in asked if each in PROTOCOLS), None)


async def forward(wanted: Forward, client: trio.abc.Stream, connect: Connect, *, received: bytes) -> None:
    """Carry bytes until the client closes or no port has anything left to say. ``received`` came with the request."""
    sending, frames = trio.Lock(), Frames(client=False)

    async def say(channel: int, data: bytes) -> None:
        async with sending:
            await client.send_all(frames.frame(BINARY, bytes((channel,)) + data))

    outward = [trio.open_memory_channel[bytes](64) for _ in wanted.ports]
    for index, port in enumerate(wanted.ports):
        for channel in (2 * index, 2 * index + 1):
            await say(channel, port.to_bytes(2, "little"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read_client, client, frames, received, [each[0] for each in outward], nursery.cancel_scope)
        async with trio.open_nursery() as ports:
            for index, port in enumerate(wanted.ports):
                ports.start_soon(
                    _one_port,
                    wanted,
                    port,
                    connect,
                    outward[index][1],
                    partial(say, 2 * index),
                    partial(say, 2 * index + 1),
                )
        await client.send_all(frames.close(NORMAL))
        nursery.cancel_scope.cancel()


async def _read_client(
    client: trio.abc.Stream,
    frames: Frames,
    received: bytes,
    ports: list[trio.MemorySendChannel[bytes]],
    over: trio.CancelScope,
) -> None:
    try:
        while True:
            for message in frames.feed(received):
                if message.opcode == CLOSE:
                    await client.send_all(frames.close(NORMAL))
                    return
                if message.opcode == PING:
                    await client.send_all(frames.frame(PONG, message.data))
                elif message.opcode == BINARY and message.data:
                    await _deliver(ports, message.data[0], message.data[1:])
            received = bytes(await client.receive_some())
            if not received:
                return
    except BrokenWebSocket as broken:
        await client.send_all(frames.close(broken.code))
    finally:
        over.cancel()


async def _deliver(ports: list[trio.MemorySendChannel[bytes]], channel: int, data: bytes) -> None:
    """To the port whose data channel it is; what comes on an error's channel, or on none, is dropped."""
    if channel % 2 == 0 and channel // 2 < len(ports):
        with suppress(trio.BrokenResourceError):  # that port is done
            await ports[channel // 2].send(data)


Say = Callable[[bytes], Awaitable[None]]


async def _one_port(
    wanted: Forward,
    port: int,
    connect: Connect,
    outward: trio.MemoryReceiveChannel[bytes],
    say: Say,
    complain: Say,
) -> None:
    async with outward:
        try:
            stream = await connect(wanted.namespace, wanted.pod, port)
            async with stream, trio.open_nursery() as nursery:
                nursery.start_soon(_carry_outward, outward, stream)
                while data := await stream.receive_some(_CHUNK):
                    await say(bytes(data))
                nursery.cancel_scope.cancel()
        except* (OSError, trio.BrokenResourceError) as several:
            cause = several.exceptions[0]
            text = f"error forwarding port {port} to pod {wanted.pod}, uid {wanted.uid}: {cause}"
            await complain(text.encode())


async def _carry_outward(outward: trio.MemoryReceiveChannel[bytes], stream: trio.SocketStream) -> None:
    async for data in outward:
        await stream.send_all(data)
