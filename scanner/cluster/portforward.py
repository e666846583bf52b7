"""Connections to a pod's port through the API server and the kubelet, where the pod's network cannot be dialled.

``GET /api/v1/namespaces/<namespace>/pods/<pod>/portforward?ports=<port>`` as a WebSocket with the subprotocol
``v4.channel.k8s.io``: each binary message begins with its channel, 0 for the data of the port and 1 for an error's
text; the first message of either is the port (two bytes, little endian). Source: k8s.io/kubelet,
pkg/cri/streaming/portforward/websocket.go. The kubelet connects inside of the pod's network namespace, to localhost.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import httpcore2
import trio

from scanner.cluster.client import ApiError, Client, clean
from scanner.cluster.websocket import BINARY, CLOSE, PING, PONG, Frames, accept_of, frame, handshake_headers, new_key

SUBPROTOCOL = "v4.channel.k8s.io"
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


@dataclass(slots=True)
class Forward:
    """A byte stream to a pod's port. One task may send while another receives."""

    wire: _Wire
    port: int
    _frames: Frames = field(default_factory=Frames)
    _ready: list[bytes] = field(default_factory=list)
    _greeted: set[int] = field(default_factory=set)
    _error: bytearray = field(default_factory=bytearray)
    _ended: bool = False
    _sending: trio.Lock = field(default_factory=trio.Lock)

    async def send(self, data: bytes) -> None:
        """Send bytes to the port. Raises ``NotForwarded`` where the connection is gone."""
        for start in range(0, len(data), _MOST_SENT):
            await self._write(BINARY, bytes([_DATA]) + data[start : start + _MOST_SENT])

    async def receive(self) -> bytes:
        """What the port sent, or b"" when it has closed. Raises ``NotForwarded`` with what the kubelet said."""
        while not self._ready and not self._ended:
            await self._more()
        if self._ready:
            return self._ready.pop(0)
        if self._error:
            raise _told(self._error.decode("utf-8", "replace"))
        return b""

    async def _more(self) -> None:
        try:
            data = await self.wire.read(64 * 1024)
        except httpcore2.NetworkError as error:
            raise _lost(error) from None
        if not data:  # the kubelet says goodbye (CLOSE) when the port closes: this is another ending
            raise _lost(EOFError("it ended without a word"))
        for opcode, payload in self._frames.feed(data):
            if opcode == PING:
                await self._write(PONG, payload)
            elif opcode == CLOSE:
                self._ended = True
            elif opcode == BINARY and payload:
                self._message(payload[0], payload[1:])

    def _message(self, channel: int, content: bytes) -> None:
        if channel in (_DATA, _ERROR) and channel not in self._greeted:
            self._greeted.add(channel)  # the port; nothing to do with it
            content = content[2:]
        if channel == _ERROR:
            self._error += content[: 4096 - len(self._error)]
        elif channel == _DATA and content:
            self._ready.append(content)

    async def _write(self, opcode: int, payload: bytes) -> None:
        async with self._sending:  # frames of two tasks must not mix
            try:
                await self.wire.write(frame(opcode, payload, os.urandom(4)))
            except httpcore2.NetworkError as error:
                raise _lost(error) from None


@asynccontextmanager
async def forward(client: Client, namespace: str, pod: str, port: int) -> AsyncGenerator[Forward]:
    """A connection to that port of the pod. Whether anybody listens there only the first ``receive`` tells.

    Raises ``NotForwarded``, and ``ClusterError`` where the API server does not answer.
    """
    if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(pod)):
        raise NotForwarded("no-pod", "no pod is called so")
    key = new_key()
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
    headers = handshake_headers(key, SUBPROTOCOL)
    async with AsyncExitStack() as stack:
        try:
            response = await stack.enter_async_context(client.upgraded(path, {"ports": str(port)}, headers))
        except ApiError as error:
            raise NotForwarded(_reason_of(error), error.message) from None
        _check(response.headers.get("sec-websocket-accept"), response.headers.get("sec-websocket-protocol"), key)
        yield Forward(response.extensions["network_stream"], port)


def _check(accept: str | None, subprotocol: str | None, key: str) -> None:
    if accept != accept_of(key):
        raise NotForwarded("unsupported", "the upgrade was answered, but not to our key (a proxy's cache?)")
    if subprotocol != SUBPROTOCOL:
        raise NotForwarded("unsupported", f"the subprotocol is not {SUBPROTOCOL}: {clean(str(subprotocol), 60)}")


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
