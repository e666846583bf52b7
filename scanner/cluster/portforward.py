"""Connections to a pod's port through the API server and the kubelet, for pods whose network is not reachable.

``GET /api/v1/namespaces/<namespace>/pods/<pod>/portforward?ports=<port>`` as a WebSocket, by one of two subprotocols.
The kubelet connects to localhost in the pod's network namespace.

* ``SPDY/3.1+portforward.k8s.io`` (Kubernetes 1.30 and later, KEP-4006): the binary messages are SPDY/3.1. Each
connection is a pair of streams, for data and for an error's text, so that one WebSocket carries all connections to a
pod. Source: k8s.io/cri-streaming, pkg/streaming/portforward/httpstream.go.

* ``v4.channel.k8s.io``: one connection. Each binary message begins with its channel, 0 for data and 1 for an error's
text; the first message of either is the port (two bytes, little endian). Source: the same, websocket.go.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from math import inf
from typing import Literal, Protocol

import httpcore2
import trio
from msgspec import Struct, field
from wsproto.frame_protocol import Opcode

from scanner.cluster.client import ApiError, Client, clean
from scanner.cluster.websocket import BINARY, CLOSE, PING, PONG, Frames, accept_of, handshake_headers, new_key
from scanner.errors import ClusterError

SUBPROTOCOL = "v4.channel.k8s.io"
SPDY = "SPDY/3.1+portforward.k8s.io"
_BOTH = f"{SPDY}, {SUBPROTOCOL}"
WRITE_TIMEOUT = 10.0
"""Seconds for one write."""
IDLE = 5.0
"""Seconds for which an idle WebSocket stays open: the next connection to the pod follows soon."""
_MOST_UNREAD = 4 << 20
"""Bytes of one connection that wait to be read; the probe reads at once."""
_DATA, _ERROR = 0, 1
_MOST_SENT = 32 * 1024
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")

Reason = Literal["forbidden", "no-pod", "refused", "kubelet", "unsupported"]
"""Reason of a failed connection. ``refused``: the port is closed in the pod. ``kubelet``: the node failed.
``unsupported``: the API server has no port-forward over WebSockets."""


class NotForwarded(Exception):
    """No connection: an observation about the endpoint, or a missing permission."""

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
        """Send bytes. Raises ``NotForwarded`` if the connection is lost."""

    async def receive(self) -> bytes:
        """Return bytes of the port, or b"" after it has closed. Raises ``NotForwarded`` with the error's text."""


# --- SPDY/3.1 ---------------------------------------------------------------------------------------------------------
# The client's side of draft-mbelshe-httpbis-spdy-00 (SPDY/3), section 2. Kubernetes uses no flow control in it
# (moby/spdystream). The server's compressed headers are not needed, so they are never decompressed.

_CONTROL, _VERSION = 0x8000, 3
_SYN_STREAM, _RST_STREAM, _PING, _GOAWAY = 1, 3, 6, 7
"""Types of control frames, section 2.6. All others are ignored."""
_FIN = 0x01
_CANCEL = 5
"""Status of a RST_STREAM, section 2.6.3."""
MAX_FRAME = 1 << 20
"""Bytes. The kubelet sends what it reads from the pod, 32 KiB at once."""

Event = tuple[Literal["data", "end", "ping", "gone"], int, bytes]
"""Type of the event, stream, bytes. ``ping``: the bytes are the answer."""


class Streams(Struct):
    """The streams of one connection. Ours have odd numbers (section 2.3.2)."""

    _next: int = 1
    _headers: zlib._Compress = field(default_factory=zlib.compressobj)
    """Compressor for all headers of a connection; without a dictionary, as RFC 1950 section 2.2 allows."""
    _buffer: bytearray = field(default_factory=bytearray)

    def open(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """A new stream: its number, and the SYN_STREAM (section 2.6.1). Names of headers are lower case."""
        stream, self._next = self._next, self._next + 2
        block = struct.pack(">I", len(headers)) + b"".join(
            struct.pack(">I", len(text)) + text for pair in headers.items() for text in map(str.encode, pair)
        )
        packed = self._headers.compress(block) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return stream, _control_frame(_SYN_STREAM, struct.pack(">IIBB", stream, 0, 0, 0) + packed)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events of complete frames. Raises ``ClusterError``."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, second, size = struct.unpack(">HHI", self._buffer[:8])
            flags, size = size >> 24, size & 0xFFFFFF
            if size > MAX_FRAME:
                raise ClusterError("the API server breaks the SPDY protocol: a frame of more than 1 MiB")
            if len(self._buffer) < 8 + size:
                return
            payload = bytes(self._buffer[8 : 8 + size])
            del self._buffer[: 8 + size]
            if not first & _CONTROL:
                stream = first << 16 | second
                if payload:
                    yield "data", stream, payload
                if flags & _FIN:
                    yield "end", stream, b""
            else:
                yield from _control_events(second, flags, payload)


def _control_events(kind: int, flags: int, payload: bytes) -> Iterator[Event]:
    if kind == _PING:
        yield "ping", 0, _control_frame(_PING, payload)
    elif kind == _GOAWAY:
        yield "gone", 0, b""
    elif len(payload) >= 4 and (kind == _RST_STREAM or flags & _FIN):
        yield "end", int.from_bytes(payload[:4]) & 0x7FFFFFFF, b""


def data_frame(stream: int, payload: bytes, *, end: bool = False) -> bytes:
    """A data frame (section 2.2.2)."""
    return struct.pack(">II", stream, (_FIN if end else 0) << 24 | len(payload)) + payload


def reset_frame(stream: int) -> bytes:
    """A RST_STREAM frame with CANCEL (section 2.6.3)."""
    return _control_frame(_RST_STREAM, struct.pack(">II", stream, _CANCEL))


def _control_frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", _CONTROL | _VERSION, kind, len(payload)) + payload


# --- connections ------------------------------------------------------------------------------------------------------


class _WebSocket(Struct):
    """Binary messages to and from the API server."""

    wire: _Wire
    sending: trio.Lock = field(default_factory=trio.Lock)
    """Lock for writers: frames of two tasks must not mix."""
    stuck: bool = False
    """True if the peer did not accept a complete frame."""
    _frames: Frames = field(default_factory=partial(Frames, client=True))
    _closed: bool = False

    async def messages(self) -> list[bytes] | None:
        """The received messages; None after the peer closes. Raises ``NotForwarded``."""
        if self._closed:
            return None
        try:
            data = await self.wire.read(64 * 1024)
        except httpcore2.NetworkError as error:
            raise _lost(error) from None
        if not data:  # when the port closes, the kubelet sends CLOSE first
            raise _lost(EOFError("it closed without a close frame"))
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
        """Send one message while ``sending`` is locked. Raises ``NotForwarded``.

        Cancellation waits for the end of the frame, since other connections share the WebSocket.
        """
        if self.stuck:
            raise _lost(TimeoutError("it accepts no more bytes"))
        try:
            with trio.CancelScope(shield=True), trio.fail_after(WRITE_TIMEOUT):
                await self.wire.write(self._frames.frame(opcode, payload))
        except trio.TooSlowError:
            self.stuck = True
            raise _lost(TimeoutError(f"it accepted no bytes for {WRITE_TIMEOUT:g} s")) from None
        except httpcore2.NetworkError as error:
            raise _lost(error) from None


class _Single(Struct):
    """The one connection of a WebSocket with channels."""

    socket: _WebSocket
    _ready: list[bytes] = field(default_factory=list)
    _started: set[int] = field(default_factory=set)
    _error: bytearray = field(default_factory=bytearray)
    _ended: bool = False
    left: trio.Event = field(default_factory=trio.Event)
    """Set when the connection is not used any more."""

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
            raise _from_text(self._error.decode("utf-8", "replace"))
        return b""

    def _message(self, channel: int, content: bytes) -> None:
        if channel in (_DATA, _ERROR) and channel not in self._started:
            self._started.add(channel)  # the port number
            content = content[2:]
        if channel == _ERROR:
            self._error += content[: 4096 - len(self._error)]
        elif channel == _DATA and content:
            self._ready.append(content)


class _Pair(Struct):
    """One of several connections: its streams, and the received bytes."""

    session: _Session
    data: int
    error: int
    unread: bytearray = field(default_factory=bytearray)
    text: bytearray = field(default_factory=bytearray)
    open: set[int] = field(default_factory=set)
    """Streams that have not ended, of these two."""
    came: trio.Event = field(default_factory=trio.Event)

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _MOST_SENT):
            await self.session.socket.send(data_frame(self.data, data[start : start + _MOST_SENT]))

    async def receive(self) -> bytes:
        while not self.unread and self.open and self.session.broken is None:
            await self.came.wait()
            self.came = trio.Event()
        if self.unread:
            taken = bytes(self.unread)
            self.unread.clear()
            return taken
        if self.text:
            raise _from_text(self.text.decode("utf-8", "replace"))
        if self.open and self.session.broken is not None:
            raise self.session.broken
        return b""


class _Session(Struct, eq=False):
    """One WebSocket with all connections to a pod."""

    socket: _WebSocket
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    streams: Streams = field(default_factory=Streams)
    pairs: dict[int, _Pair] = field(default_factory=dict)
    """Connections by each of their streams."""
    requests: int = 0
    broken: NotForwarded | None = None

    @property
    def usable(self) -> bool:
        """True if it can carry another connection."""
        return self.broken is None and not self.socket.stuck and not self.scope.cancel_called

    async def run(self) -> None:
        """Distribute received bytes, until there has been no connection for ``IDLE``."""
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

    async def _event(self, kind: str, stream: int, content: bytes) -> None:
        pair = self.pairs.get(stream)
        if kind == "ping":
            await self.socket.send(content)
        elif kind == "gone":
            self.broken = _lost(EOFError("the kubelet accepts no more connections"))
        elif pair is not None:
            if kind == "end":
                pair.open.discard(stream)
            elif stream == pair.error:
                pair.text += content[: 4096 - len(pair.text)]
            elif len(pair.unread) + len(content) > _MOST_UNREAD:
                pair.open.clear()
                pair.text += b"the port sends faster than the scanner reads"
            else:
                pair.unread += content
            pair.came.set()

    async def connect(self, port: int) -> _Pair:
        """Open another connection. Raises ``NotForwarded``."""
        self.scope.deadline = inf
        try:
            async with self.socket.sending:  # headers share one compression state, so each compressed one must be sent
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
            await self.socket.write(first + data_frame(error, b"", end=True) + second)
        except NotForwarded:
            self._remove(pair)
            raise
        return pair

    def _remove(self, pair: _Pair) -> None:
        del self.pairs[pair.data], self.pairs[pair.error]

    def _wait(self) -> None:
        """Limit the wait if there is no connection."""
        self.scope.deadline = inf if self.pairs else trio.current_time() + IDLE

    async def leave(self, pair: _Pair) -> None:
        """Close a connection; after the last one the WebSocket becomes idle."""
        self._remove(pair)
        self._wait()
        if pair.data in pair.open and self.broken is None:
            with suppress(NotForwarded):
                await self.socket.send(reset_frame(pair.data))


class PortForwards:
    """Connections through one API server, with one WebSocket for each pod if it supports several connections."""

    def __init__(self, client: Client, nursery: trio.Nursery) -> None:
        self._client = client
        self._nursery = nursery
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._opening: defaultdict[tuple[str, str], trio.Lock] = defaultdict(trio.Lock)
        self.several = True
        """True if a WebSocket can carry several connections; set by the first answer."""

    @asynccontextmanager
    async def connection(self, namespace: str, pod: str, port: int) -> AsyncGenerator[Forward]:
        """A connection to a port of the pod. Only the first ``receive`` shows if the port is open.

        Raises ``NotForwarded``, and ``ClusterError`` if the API server does not answer.
        """
        socket = await self._socket_for(namespace, pod, port)
        if isinstance(socket, _Single):
            try:
                yield socket
            finally:
                socket.left.set()
            return
        pair = await socket.connect(port)
        try:
            yield pair
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(2):
                await socket.leave(pair)

    async def _socket_for(self, namespace: str, pod: str, port: int) -> _Session | _Single:
        """The WebSocket of that pod, or a new one if each carries one connection only."""
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
        """Open a WebSocket, and keep it while it is used. One task opens and closes it."""
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
            raise NotForwarded("no-pod", "invalid name of a pod")
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
        raise NotForwarded("unsupported", "the answer to the upgrade has a wrong key, as from a proxy's cache")
    if subprotocol is None or subprotocol not in offered.split(", "):
        raise NotForwarded("unsupported", f"the subprotocol is not one of {offered}: {clean(str(subprotocol), 60)}")


_STATUS: dict[int, Reason] = {401: "forbidden", 403: "forbidden", 404: "no-pod"}
_TEXTS: tuple[tuple[str, Reason], ...] = (
    ("connection refused", "refused"),
    ("not found", "no-pod"),
    ("not running", "no-pod"),
    ("does not exist", "no-pod"),
)
"""Texts of kubelets, container runtimes and Go's net package in the error channel."""


def _reason_of(error: ApiError) -> Reason:
    if error.status in _STATUS:
        return _STATUS[error.status]
    if error.status < 500:
        return "unsupported"
    # Before the upgrade, no one has dialled the pod's port: the kubelet refused the API server.
    reason = _from_text(error.message).reason
    return "kubelet" if reason == "refused" else reason


def _from_text(text: str) -> NotForwarded:
    lower = text.lower()
    reason: Reason = next((reason for words, reason in _TEXTS if words in lower), "kubelet")
    return NotForwarded(reason, clean(text))


def _lost(error: Exception) -> NotForwarded:
    return NotForwarded("kubelet", f"the connection through the API server broke: {clean(str(error))}".rstrip(": "))
