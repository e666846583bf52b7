"""Connections to a pod's port through the API server and the kubelet, where the pod's network cannot be dialled.

``GET /api/v1/namespaces/<namespace>/pods/<pod>/portforward?ports=<port>`` as a WebSocket, by one of two subprotocols.
The kubelet connects inside of the pod's network namespace, to localhost.

* ``SPDY/3.1+portforward.k8s.io`` (Kubernetes 1.30 and later, KEP-4006): the binary messages are SPDY/3.1. Each
  connection is a pair of its streams, for data and for an error's text, so that one WebSocket carries all connections
  to a pod. Source: k8s.io/cri-streaming, pkg/streaming/portforward/httpstream.go.
* ``v4.channel.k8s.io``: one connection. Each binary message begins with its channel, 0 for the data of the port and 1
  for an error's text; the first message of either is the port (two bytes, little endian). Source: the same,
  websocket.go.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Literal, Protocol

import httpcore2
import trio
from wsproto.frame_protocol import Opcode

from scanner.cluster import spdy
from scanner.cluster.client import ApiError, Client, clean
from scanner.cluster.websocket import BINARY, CLOSE, PING, PONG, Frames, accept_of, handshake_headers, new_key
from scanner.errors import ClusterError

SUBPROTOCOL = "v4.channel.k8s.io"
SPDY = "SPDY/3.1+portforward.k8s.io"
_BOTH = f"{SPDY}, {SUBPROTOCOL}"
PATIENCE = 10.0
"""Seconds for which a WebSocket may take no bytes."""
IDLE = 5.0
"""Seconds for which a WebSocket without connections is kept: the next question to a listener follows at once."""
_MOST_UNREAD = 4 << 20
"""Bytes of one connection that wait to be read; the probe reads everything at once."""
_DATA, _ERROR = 0, 1
_MOST_SENT = 32 * 1024
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")

Reason = Literal["forbidden", "no-pod", "refused", "kubelet", "unsupported"]
"""Why there is no connection. ``refused``: nobody listens on that port in the pod. ``kubelet``: the node could not do
it. ``unsupported``: no API server that forwards ports over WebSockets."""


class NotForwarded(Exception):
    """No connection was made: an observation about the endpoint, or a permission that we lack."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class _Wire(Protocol):
    """The HTTP client's connection after the upgrade."""

    async def read(self, max_bytes: int) -> bytes: ...
    async def write(self, buffer: bytes) -> None: ...


class Forward(Protocol):
    """A byte stream to a pod's port. One task may send while another receives."""

    async def send(self, data: bytes) -> None:
        """Send bytes to the port. Raises ``NotForwarded`` where the connection is gone."""

    async def receive(self) -> bytes:
        """What the port sent, or b"" when it has closed. Raises ``NotForwarded`` with what the kubelet said."""


@dataclass(slots=True)
class _WebSocket:
    """Binary messages to and from the API server."""

    wire: _Wire
    sending: trio.Lock = field(default_factory=trio.Lock)
    """To be held by who writes: frames of two tasks must not mix."""
    stuck: bool = False
    """Whether a frame was begun that the peer has not taken."""
    _frames: Frames = field(default_factory=partial(Frames, client=True))
    _closed: bool = False

    async def messages(self) -> list[bytes] | None:
        """What has come, one message or several; None when the peer says goodbye. Raises ``NotForwarded``."""
        if self._closed:
            return None
        try:
            data = await self.wire.read(64 * 1024)
        except httpcore2.NetworkError as error:
            raise _lost(error) from None
        if not data:  # the kubelet says goodbye (CLOSE) when the port closes: this is another ending
            raise _lost(EOFError("it ended without a word"))
        found: list[bytes] = []
        for opcode, payload in self._frames.feed(data):
            if opcode == PING:
                await self.send(payload, PONG)
            elif opcode == CLOSE:
                self._closed = True
                break
            elif opcode == BINARY and payload:
                found.append(payload)
        return found

    async def send(self, payload: bytes, opcode: Opcode = BINARY) -> None:
        """Send one message. Raises ``NotForwarded``."""
        async with self.sending:
            await self.write(payload, opcode)

    async def write(self, payload: bytes, opcode: Opcode = BINARY) -> None:
        """The same, where ``sending`` is held. Raises ``NotForwarded``.

        Whoever is cancelled meanwhile has the frame written to its end: other connections depend on its bytes.
        """
        if self.stuck:
            raise _lost(TimeoutError("it takes no more bytes"))
        try:
            with trio.CancelScope(shield=True), trio.fail_after(PATIENCE):
                await self.wire.write(self._frames.frame(opcode, payload))
        except trio.TooSlowError:
            self.stuck = True
            raise _lost(TimeoutError(f"it took no bytes for {PATIENCE:g} s")) from None
        except httpcore2.NetworkError as error:
            raise _lost(error) from None


@dataclass(slots=True)
class _Single:
    """The one connection of a WebSocket with channels."""

    socket: _WebSocket
    _ready: list[bytes] = field(default_factory=list)
    _greeted: set[int] = field(default_factory=set)
    _error: bytearray = field(default_factory=bytearray)
    _ended: bool = False
    left: trio.Event = field(default_factory=trio.Event)
    """Set when the connection is not needed any more."""

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _MOST_SENT):
            await self.socket.send(bytes([_DATA]) + data[start : start + _MOST_SENT])

    async def receive(self) -> bytes:
        while not self._ready and not self._ended:
            messages = await self.socket.messages()
            self._ended = messages is None
            for each in messages or ():
                self._message(each[0], each[1:])
        if self._ready:
            return self._ready.pop(0)
        if self._error:
            raise _told(self._error.decode("utf-8", "replace"))
        return b""

    def _message(self, channel: int, content: bytes) -> None:
        if channel in (_DATA, _ERROR) and channel not in self._greeted:
            self._greeted.add(channel)  # the port; nothing to do with it
            content = content[2:]
        if channel == _ERROR:
            self._error += content[: 4096 - len(self._error)]
        elif channel == _DATA and content:
            self._ready.append(content)


@dataclass(slots=True)
class _Pair:
    """One connection of several: its streams, and what has come of it."""

    session: _Session
    data: int
    error: int
    unread: bytearray = field(default_factory=bytearray)
    text: bytearray = field(default_factory=bytearray)
    open: set[int] = field(default_factory=set)
    """Which of the two streams have not ended."""
    came: trio.Event = field(default_factory=trio.Event)

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _MOST_SENT):
            await self.session.socket.send(spdy.data(self.data, data[start : start + _MOST_SENT]))

    async def receive(self) -> bytes:
        while not self.unread and self.open and self.session.broken is None:
            await self.came.wait()
            self.came = trio.Event()
        if self.unread:
            taken = bytes(self.unread)
            self.unread.clear()
            return taken
        if self.text:
            raise _told(self.text.decode("utf-8", "replace"))
        if self.open and self.session.broken is not None:
            raise self.session.broken
        return b""


@dataclass(slots=True, eq=False)
class _Session:
    """One WebSocket with the connections to a pod in it."""

    socket: _WebSocket
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    streams: spdy.Streams = field(default_factory=spdy.Streams)
    pairs: dict[int, _Pair] = field(default_factory=dict)
    """By both of their streams."""
    requests: int = 0
    broken: NotForwarded | None = None

    @property
    def usable(self) -> bool:
        """Whether a further connection can be made in it."""
        return self.broken is None and not self.socket.stuck and not self.scope.cancel_called

    async def run(self) -> None:
        """Hand out what comes, until there has been no connection for ``IDLE``."""
        with self.scope:
            try:
                while self.broken is None and (messages := await self.socket.messages()) is not None:
                    for event in (event for each in messages for event in self.streams.feed(each)):
                        await self._event(*event)
            except NotForwarded as why:
                self.broken = why
            except ClusterError as error:
                self.broken = NotForwarded("kubelet", error.message)
        self.broken = self.broken or _lost(EOFError("it was closed"))
        for pair in self.pairs.values():
            pair.came.set()

    async def _event(self, what: str, stream: int, content: bytes) -> None:
        pair = self.pairs.get(stream)
        if what == "ping":
            await self.socket.send(content)
        elif what == "gone":
            self.broken = _lost(EOFError("the kubelet takes no more connections"))
        elif pair is not None:
            if what == "end":
                pair.open.discard(stream)
            elif stream == pair.error:
                pair.text += content[: 4096 - len(pair.text)]
            elif len(pair.unread) + len(content) > _MOST_UNREAD:
                pair.open.clear()
                pair.text += b"the port sends more than is read of it"
            else:
                pair.unread += content
            pair.came.set()

    async def connect(self, port: int) -> _Pair:
        """A further connection. Raises ``NotForwarded``."""
        self.scope.deadline = inf
        try:
            async with self.socket.sending:  # headers are compressed together, so each is sent that was compressed
                return await self._connect(port)
        finally:
            self._wait()

    async def _connect(self, port: int) -> _Pair:
        self.requests += 1
        headers = {"port": str(port), "requestid": str(self.requests)}
        error, first = self.streams.open({"streamtype": "error", **headers})
        data, second = self.streams.open({"streamtype": "data", **headers})
        pair = _Pair(self, data, error, open={data, error})
        self.pairs |= {data: pair, error: pair}
        try:
            await self.socket.write(first + spdy.data(error, b"", end=True) + second)
        except NotForwarded:
            self._forget(pair)
            raise
        return pair

    def _forget(self, pair: _Pair) -> None:
        del self.pairs[pair.data], self.pairs[pair.error]

    def _wait(self) -> None:
        """Where there is no connection, for the next one; not for ever."""
        self.scope.deadline = inf if self.pairs else trio.current_time() + IDLE

    async def leave(self, pair: _Pair) -> None:
        """End a connection; the last one lets the WebSocket wait for the next."""
        self._forget(pair)
        self._wait()
        if pair.data in pair.open and self.broken is None:
            with suppress(NotForwarded):
                await self.socket.send(spdy.reset(pair.data))


class PortForwards:
    """Connections through one API server, with one WebSocket for each pod where it can carry several."""

    def __init__(self, client: Client, nursery: trio.Nursery) -> None:
        self._client = client
        self._nursery = nursery
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._opening: defaultdict[tuple[str, str], trio.Lock] = defaultdict(trio.Lock)
        self.several = True
        """Whether a WebSocket may carry several connections; learnt from the first answer."""

    @asynccontextmanager
    async def connection(self, namespace: str, pod: str, port: int) -> AsyncGenerator[Forward]:
        """A connection to that port of the pod. Whether anything listens there only the first ``receive`` shows.

        Raises ``NotForwarded``, and ``ClusterError`` where the API server does not answer.
        """
        way = await self._way(namespace, pod, port)
        if isinstance(way, _Single):
            try:
                yield way
            finally:
                way.left.set()
            return
        pair = await way.connect(port)
        try:
            yield pair
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(2):
                await way.leave(pair)

    async def _way(self, namespace: str, pod: str, port: int) -> _Session | _Single:
        """The WebSocket of that pod, or one of its own where each can carry one connection only."""
        if not self.several:
            return await self._start(namespace, pod, port)
        async with self._opening[namespace, pod]:
            found = self._sessions.get((namespace, pod))
            if found is not None and found.usable:
                return found
            started = await self._start(namespace, pod, port)
            if isinstance(started, _Session):
                self._sessions[namespace, pod] = started
            return started

    async def _start(self, namespace: str, pod: str, port: int) -> _Session | _Single:
        started: _Session | _Single = await self._nursery.start(self._carry, namespace, pod, port)
        return started

    async def _carry(
        self, namespace: str, pod: str, port: int, *, task_status: trio.TaskStatus[_Session | _Single]
    ) -> None:
        """Open a WebSocket, and keep it while it is used. Opened and closed by one task."""
        async with self._opened(namespace, pod, port) as (socket, subprotocol):
            if subprotocol == SPDY:
                session = _Session(socket)
                task_status.started(session)
                await session.run()
            else:
                self.several = False
                single = _Single(socket)
                task_status.started(single)
                await single.left.wait()

    @asynccontextmanager
    async def _opened(self, namespace: str, pod: str, port: int) -> AsyncGenerator[tuple[_WebSocket, str]]:
        if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(pod)):
            raise NotForwarded("no-pod", "no pod is called so")
        key = new_key()
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
        offered = _BOTH if self.several else SUBPROTOCOL
        headers = handshake_headers(key, offered)
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(self._client.upgraded(path, {"ports": str(port)}, headers))
            except ApiError as error:
                raise NotForwarded(_reason_of(error), error.message) from None
            chosen = response.headers.get("sec-websocket-protocol")
            _check(response.headers.get("sec-websocket-accept"), chosen, offered, key)
            yield _WebSocket(response.extensions["network_stream"]), str(chosen)


def _check(accept: str | None, subprotocol: str | None, offered: str, key: str) -> None:
    if accept != accept_of(key):
        raise NotForwarded("unsupported", "the upgrade was answered, but not to our key (a proxy's cache?)")
    if subprotocol is None or subprotocol not in offered.split(", "):
        raise NotForwarded("unsupported", f"the subprotocol is none of {offered}: {clean(str(subprotocol), 60)}")


_STATUS: dict[int, Reason] = {401: "forbidden", 403: "forbidden", 404: "no-pod"}
_TEXTS: tuple[tuple[str, Reason], ...] = (
    ("connection refused", "refused"),
    ("not found", "no-pod"),
    ("not running", "no-pod"),
    ("does not exist", "no-pod"),
)
"""What kubelets and container runtimes write into the error channel, in the words of Go's net package and their own."""


def _reason_of(error: ApiError) -> Reason:
    if error.status in _STATUS:
        return _STATUS[error.status]
    if error.status < 500:
        return "unsupported"
    # Before the upgrade nobody has dialled the pod's port: who is refused is the API server, at the kubelet.
    reason = _told(error.message).reason
    return "kubelet" if reason == "refused" else reason


def _told(text: str) -> NotForwarded:
    lower = text.lower()
    reason: Reason = next((reason for words, reason in _TEXTS if words in lower), "kubelet")
    return NotForwarded(reason, clean(text))


def _lost(error: Exception) -> NotForwarded:
    return NotForwarded("kubelet", f"the connection through the API server broke: {clean(str(error))}".rstrip(": "))
