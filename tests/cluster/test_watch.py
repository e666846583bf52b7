"""Watches of the API server: which changes are reported, and what is done if it refuses, forgets or goes away."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
import trio

from scanner.cluster import watch
from scanner.cluster.api_connection import Access, Credential, Trust
from scanner.cluster.exec_plugin import Fixed
from scanner.demo.api.request_handler import Api as DemoApi
from scanner.demo.api.server import api_handler
from scanner.demo.api.store import Resource, Store
from scanner.demo.certificates import Authority
from scanner.demo.listening import background, bind, start_listener
from scanner.demo.tls_server import TlsSettings
from scanner.kube.kinds import DEPLOYMENT, KUBELET_CONFIG, POD, ROUTE, SECRET
from scanner.serve.cycles import Pauses
from scanner.values import replace
from tests.cluster.api import Answer, Api, Asked, named, ok, refused, running
from tests.cluster.watches import LARGEST, until, watching
from tests.demo.api.small import NOW, TOKEN, store

pytestmark = pytest.mark.crypto


def api(*forbidden: str) -> DemoApi:
    """The demo's server with a few Pods, and no KubeletConfig."""
    resources = (*store().resources, Resource(kind=DEPLOYMENT))
    pods = [named(f"web-{number:02}", "shop") for number in range(12)]
    found = Store(resources, {POD: pods}, now=NOW, revision=1000)
    return DemoApi(store=found, token=TOKEN, forbidden=frozenset(forbidden), version={"gitVersion": "v1.35.2"})


@asynccontextmanager
async def demo_api(made: DemoApi, authority: Authority, port: int = 0) -> AsyncIterator[Access]:
    tls = TlsSettings(credential=authority.leaf(names=("127.0.0.1",)), alpn=(b"http/1.1",))
    async with background() as nursery:
        listener = (await trio.open_tcp_listeners(port, host="127.0.0.1"))[0] if port else await bind("127.0.0.1")
        there = await start_listener(nursery, api_handler(made, tls), listener)
        yield Access(
            name="demo",
            server=f"https://127.0.0.1:{there.port}",
            source=Fixed(Credential(token=TOKEN)),
            trust=Trust(authority.pem),
            origin="test",
        )


async def test_a_change_is_reported_and_what_was_there_before_is_not() -> None:
    made = api()
    async with demo_api(made, Authority("API CA")) as access, watching(access, POD, ROUTE) as (watcher, changes):
        await watcher.started.wait()
        assert watcher.states == {POD: "watching", ROUTE: "watching"}
        assert changes.listed == 2
        made.store.put(POD, named("new", "shop"))
        assert await changes.next() == "Pod/shop/new"
        made.store.put(ROUTE, named("web", "shop"))
        assert await changes.next() == "Route/shop/web"
        made.store.delete(POD, "new", "shop")
        assert await changes.next() == "Pod/shop/new"
        assert len(changes.all) == 3


async def test_a_change_while_the_server_was_away_is_reported() -> None:
    made, authority = api(), Authority("API CA")
    async with AsyncExitStack() as server:
        access = await server.enter_async_context(demo_api(made, authority))
        port = int(access.server.rpartition(":")[2])
        await server.aclose()
        async with watching(access, POD) as (watcher, changes):
            await watcher.started.wait()
            assert watcher.states == {POD: "failed"}
            assert changes.listed == 0
            async with demo_api(made, authority, port):
                await until(watcher, POD, "watching")
            await until(watcher, POD, "failed")
            made.store.delete(POD, "web-00", "shop")
            async with demo_api(made, authority, port):
                assert await changes.next() == "Pod/shop/web-00"
                await until(watcher, POD, "watching")
                made.store.put(POD, named("later", "shop"))
                assert await changes.next() == "Pod/shop/later"
    assert changes.all == ["Pod/shop/web-00", "Pod/shop/later"]
    assert changes.listed == 1, "later lists are compared"


class Machine:
    """Forwards connections to the API server. After it lost power, the connections of before stay open and silent."""

    def __init__(self, access: Access) -> None:
        self.port = int(access.server.rpartition(":")[2])
        self.starts = 0

    async def serve(self, client: trio.SocketStream) -> None:
        start = self.starts
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as server, trio.open_nursery() as nursery:
            nursery.start_soon(self.copy, server, client, start)
            await self.copy(client, server, start)
            nursery.cancel_scope.cancel()

    async def copy(self, source: trio.SocketStream, sink: trio.SocketStream, start: int) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for part in source:
                if start == self.starts:
                    await sink.send_all(part)


async def test_a_server_that_disappears_without_closing_is_noticed() -> None:
    made = api()
    async with demo_api(made, Authority("API CA")) as access, background() as nursery:
        machine = Machine(access)
        there = await start_listener(nursery, machine.serve, await bind("127.0.0.1"))
        behind = replace(access, server=f"https://127.0.0.1:{there.port}")
        async with watching(behind, POD, silence=1) as (watcher, changes):
            await until(watcher, POD, "watching")
            machine.starts += 1
            made.store.put(POD, named("new", "shop"))
            assert await changes.next() == "Pod/shop/new"


def test_a_change_is_in_the_report_within_a_minute_of_the_return_of_the_server() -> None:
    """The watch of before ends; the next one begins; other changes may follow; the last scan has just ended."""
    pauses = Pauses()
    assert watch._LIMITS.timeout + 1.5 * watch._BACKOFF + pauses.settle + pauses.rest <= 60
    assert watch._LIMITS.timeout > watch._LASTS + 5, "a watch without changes ends by itself"
    assert 1.5 * watch._LONGEST + pauses.settle + pauses.rest <= 60


async def test_one_kind_that_may_not_be_watched_does_not_stop_the_others() -> None:
    made = api("routes.route.openshift.io")
    kinds = POD, ROUTE, KUBELET_CONFIG
    async with demo_api(made, Authority("API CA")) as access, watching(access, *kinds) as (watcher, changes):
        await until(watcher, ROUTE, "forbidden")
        await until(watcher, KUBELET_CONFIG, "not_served")
        await until(watcher, POD, "watching")
        made.store.put(POD, named("new", "shop"))
        assert await changes.next() == "Pod/shop/new"


def event(change: str, version: int, name: str = "web") -> dict[str, object]:
    metadata = {"name": name, "namespace": "shop", "resourceVersion": str(version)}
    return {"type": change, "object": {"metadata": metadata}}


def lines(*events: object) -> Answer:
    return Answer(200, b"".join(json.dumps(each).encode() + b"\n" for each in events))


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


class Scripted:
    """An API whose watches end as a test says."""

    def __init__(self, *watches: Answer) -> None:
        self.api = Api(script=self.answer)
        self.path = self.api.add(ROUTE)
        self.items: list[dict[str, object]] = []
        self.watches = list(watches)
        self.since: list[str] = []
        self.accepted: set[str] = set()

    def answer(self, asked: Asked) -> Answer | None:
        if asked.path != self.path:
            return None
        self.accepted.add(asked.headers["accept"].partition(",")[0])
        if "watch" not in asked.query:
            return ok({"kind": "RouteList", "metadata": {"resourceVersion": "10"}, "items": self.items})
        self.since.append(asked.query["resourceVersion"])
        return self.watches.pop(0) if self.watches else Answer(None)


@pytest.mark.parametrize("gone", [lines(GONE), refused(410, "Expired", "too old")])
async def test_a_version_that_is_too_old_leads_to_a_new_list(gone: Answer) -> None:
    made = Scripted(lines(event("BOOKMARK", 15), event("MODIFIED", 16)), gone, lines(event("ADDED", 21, "late")))
    async with running(made.api) as there, watching(there.access, ROUTE) as (_, changes):
        assert await changes.next() == "Route/shop/web"
        made.items.append(named("other", "shop"))
        assert {await changes.next() for _ in range(3)} == {"Route/shop/other", "Route/shop/web", "Route/shop/late"}
    assert made.since[:3] == ["10", "16", "10"]
    assert all("as=PartialObjectMetadata" in each for each in made.accepted), "no content is requested"


@pytest.mark.parametrize(
    "strange",
    [
        b"not json\n",
        b"[" * 100_000 + b"\n",
        b"x" * (LARGEST + 2),
        b'{"type":"ERROR","object":{"code":"x"}}\n',
    ],
    ids=["text", "nested", "endless", "error"],
)
async def test_a_strange_server_ends_one_watch_only(strange: bytes) -> None:
    made = Scripted(Answer(200, strange), lines(event("MODIFIED", 16)))
    async with running(made.api) as there, watching(there.access, ROUTE) as (_, changes):
        assert await changes.next() == "Route/shop/web"


async def test_large_annotations_are_listed_in_smaller_pages() -> None:
    made, annotations = Api(), {"a": "x" * 300_000}
    for number in range(10):
        made.add(ROUTE, {"metadata": {"name": f"web-{number}", "annotations": annotations}})
    async with running(made) as there, watching(there.access, ROUTE) as (watcher, _):
        await until(watcher, ROUTE, "watching")


async def test_only_secrets_with_certificates_are_watched() -> None:
    made = Api()
    made.add(SECRET)
    async with running(made) as there, watching(there.access, SECRET) as (watcher, _):
        await until(watcher, SECRET, "watching")
    asked = [each for each in made.asked if each.path.endswith("secrets")]
    assert {each.query["fieldSelector"] for each in asked} == {"type=kubernetes.io/tls"}
    assert all("as=PartialObjectMetadata" in each.headers["accept"] for each in asked)
