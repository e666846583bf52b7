"""A small API server: twelve pods in two namespaces, an object of an aggregated API, one of a CRD."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx2
import trio

from scanner.demo.api.request_handler import Api
from scanner.demo.api.server import Connect, api_handler, nothing_to_forward
from scanner.demo.api.store import Object, Resource, Store
from scanner.demo.certificates import Authority
from scanner.demo.listening import listening
from scanner.demo.tls_server import TlsSettings
from scanner.kube import kinds

TOKEN = "let-me-in"
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

RESOURCES = (
    Resource(kind=kinds.POD, short_names=("po",), subresources=("portforward",)),
    Resource(kind=kinds.NAMESPACE, short_names=("ns",)),
    Resource(kind=kinds.SECRET),
    Resource(kind=kinds.NODE),
    Resource(kind=kinds.ROUTE, server="aggregated"),
    Resource(kind=kinds.GATEWAY, versions=("v1", "v1beta1"), server="crd"),
)


def named(name: str, namespace: str | None = None, **more: dict[str, Any]) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return {"metadata": metadata, **more}


def pods() -> list[Object]:
    return [
        named(
            f"web-{number:02}",
            "shop" if number < 7 else "bank",
            metadata={"labels": {"app": "web", "tier": "odd" if number % 2 else "even"}},
            spec={"nodeName": f"node-{number % 3}"},
        )
        for number in range(12)
    ]


def store() -> Store:
    objects = {
        kinds.POD: pods(),
        kinds.NAMESPACE: [named("shop"), named("bank")],
        kinds.ROUTE: [named("front", "shop", spec={"host": "shop.example"})],
        kinds.GATEWAY: [named("edge", "shop", spec={})],
    }
    return Store(RESOURCES, objects, now=NOW, revision=1000)


def api(*forbidden: str) -> Api:
    version = {"major": "1", "minor": "35", "gitVersion": "v1.35.2"}
    return Api(store=store(), token=TOKEN, forbidden=frozenset(forbidden or ("secrets",)), version=version)


@dataclass(frozen=True, slots=True)
class Served:
    """The server, and a client that shows its token."""

    api: Api
    http: httpx2.AsyncClient
    address: tuple[str, int]
    trust: ssl.SSLContext

    async def json(self, path: str, **params: str | int) -> dict[str, Any]:
        answer: dict[str, Any] = (await self.http.get(path, params=params)).json()
        return answer


class WebSocket:
    """A client that speaks just enough of RFC 6455 for messages shorter than 64 KiB."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream], left: bytes) -> None:
        self._stream = stream
        self._buffer = bytearray(left)

    async def send(self, data: bytes, *, opcode: int = 2) -> None:
        length = bytes((0x80 | len(data),)) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
        mask = b"\x11\x22\x33\x44"
        body = bytes(each ^ mask[at % 4] for at, each in enumerate(data))
        await self._stream.send_all(bytes((0x80 | opcode,)) + length + mask + body)

    async def receive(self) -> tuple[int, bytes]:
        """The next frame: opcode and payload."""
        opcode, size = (await self._take(2))[:2]
        if size == 126:
            size = int.from_bytes(await self._take(2), "big")
        return opcode & 15, await self._take(size)

    async def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            more = await self._stream.receive_some()
            assert more, "the server left"
            self._buffer += more
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


@asynccontextmanager
async def web_socket(server: Served, path: str, protocol: str = "v4.channel.k8s.io") -> AsyncIterator[WebSocket]:
    """Upgrade to a WebSocket at ``path``."""
    transport = await trio.open_tcp_stream(*server.address)
    stream = trio.SSLStream(transport, server.trust, server_hostname=server.address[0], https_compatible=True)
    async with stream:
        await stream.send_all(
            f"GET {path} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {TOKEN}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += await stream.receive_some()
        head, _, left = bytes(head).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
        assert f"protocol: {protocol}".encode() in head.lower()
        yield WebSocket(stream, left)


@asynccontextmanager
async def served(wanted: Api | None = None, *, connect: Connect = nothing_to_forward) -> AsyncIterator[Served]:
    """Serve an API, or ``api()``, over TLS."""
    wanted = wanted or api()
    authority = Authority("API CA")
    tls = TlsSettings(credential=authority.leaf(names=("127.0.0.1",)), alpn=(b"http/1.1",))
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    async with listening(api_handler(wanted, tls, connect)) as server:
        base = f"https://127.0.0.1:{server.port}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=base, verify=trust, trust_env=False, headers=headers) as http:
            yield Served(wanted, http, server.sockaddr, trust)
