"""An API server on 127.0.0.1 that does as a test says, over TLS, and remembers what it was asked.

Left alone it serves ``resources`` by aggregated discovery and ``objects`` page by page. ``script`` answers first.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, urlsplit

import h11
import trio

from scanner.cluster.api_connection import Access, Credential, Source, Trust
from scanner.cluster.client import Limits
from scanner.cluster.exec_plugin import Fixed
from scanner.kube.kinds import Kind
from scanner.values import replace
from tests.certs import Authority

LIMITS = Limits(backoff=0.001, longest=0.05, timeout=5, connect=2, tries=4)
"""Limits of a client that does not delay a test."""


@cache
def authority() -> Authority:
    """The CA of the server's and the clients' certificates."""
    return Authority("Scripted API CA")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    client: str | None = None
    """Common name of the client's certificate."""
    method: str = "GET"
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; without a status the connection is just closed."""

    status: int | None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def ok(document: object) -> Answer:
    return Answer(200, json.dumps(document).encode(), (("Content-Type", "application/json"),))


def refused(status: int, reason: str, message: str, *headers: tuple[str, str]) -> Answer:
    """A ``metav1.Status``."""
    document = {"kind": "Status", "apiVersion": "v1", "reason": reason, "message": message, "code": status}
    return Answer(status, json.dumps(document).encode(), headers)


BUILT_IN = {("", "v1"): ["bindings"], ("apps", "v1"): ["deployments"]}
Script = Callable[[Asked], Answer | None]
Upgrade = Callable[[trio.abc.Stream, Asked], Awaitable[None]]


@dataclass(slots=True)
class Api:
    """The scripted API."""

    resources: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """(group, version) -> plurals; versions of a group in its order of preference."""
    objects: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    """Path of a list -> its items."""
    script: Script = lambda _: None
    upgrade: Upgrade | None = None
    legacy: bool = False
    """True if aggregated discovery is not supported."""
    asked: list[Asked] = field(default_factory=list)
    access: Access = field(init=False)

    def __post_init__(self) -> None:
        """Resources of every API server."""
        for key, plurals in BUILT_IN.items():
            self.resources.setdefault(key, []).extend(plurals)

    def add(self, kind: Kind, *items: dict[str, object], version: str = "v1") -> str:
        """Serve objects of a kind; the path of their list."""
        plurals = self.resources.setdefault((kind.group, version), [])
        if kind.plural not in plurals:
            plurals.append(kind.plural)
        path = f"/apis/{kind.group}/{version}/{kind.plural}" if kind.group else f"/api/{version}/{kind.plural}"
        self.objects.setdefault(path, []).extend(items)
        return path

    def paths(self, prefix: str = "/") -> list[str]:
        """Requests, in order."""
        return [each.path for each in self.asked if each.path.startswith(prefix)]

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        said = self.script(asked)
        if said is not None:
            return said
        if asked.path == "/version":
            return ok({"gitVersion": "v1.34.2"})
        if asked.path in ("/api", "/apis"):
            return self._discovery(asked)
        if asked.path in self.objects:
            return self._page(asked)
        return self._object(asked) or self._resource_list(asked.path) or refused(404, "NotFound", "not found")

    def _groups(self, asked: Asked) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for group, version in self.resources:
            if (group == "") == (asked.path == "/api"):
                groups.setdefault(group, []).append(version)
        return groups

    def _discovery(self, asked: Asked) -> Answer:
        groups = self._groups(asked)
        if not self.legacy and "APIGroupDiscoveryList" in asked.headers.get("accept", ""):
            return ok({"kind": "APIGroupDiscoveryList", "items": [self._group(*each) for each in groups.items()]})
        if asked.path == "/api":
            return ok({"kind": "APIVersions", "versions": groups.get("", [])})
        listed = [
            {
                "name": group,
                "versions": [{"version": version} for version in versions],
                "preferredVersion": {"version": versions[0]},
            }
            for group, versions in groups.items()
        ]
        return ok({"kind": "APIGroupList", "groups": listed})

    def _group(self, group: str, versions: list[str]) -> dict[str, object]:
        each = [
            {"version": version, "freshness": "Current",
             "resources": [{"resource": plural} for plural in self.resources[group, version]]}
            for version in versions
        ]  # fmt: skip
        return {"metadata": {"name": group}, "versions": each}

    def _resource_list(self, path: str) -> Answer | None:
        parts = path.strip("/").split("/")
        key = ("", parts[1]) if parts[0] == "api" else ("/".join(parts[1:-1]), parts[-1])
        if key not in self.resources or len(parts) != (2 if parts[0] == "api" else 3):
            return None
        return ok({"kind": "APIResourceList", "resources": [{"name": plural} for plural in self.resources[key]]})

    def _page(self, asked: Asked) -> Answer:
        items = self.objects[asked.path]
        start = int(asked.query.get("continue", "0"))
        end = start + int(asked.query.get("limit", "1000000"))
        metadata = {"continue": str(end)} if end < len(items) else {}
        return ok({"kind": "List", "metadata": metadata, "items": items[start:end]})

    def _object(self, asked: Asked) -> Answer | None:
        before, _, rest = asked.path.partition("/namespaces/")
        namespace, _, tail = rest.partition("/")
        plural, _, name = tail.partition("/")
        for item in self.objects.get(f"{before}/{plural}", ()):
            metadata = item["metadata"]
            if isinstance(metadata, dict) and (metadata.get("namespace"), metadata.get("name")) == (namespace, name):
                return ok(item)
        return None


def named(name: str, namespace: str | None = None, **fields: object) -> dict[str, object]:
    """An object of that name."""
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **fields}


def in_turn(path: str, *answers: Answer | None) -> Script:
    """A script that answers requests for ``path`` with each of these, then leaves them alone."""
    left: Iterator[Answer | None] = iter(answers)
    return lambda asked: next(left, None) if asked.path == path else None


@asynccontextmanager
async def running(api: Api, source: Source | None = None) -> AsyncIterator[Api]:
    """Serve ``api``; ``api.access`` leads there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as directory:
        leaf = authority().leaf(names=("127.0.0.1", "api.example"))
        context.load_cert_chain(*leaf.write(Path(directory), "server"))
    context.load_verify_locations(cadata=authority().pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    api.access = Access(
        name="scripted",
        server=f"https://127.0.0.1:{port}",
        source=source or Fixed(Credential(token="sesame")),
        trust=Trust(authority().pem),
        origin="test",
    )

    async def handle(stream: trio.SocketStream) -> None:
        try:
            await _converse(trio.SSLStream(stream, context, server_side=True, https_compatible=True), api)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await stream.aclose()

    async with listeners[0], trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, handle, listeners)
        yield api
        nursery.cancel_scope.cancel()


async def _converse(stream: trio.SSLStream[trio.SocketStream], api: Api) -> None:
    await stream.do_handshake()
    connection, asked = h11.Connection(h11.SERVER), Asked("", {}, {})
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(65536)))
        elif isinstance(event, h11.Request):
            asked = _asked(event, stream)
            if "upgrade" in asked.headers and api.upgrade is not None:
                api.asked.append(asked)
                await api.upgrade(stream, asked)
                return
        elif isinstance(event, h11.Data):
            asked = replace(asked, body=asked.body + bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            answer = api.answer(asked)
            if answer.status is None:
                await stream.transport_stream.aclose()
                return
            await stream.send_all(_bytes(connection, answer))
            if connection.our_state is h11.MUST_CLOSE:
                await stream.aclose()
                return
            connection.start_next_cycle()
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            await stream.aclose()
            return


def _asked(request: h11.Request, stream: trio.SSLStream[trio.SocketStream]) -> Asked:
    url = urlsplit(request.target.decode())
    certificate = stream.getpeercert()
    subject = dict(pair[0] for pair in certificate["subject"]) if certificate else {}
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in request.headers}
    client, method = subject.get("commonName"), request.method.decode()
    return Asked(url.path, dict(parse_qsl(url.query)), headers, client, method)


def _bytes(connection: h11.Connection, answer: Answer) -> bytes:
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    status = answer.status or 500
    response = h11.Response(status_code=status, headers=headers)
    events = (response, h11.Data(data=answer.body), h11.EndOfMessage())
    return b"".join(connection.send(event) or b"" for event in events)
