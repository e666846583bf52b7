"""A small HTTP/1.1 server: GET and HEAD of a few fixed paths, with limits on everything that a client chooses.

``answer`` decides; no path of a request is ever a path of the file system.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import formatdate
from itertools import chain
from pathlib import Path

import h11
import trio
from msgspec import Struct, field

TEXT = "text/plain; charset=utf-8"
_MOST_CONNECTIONS = 64
_LARGEST_HEAD = 16 * 1024
"""Bytes of the request line and headers: a bearer token of a cluster has about 1 KB."""
_CHUNK = 64 * 1024
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
)


class Request(Struct, frozen=True, kw_only=True):
    """A request without a body."""

    path: str
    """Without the query."""
    headers: Mapping[str, str]
    """By their names in lower case."""


class Response(Struct, frozen=True, kw_only=True):
    """The answer to a request."""

    status: int = 200
    content_type: str = TEXT
    body: bytes | Path = b""
    """Text, or the file that has it."""
    headers: tuple[tuple[str, str], ...] = ()


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds."""

    handshake: float = 10.0
    request: float = 10.0
    """For the head of the first request, and between its bytes and the end of it."""
    idle: float = 90.0
    """Until the next request of a connection: longer than the usual interval of Prometheus."""
    chunk: float = 10.0
    """For a client to read ``_CHUNK`` bytes."""
    response: float = 300.0


class HttpServer(Struct):
    """Serves connections of ``trio.serve_listeners``."""

    answer: Callable[[Request], Awaitable[Response]]
    tls: Callable[[], ssl.SSLContext] | None = None
    """Returns the settings for a new connection; None: no TLS."""
    timeouts: Timeouts = Timeouts()
    open: int = 0
    """Connections that are open now."""
    waiting: dict[trio.CancelScope, None] = field(default_factory=dict)
    """Connections without a request, the one that waits longest first."""
    busy: dict[trio.CancelScope, None] = field(default_factory=dict)
    """Connections with a request, the one that takes longest first."""

    async def serve(self, transport: trio.SocketStream) -> None:
        """Serve one connection. No error of a client leaves it. If there are too many, the one that has waited longest
        for a request is closed; if none waits, the one that takes longest, so that slow clients do not lock out
        Prometheus and the kubelet."""
        if self.open >= _MOST_CONNECTIONS:
            oldest = next(chain(self.waiting, self.busy), None)
            if oldest is None:
                await trio.aclose_forcefully(transport)
                return
            self._forget(oldest)
            oldest.cancel()
        self.open += 1
        scope = trio.CancelScope()
        try:
            with scope, suppress(trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, OSError):
                await self._serve(transport, scope)
        finally:
            self.open -= 1
            self._forget(scope)
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(transport)

    def _forget(self, scope: trio.CancelScope) -> None:
        self.waiting.pop(scope, None)
        self.busy.pop(scope, None)

    async def _serve(self, transport: trio.SocketStream, scope: trio.CancelScope) -> None:
        self.waiting[scope] = None
        stream: trio.abc.Stream = transport
        if self.tls is not None:
            stream = trio.SSLStream(transport, self.tls(), server_side=True, https_compatible=True)
            with trio.fail_after(self.timeouts.handshake):
                await stream.do_handshake()
        await _Connection(self, stream, scope).run()
        with trio.move_on_after(1):
            await stream.aclose()


class _Connection(Struct):
    server: HttpServer
    stream: trio.abc.Stream
    scope: trio.CancelScope
    http: h11.Connection = field(
        default_factory=lambda: h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
    )

    async def run(self) -> None:
        """Answer requests, one after the other, until the client closes or a limit is reached."""
        timeouts = self.server.timeouts
        wait = timeouts.request
        try:
            while (head := await self._head(wait)) is not None:
                self.server.waiting.pop(self.scope, None)
                self.server.busy[self.scope] = None
                with trio.fail_after(timeouts.response):
                    await self._respond(head, await self._answer(head))
                if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
                    return
                self.http.start_next_cycle()
                self.server.busy.pop(self.scope, None)
                self.server.waiting[self.scope] = None
                wait = timeouts.idle
        except h11.RemoteProtocolError as error:
            if self.http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                with trio.move_on_after(timeouts.request):
                    await self._send(h11.Response(status_code=error.error_status_hint, headers=_closing()))
                    await self._send(h11.EndOfMessage())

    async def _head(self, wait: float) -> h11.Request | None:
        """Return the next request, without a body; None if there is no more. Raises ``trio.TooSlowError``."""
        with trio.fail_after(wait):
            event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        names = {name for name, value in event.headers if name == b"transfer-encoding" or value.strip() != b"0"}
        if not names.isdisjoint({b"transfer-encoding", b"content-length"}):
            raise h11.RemoteProtocolError("a request with a body", error_status_hint=413)
        with trio.fail_after(self.server.timeouts.request):
            await self._event()  # its end
        return event

    async def _event(self) -> object:
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self.http.receive_data(bytes(await self.stream.receive_some(_LARGEST_HEAD)))

    async def _answer(self, head: h11.Request) -> Response:
        if head.method not in (b"GET", b"HEAD"):
            return Response(status=405, body=b"only GET and HEAD\n", headers=(("Allow", "GET, HEAD"),))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        path = head.target.decode("latin-1").partition("?")[0]
        return await self.server.answer(Request(path=path, headers=headers))

    async def _respond(self, head: h11.Request, answer: Response) -> None:
        if isinstance(answer.body, bytes):
            await self._begin(answer, len(answer.body))
            for start in range(0, len(answer.body) if head.method != b"HEAD" else 0, _CHUNK):
                await self._send(h11.Data(data=answer.body[start : start + _CHUNK]))
        else:
            with answer.body.open("rb") as file:  # a newer report replaces the name; this one stays complete
                await self._begin(answer, file.seek(0, 2))
                file.seek(0)
                while head.method != b"HEAD" and (data := file.read(_CHUNK)):
                    await self._send(h11.Data(data=data))
        await self._send(h11.EndOfMessage())

    async def _begin(self, answer: Response, size: int) -> None:
        own = (("Content-Type", answer.content_type), ("Content-Length", str(size)), ("Date", formatdate(usegmt=True)))
        headers = [*own, *_HEADERS, *answer.headers]
        await self._send(h11.Response(status_code=answer.status, headers=headers))

    async def _send(self, event: h11.Event) -> None:
        if data := self.http.send(event):
            with trio.fail_after(self.server.timeouts.chunk):
                await self.stream.send_all(data)


def _closing() -> list[tuple[str, str]]:
    return [("Connection", "close"), ("Content-Length", "0"), ("Date", formatdate(usegmt=True))]
