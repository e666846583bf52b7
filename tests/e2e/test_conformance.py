"""The demo's API server and a real one, asked the same: what the fake says is what the real one says.

Both have the same objects, and the same service account asks. What differs by nature (ids, times, revisions, and what
the real one fills in beside what was written) is left out of the comparison; the words of errors are not.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import trio

from scanner.demo.api.messages import USER
from scanner.demo.api.request_handler import Api
from scanner.demo.api.store import Store
from scanner.demo.objects import RESOURCES
from scanner.kube import kinds
from tests.demo.api.small import NOW, TOKEN, named
from tests.demo.api.small import served as demo_served
from tests.e2e.accounts import account, reading
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import AGGREGATED, Object, Writer

WHERE = "conformance"
PODS = f"/api/v1/namespaces/{WHERE}/pods"
GATEWAYS = f"/apis/gateway.networking.k8s.io/v1/namespaces/{WHERE}/gateways"
SPEC = {"nodeName": "master-1", "containers": [{"name": "web", "image": "registry.example/web"}]}
GATEWAY = {"gatewayClassName": "e2e", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]}
WATCH = {"watch": "1", "timeoutSeconds": "1"}
FORWARD = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
}


def pods() -> list[Object]:
    labels = [{"app": "web", "tier": "odd" if number % 2 else "even"} for number in range(12)]
    return [named(f"web-{number:02}", WHERE, metadata={"labels": labels[number]}, spec=SPEC) for number in range(12)]


@pytest.fixture(scope="module")
def real(cluster: ControlPlane, writer: Writer) -> httpx2.Client:
    """A client of the real one, as the account that the demo's token stands for."""
    _, _, namespace, name = USER.split(":")
    rules = [
        reading("", "pods", "namespaces", "nodes"),
        reading("route.openshift.io", "routes"),
        reading("gateway.networking.k8s.io", "gateways"),
        {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create", "get"]},
        # What is not allowed is forbidden, whether it exists or not.
        reading("", "things", "pods/nothing"),
        reading("gateway.networking.k8s.io", "things"),
        reading("nobody.example", "things"),
    ]
    asking = account(cluster, writer, rules, name=name, namespace=namespace)
    assert asking.user == USER
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WHERE}})
    for each in pods():
        writer.create({"apiVersion": "v1", "kind": "Pod", **each})
    writer.create(
        {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", **named("edge", WHERE), "spec": GATEWAY}
    )
    return cluster.client(asking.token().value)


@asynccontextmanager
async def demo() -> AsyncIterator[tuple[Store, httpx2.AsyncClient]]:
    """The demo's server with the same objects."""
    objects = {
        kinds.POD: pods(),
        kinds.NAMESPACE: [named(WHERE)],
        kinds.GATEWAY: [named("edge", WHERE, spec=GATEWAY)],
    }
    store = Store(RESOURCES, objects, now=NOW, revision=1000)
    wanted = Api(store=store, token=TOKEN, forbidden=frozenset({"secrets"}), version={"gitVersion": "v1.36.3"})
    async with demo_served(wanted) as server:
        yield store, server.http


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request."""

    path: str
    method: str = "GET"
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Object | None = None
    wording: bool = True
    """Whether the words of the message are compared: those of Go's parsers are nobody's business."""


def of_objects(answer: httpx2.Response, *, wording: bool = True) -> object:
    """Status code, media type, and the body without what no two servers have in common."""
    media = answer.headers["content-type"]
    if "json" not in media:
        return answer.status_code, media, answer.text
    bodies = [json.loads(line) for line in answer.text.splitlines()]  # of a watch, an event each
    for each in bodies if not wording else ():
        each.get("object", each)["message"] = "..."
    return answer.status_code, media, comparable(bodies)


OWN = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"}
"""Of the metadata, what servers give."""


def comparable(value: object) -> object:
    """``value`` with its token for ``continue`` only named, and of each object just what names it."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: comparable(each) for key, each in value.items() if key not in {"spec", "status", "continue"} | OWN}
    if isinstance(value.get("status"), str):
        found["status"] = value["status"]  # of a Status: "Failure"
    return found | ({"continue": "..."} if value.get("continue") else {})


ASKED = {
    "a whole list": Ask(path=PODS),
    "a page": Ask(path=PODS, params={"limit": "5"}),
    "a page that has all": Ask(path=PODS, params={"limit": "12"}),
    "a page of some": Ask(path=PODS, params={"fieldSelector": "metadata.name!=web-03", "limit": "2"}),
    "one by field": Ask(path=PODS, params={"fieldSelector": "metadata.name=web-03"}),
    "none": Ask(path="/api/v1/namespaces/nowhere/pods"),
    "a list of custom resources": Ask(path=GATEWAYS),
    "a page of custom resources": Ask(path=GATEWAYS, params={"limit": "1"}),
    "an older version": Ask(path=GATEWAYS.replace("/v1/", "/v1beta1/")),
    "an object": Ask(path=f"{PODS}/web-03"),
    "a custom resource": Ask(path=f"{GATEWAYS}/edge"),
    "no such object": Ask(path=f"{PODS}/nobody"),
    "no such custom resource": Ask(path=f"{GATEWAYS}/nobody"),
    "no such resource": Ask(path="/api/v1/things"),
    "no such custom kind": Ask(path="/apis/gateway.networking.k8s.io/v1/things"),
    "no such version": Ask(path="/api/v9/pods"),
    "no such version of a group": Ask(path="/apis/gateway.networking.k8s.io/v9/gateways"),
    "no such group": Ask(path="/apis/nobody.example/v1/things"),
    "no such subresource": Ask(path=f"{PODS}/web-03/nothing"),
    "a forbidden list": Ask(path="/api/v1/secrets"),
    "a forbidden list of a namespace": Ask(path=f"/api/v1/namespaces/{WHERE}/secrets"),
    "a forbidden object": Ask(path=f"/api/v1/namespaces/{WHERE}/secrets/tls"),
    "a forbidden creation": Ask(path=PODS, method="POST", body={"kind": "Pod", "apiVersion": "v1"}),
    "a forbidden deletion": Ask(path=f"{PODS}/web-03", method="DELETE"),
    "a forbidden deletion of all": Ask(path=PODS, method="DELETE"),
    "a limit that is none": Ask(path=PODS, params={"limit": "many"}),
    "a token that is none": Ask(path=PODS, params={"limit": "5", "continue": "%%%"}, wording=False),
    "a field that cannot be selected": Ask(path=PODS, params={"fieldSelector": "spec.color=red"}),
    "a forbidden watch": Ask(path="/api/v1/secrets", params=WATCH),
    "a watch from a version that is none": Ask(path=PODS, params={**WATCH, "resourceVersion": "x"}),
    "a watch from a version that is forgotten": Ask(
        path=GATEWAYS, params={**WATCH, "resourceVersion": "1"}, wording=False
    ),
    "a watch from a version that is to come": Ask(path=GATEWAYS, params={**WATCH, "resourceVersion": "99999999"}),
    "a watch for a time that is none": Ask(path=PODS, params={**WATCH, "timeoutSeconds": "x"}),
    "a watch of a field that cannot be selected": Ask(path=PODS, params={**WATCH, "fieldSelector": "spec.color=red"}),
    "a watch of one by field": Ask(path=PODS, params={**WATCH, "fieldSelector": "metadata.name=web-03"}),
    "a watch of what is in the cache": Ask(path=GATEWAYS, params={**WATCH, "resourceVersion": "0"}),
    "a token that nobody knows": Ask(path=PODS, headers={"Authorization": "Bearer wrong"}),
    "a port-forward that is no upgrade": Ask(path=f"{PODS}/web-03/portforward", params={"ports": "1"}),
    "a port-forward to nobody": Ask(path=f"{PODS}/nobody/portforward", params={"ports": "1"}, headers=FORWARD),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED.keys())
async def test_the_same_answer(ask: Ask, real: httpx2.Client) -> None:
    told = await trio.to_thread.run_sync(
        lambda: real.request(ask.method, ask.path, params=ask.params, headers=ask.headers, json=ask.body)
    )
    async with demo() as (_, fake):
        said = await fake.request(ask.method, ask.path, params=ask.params, headers=ask.headers, json=ask.body)
    assert of_objects(said, wording=ask.wording) == of_objects(told, wording=ask.wording)


async def test_all_pages_are_the_same(real: httpx2.Client) -> None:
    async with demo() as (_, fake):
        params = [{"limit": "5"}, {"limit": "5"}]
        sizes = []
        while True:
            told = real.get(PODS, params=params[0])
            said = await fake.get(PODS, params=params[1])
            assert of_objects(said) == of_objects(told)
            sizes.append(len(said.json()["items"]))
            tokens = [each.json()["metadata"].get("continue") for each in (told, said)]
            if not any(tokens):
                break
            params = [{"limit": "5", "continue": token} for token in tokens]
    assert sizes == [5, 5, 2]


async def test_a_watch_has_the_same_events(real: httpx2.Client, writer: Writer) -> None:
    gateway = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", **named("new", WHERE, spec=GATEWAY)}
    labels = {"metadata": {"labels": {"tier": "odd"}}}
    async with demo() as (store, fake):
        since = [each.json()["metadata"]["resourceVersion"] for each in (real.get(GATEWAYS), await fake.get(GATEWAYS))]
        writer.create(gateway)
        writer.change(gateway, labels)
        writer.delete(gateway)
        store.put(kinds.GATEWAY, named("new", WHERE, spec=GATEWAY))
        store.put(kinds.GATEWAY, named("new", WHERE, **labels, spec=GATEWAY))
        store.delete(kinds.GATEWAY, "new", WHERE)
        told = real.get(GATEWAYS, params={**WATCH, "resourceVersion": since[0]})
        said = await fake.get(GATEWAYS, params={**WATCH, "resourceVersion": since[1]})
    assert of_objects(said) == of_objects(told)
    assert len(said.text.splitlines()) == 3


async def test_the_cache_has_the_same_objects(real: httpx2.Client) -> None:
    """In whatever order: the real one's cache has none. It is as new as the API server is asked for."""
    newest = real.get(PODS).json()["metadata"]["resourceVersion"]
    assert real.get(PODS, params={"resourceVersion": newest, "resourceVersionMatch": "NotOlderThan"}).is_success
    params = {"resourceVersion": "0"}
    async with demo() as (_, fake):
        found = [real.get(PODS, params=params).json(), (await fake.get(PODS, params=params)).json()]
    names = [sorted(each["metadata"]["name"] for each in answer["items"]) for answer in found]
    assert names[1] == names[0] == [f"web-{number:02}" for number in range(12)]
    assert not any(answer["metadata"].get("continue") for answer in found)


# --- discovery -------------------------------------------------------------------------------------------------------

SAID = ("name", "resource", "kind", "scope", "namespaced", "singularName", "singularResource", "shortNames")
"""Of a row, what must be the same. The demo only reads, and has fewer verbs and subresources."""

Rows = dict[tuple[str, str, str], dict[str, object]]
"""By group, version and plural."""


async def test_discovery_has_the_same_rows(real: httpx2.Client) -> None:
    """Of the resources that both have, group by group."""
    aggregating = {"Accept": AGGREGATED}
    async with demo() as (_, fake):
        for root in ("/api", "/apis"):
            told, said = real.get(root, headers=aggregating), await fake.get(root, headers=aggregating)
            assert said.headers["content-type"] == told.headers["content-type"]
            assert {key: said.json()[key] for key in ("kind", "apiVersion", "metadata")} == {
                key: told.json()[key] for key in ("kind", "apiVersion", "metadata")
            }
            same(aggregated(said.json()), aggregated(told.json()), at_least=6 if root == "/api" else 20)


def same(ours: Rows, theirs: Rows, *, at_least: int) -> None:
    both = ours.keys() & theirs.keys()
    assert len(both) >= at_least
    for key in both:
        kept = [{name: row[name] for name in SAID if name in row} for row in (ours[key], theirs[key])]
        assert kept[0] == kept[1], key
        assert set(ours[key]) <= set(theirs[key]), key


def aggregated(document: dict[str, Any]) -> Rows:
    return {
        (group["metadata"].get("name", ""), version["version"], row["resource"]): row
        for group in document["items"]
        for version in group["versions"]
        for row in version.get("resources", ())
    }
