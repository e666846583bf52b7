"""The demo's API server: HTTP/1.1 over TLS on trio, and port-forwards. ``routes`` decides the answers.

A shipped fake of kube-apiserver's read side, compared with the real one in tests/e2e: lists by pages, plain watches,
discovery, errors as Status objects, port-forward.

Port-forwards use a WebSocket with ``v4.channel.k8s.io``: Kubernetes
``k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go`` and apimachinery ``pkg/util/httpstream/wsstream``. Each
binary message begins with the number of a channel. Port i has channel 2i for data, both ways, and 2i+1 for an error's
text; the first message on each is the port, two bytes little-endian. Not supported: ``SPDY/3.1+portforward.k8s.io``,
which kubectl tries first.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from typing import Any

import h11
import trio
from OpenSSL import SSL

from scanner.cluster.websocket import BINARY, CLOSE, NORMAL, PING, PONG, BrokenWebSocket, Frames, accept_of
from scanner.demo.api.lists import change, first
from scanner.demo.api.messages import Forward, Request, Response, Watch, encoded
from scanner.demo.api.request_handler import Api
from scanner.demo.api.store import Event
from scanner.demo.listening import Part
from scanner.demo.tls_server import TlsSettings, TlsStream, tls_context

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


_HEAD_LIMIT = 2**20
_BODY_LIMIT = 2**20
_QUEUE = 10_000
"""Events that a slow watcher may be behind; then its watch ends, and it starts again."""


async def nothing_to_forward(_namespace: str, _pod: str, port: int) -> trio.SocketStream:
    """The ``Connect`` of a server whose pods do not exist."""
    raise ConnectionRefusedError(f"failed to connect to localhost:{port} inside namespace: connection refused")


def api_part(api: Api, tls: TlsSettings, connect: Connect = nothing_to_forward) -> Part:
    """The server as what a listener plays. Raises ``ResourceError`` for TLS that this machine cannot play."""
    return partial(_serve, api, tls_context(tls), connect)


async def _serve(api: Api, context: SSL.Context, connect: Connect, transport: trio.SocketStream) -> None:
    stream = TlsStream(transport, context)
    await stream.do_handshake()
    await _Conversation(
        api=api, stream=stream, connect=connect, http=h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
    ).run()
    await stream.finish()


@dataclass(kw_only=True)
class _Conversation:
    """One connection: requests, one after the other."""

    api: Api
    stream: TlsStream
    connect: Connect
    http: h11.Connection
    head_only: bool = False
    """Whether the request is a HEAD: its answer has no body."""

    async def run(self) -> None:
        """Until the client has enough, or says something that is not HTTP."""
        try:
            while (request := await self._request()) is not None:
                answer = self.api.answer(request)
                if isinstance(answer, Forward):
                    return await self._upgrade(request, answer)
                if isinstance(answer, Watch):
                    await self._watch(answer)
                else:
                    await self._respond(answer)
                if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
                    return None
                self.http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self.http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                await self._refuse(error.error_status_hint)

    async def _refuse(self, code: int) -> None:
        """What is not HTTP, or too much of it."""
        head = h11.Response(status_code=code, headers=[("Connection", "close"), ("Content-Length", "0")])
        await self._send(head, h11.EndOfMessage())

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value] # h11 types its sentinels as a union
            self.http.receive_data(await self.stream.receive_some())

    async def _request(self) -> Request | None:
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        self.head_only = head.method == b"HEAD"
        size = 0
        while isinstance(part := await self._event(), h11.Data):
            size += len(part.data)
            if size > _BODY_LIMIT:
                return None
        headers = {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in head.headers}
        return Request(method=head.method.decode(), target=head.target.decode("latin-1"), headers=headers)

    async def _send(self, *events: h11.Event) -> None:
        await self.stream.send_all(b"".join(self.http.send(event) or b"" for event in events))

    async def _respond(self, answer: Response) -> None:
        length = ("Content-Length", str(len(answer.body)))
        head = h11.Response(status_code=answer.code, headers=[*_headers(answer.content_type), length])
        body = () if self.head_only else (h11.Data(data=answer.body),)
        await self._send(head, *body, h11.EndOfMessage())

    async def _watch(self, watch: Watch) -> None:
        await self._send(h11.Response(status_code=200, headers=_headers("application/json")))
        send, receive = trio.open_memory_channel[Event](_QUEUE)
        stop = self.api.store.watch(partial(_queue, send))
        try:
            for line in first(self.api.store, watch):
                await self._line(line)
            await self._follow(watch, receive)
        finally:
            stop()
        await self._send(h11.EndOfMessage())

    async def _follow(self, watch: Watch, events: trio.MemoryReceiveChannel[Event]) -> None:
        """Until its time is over. Only the waiting is cut off, never a line."""
        end = trio.current_time() + watch.seconds
        while True:
            event: Event | None = None
            with trio.move_on_at(end):
                try:
                    event = await events.receive()
                except trio.EndOfChannel:
                    return
            if event is None:
                return
            line = change(watch, event)
            if line is not None:
                await self._line(line)

    async def _line(self, line: dict[str, Any]) -> None:
        await self._send(h11.Data(data=encoded(line)))

    async def _upgrade(self, request: Request, wanted: Forward) -> None:
        protocol = protocol_for(request.headers.get("sec-websocket-protocol", ""))
        key = request.headers.get("sec-websocket-key", "")
        if protocol is None or not key:
            return await self._respond(Response(code=403, body=b"", content_type="text/plain"))
        headers = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept_of(key))]
        if protocol:
            headers.append(("Sec-WebSocket-Protocol", protocol))
        await self._send(h11.InformationalResponse(status_code=101, headers=headers))
        received, _ = self.http.trailing_data
        return await forward(wanted, self.stream, self.connect, received=received)


def _queue(events: trio.MemorySendChannel[Event], event: Event) -> None:
    """Never blocks the writer: a watcher that is too far behind is left at the end of its queue."""
    try:
        events.send_nowait(event)
    except trio.WouldBlock:
        events.close()
    except trio.ClosedResourceError:
        pass


def _headers(content_type: str) -> list[tuple[str, str]]:
    """What every answer of the API server has."""
    return [
        ("Audit-Id", str(uuid.uuid4())),
        ("Cache-Control", "no-cache, private"),
        ("Content-Type", content_type),
        ("Date", formatdate(usegmt=True)),
    ]
