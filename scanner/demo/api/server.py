"""The demo's API server on its socket: HTTP/1.1 over TLS on trio, and port-forwards. ``request_handler`` answers.

Port-forwards use a WebSocket with ``v4.channel.k8s.io``: Kubernetes
``k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go`` and apimachinery ``pkg/util/httpstream/wsstream``. Each
binary message begins with a channel: 0 for data, both ways, 1 for an error's text. The first message on each channel
is the port, two bytes little-endian. Not supported: several ports, and ``SPDY/3.1+portforward.k8s.io``, which kubectl
tries first.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate
from functools import partial

import h11
import trio
from msgspec import Struct
from OpenSSL import SSL

from scanner.cluster.websocket import BINARY, CLOSE, NORMAL, PING, PONG, BrokenWebSocket, Frames, accept_of
from scanner.demo.api.messages import JSON, PortForward, Request, Response
from scanner.demo.api.request_handler import Api, Watch
from scanner.demo.api.store import Event
from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, TlsStream, tls_context

_PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_CHUNK = 32768
_HEAD_LIMIT = 2**20
_BODY_LIMIT = 2**20

Connect = Callable[[str, str, int], Awaitable[trio.SocketStream]]
"""Connects to a port of a pod: (namespace, name, port). Raises ``OSError``."""


async def nothing_to_forward(_namespace: str, _pod: str, port: int) -> trio.SocketStream:
    """The ``Connect`` of a server whose pods do not exist."""
    raise ConnectionRefusedError(f"failed to connect to localhost:{port} inside namespace: connection refused")


def api_handler(api: Api, tls: TlsSettings, connect: Connect = nothing_to_forward) -> Handler:
    """A ``Handler`` that serves the API over TLS. Raises ``ResourceError`` for TLS that OpenSSL does not support."""
    return partial(_serve, api, tls_context(tls), connect)


async def _serve(api: Api, context: SSL.Context, connect: Connect, transport: trio.SocketStream) -> None:
    stream = TlsStream(transport, context)
    await stream.do_handshake()
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
    await _Connection(api=api, stream=stream, connect=connect, http=http).run()
    await stream.finish()


class _Connection(Struct, kw_only=True):
    """One connection: requests, one after the other."""

    api: Api
    stream: TlsStream
    connect: Connect
    http: h11.Connection

    async def run(self) -> None:
        """Answer until the client closes, or sends what is not HTTP."""
        try:
            while (request := await self._request()) is not None:
                answer = self.api.answer(request)
                if isinstance(answer, PortForward):
                    return await self._upgrade(request, answer)
                if isinstance(answer, Watch):
                    await self._watch(answer)
                else:
                    await self._respond(request, answer)
                if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
                    return None
                self.http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self.http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                headers = [("Connection", "close"), ("Content-Length", "0")]
                await self._send(h11.Response(status_code=error.error_status_hint, headers=headers), h11.EndOfMessage())

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
        size = 0
        while isinstance(part := await self._event(), h11.Data):
            size += len(part.data)
            if size > _BODY_LIMIT:
                return None
        headers = {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in head.headers}
        return Request(method=head.method.decode(), target=head.target.decode("latin-1"), headers=headers)

    async def _send(self, *events: h11.Event) -> None:
        await self.stream.send_all(b"".join(self.http.send(event) or b"" for event in events))

    async def _respond(self, request: Request, answer: Response) -> None:
        length = ("Content-Length", str(len(answer.body)))
        head = h11.Response(status_code=answer.code, headers=[*_headers(answer.content_type), length])
        body = () if request.method == "HEAD" else (h11.Data(data=answer.body),)
        await self._send(head, *body, h11.EndOfMessage())

    async def _watch(self, watch: Watch) -> None:
        await self._send(h11.Response(status_code=200, headers=_headers(JSON)))
        end = trio.current_time() + watch.seconds
        send, receive = trio.open_memory_channel[Event](math.inf)
        stop = self.api.store.watch(watch.resource.kind, watch.since, send.send_nowait)
        try:
            while True:
                event: Event | None = None
                with trio.move_on_at(end):  # ends the waiting only, never a line
                    event = await receive.receive()
                if event is None:
                    break
                if line := watch.line(event):
                    await self._send(h11.Data(data=line))
        finally:
            stop()
        await self._send(h11.EndOfMessage())

    async def _upgrade(self, request: Request, forward: PortForward) -> None:
        offered = [each.strip() for each in request.headers.get("sec-websocket-protocol", "").split(",")]
        key = request.headers.get("sec-websocket-key", "")
        if _PROTOCOL not in offered or not key:
            return await self._respond(request, Response(code=403, body=b"", content_type="text/plain"))
        headers = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accept_of(key)),
            ("Sec-WebSocket-Protocol", _PROTOCOL),
        ]
        await self._send(h11.InformationalResponse(status_code=101, headers=headers))
        received, _ = self.http.trailing_data
        return await _forward(forward, self.stream, self.connect, received=received)


def _headers(content_type: str) -> list[tuple[str, str]]:
    """Headers of every response of the API server."""
    return [
        ("Audit-Id", str(uuid.uuid4())),
        ("Cache-Control", "no-cache, private"),
        ("Content-Type", content_type),
        ("Date", formatdate(usegmt=True)),
    ]


async def _forward(forward: PortForward, client: trio.abc.Stream, connect: Connect, *, received: bytes) -> None:
    """Carry bytes until the client or the port closes. ``received`` came with the request."""
    sending, frames = trio.Lock(), Frames(client=False)

    async def send(channel: int, data: bytes) -> None:
        async with sending:
            await client.send_all(frames.frame(BINARY, bytes((channel,)) + data))

    for channel in (_DATA, _ERROR):
        await send(channel, forward.port.to_bytes(2, "little"))
    to_port, from_client = trio.open_memory_channel[bytes](64)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read_client, client, frames, received, to_port, nursery.cancel_scope)
        try:
            stream = await connect(forward.namespace, forward.pod, forward.port)
            async with stream, trio.open_nursery() as port:
                port.start_soon(_carry_to_port, from_client, stream)
                while data := await stream.receive_some(_CHUNK):
                    await send(_DATA, bytes(data))
                port.cancel_scope.cancel()
        except* (OSError, trio.BrokenResourceError) as several:
            cause = several.exceptions[0]
            text = f"error forwarding port {forward.port} to pod {forward.pod}, uid {forward.uid}: {cause}"
            await send(_ERROR, text.encode())
        await client.send_all(frames.close(NORMAL))
        nursery.cancel_scope.cancel()


async def _read_client(
    client: trio.abc.Stream,
    frames: Frames,
    received: bytes,
    to_port: trio.MemorySendChannel[bytes],
    scope: trio.CancelScope,
) -> None:
    """Pass on the client's data, answer its pings, and cancel ``scope`` when it closes."""
    try:
        while True:
            for message in frames.feed(received):
                if message.opcode == CLOSE:
                    await client.send_all(frames.close(NORMAL))
                    return
                if message.opcode == PING:
                    await client.send_all(frames.frame(PONG, message.data))
                elif message.opcode == BINARY and message.data[:1] == bytes((_DATA,)):
                    with suppress(trio.BrokenResourceError):  # the port has closed
                        await to_port.send(message.data[1:])
            received = bytes(await client.receive_some())
            if not received:
                return
    except BrokenWebSocket as broken:
        await client.send_all(frames.close(broken.code))
    finally:
        scope.cancel()


async def _carry_to_port(from_client: trio.MemoryReceiveChannel[bytes], stream: trio.SocketStream) -> None:
    async with from_client:
        async for data in from_client:
            await stream.send_all(data)
