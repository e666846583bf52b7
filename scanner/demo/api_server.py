"""The demo's API server: HTTP/1.1 over TLS on trio. ``scanner.demo.api`` decides what it says.

A shipped, verified fake of kube-apiserver's read side: lists by pages, plain watches, discovery, errors as
Status objects, port-forward. Held against the real one in tests/e2e.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from typing import Any

import h11
import trio
from OpenSSL import SSL

from scanner.cluster.websocket import accept_of
from scanner.demo.api import watches
from scanner.demo.api.messages import Forward, Request, Response, Watch, encoded
from scanner.demo.api.port_forward import Connect, forward, protocol_for
from scanner.demo.api.routes import Api
from scanner.demo.api.store import Event
from scanner.demo.listening import Part
from scanner.demo.tls_server import TlsSettings, tls_context
from scanner.demo.tls_stream import TlsStream

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
            for line in watches.first(self.api.store, watch):
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
            line = watches.change(watch, event)
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
