"""A stub of a kubelet: only what the API server asks of one for port-forward.

There is no container runtime here. What is real is everything in front of it: the API server that authorizes, dials
the node with its client certificate and passes the WebSocket through, or the error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import h11
import trio
from OpenSSL import SSL

from scanner.demo.api import websocket
from scanner.demo.api.messages import Forward
from scanner.demo.api.port_forward import Connect, forward
from scanner.demo.listening import background, bind_exactly, play
from scanner.demo.tls_server import TlsSettings, tls_context
from scanner.demo.tls_stream import TlsStream
from tests.e2e.control_plane import KUBELET_PORT, ControlPlane


@dataclass(slots=True)
class Kubelet:
    """The stub while it runs."""

    asked: list[str] = field(default_factory=list)
    """Method and path of every request."""


@asynccontextmanager
async def kubelet(plane: ControlPlane, address: str, connect: Connect) -> AsyncIterator[Kubelet]:
    """Be the kubelet of the node at ``address``; a port-forward leads to what ``connect`` connects to."""
    running = Kubelet()
    credential = plane.kubelet_authority.leaf(names=(address,))
    context = tls_context(TlsSettings(credential=credential, alpn=(b"http/1.1",)))
    listener = await bind_exactly(address, KUBELET_PORT)
    async with background() as nursery:
        await play(nursery, partial(_serve, running, context, connect), listener)
        yield running


async def _serve(running: Kubelet, context: SSL.Context, connect: Connect, transport: trio.SocketStream) -> None:
    stream = TlsStream(transport, context)
    await stream.do_handshake()
    http = h11.Connection(h11.SERVER)
    while not isinstance(event := http.next_event(), h11.Request):
        if event is not h11.NEED_DATA:
            return
        http.receive_data(await stream.receive_some())
    path, _, query = event.target.decode().partition("?")
    running.asked.append(f"{event.method.decode()} {path}")
    await _forward(stream, http, event, (path, query), connect)


async def _forward(
    stream: TlsStream, http: h11.Connection, request: h11.Request, target: tuple[str, str], connect: Connect
) -> None:
    """``/portForward/NAMESPACE/POD?port=N``, as a WebSocket."""
    path, query = target
    namespace, pod = path.split("/")[2:4]
    headers = {name.decode(): value.decode() for name, value in request.headers}
    upgrade = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", websocket.accept(headers["sec-websocket-key"])),
        ("Sec-WebSocket-Protocol", headers["sec-websocket-protocol"]),
    ]
    await stream.send_all(http.send(h11.InformationalResponse(status_code=101, headers=upgrade)) or b"")
    port = int(query.rpartition("=")[2])
    wanted = Forward(namespace=namespace, pod=pod, uid="e2e", ports=(port,))
    received, _ = http.trailing_data
    await forward(wanted, stream, connect, received=received)
