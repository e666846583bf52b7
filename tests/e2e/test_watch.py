"""The watches of ``adhere serve`` at a real API server: what they report, with which permissions, and after a loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import trio

from scanner.cli.serve_work import REPORT_PATH
from scanner.cluster import access, watch
from scanner.cluster.api_connection import Access
from scanner.cluster.client import Client
from scanner.cluster.decoding import decoded
from scanner.cluster.token_review import TokenReviews
from scanner.kube.kinds import CERTIFICATE, DEPLOYMENT, GATEWAY, SECRET, WATCHED, Kind
from tests.cluster.watches import PATIENCE, until, watching
from tests.e2e.accounts import account, reading
from tests.e2e.completing import completed
from tests.e2e.control_plane import ControlPlane
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import CRD, Object, Writer

WHERE = "watch"
METADATA = {"apiVersion", "kind", "metadata"}
POD: Object = {"containers": [{"name": "web", "image": "registry.example/web"}]}
OBJECTS: dict[str, Object] = {
    "Secret": {"apiVersion": "v1", "type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": "one"}},
    "Gateway": {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "spec": {"gatewayClassName": "e2e", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]},
    },
    "Deployment": {
        "apiVersion": "apps/v1",
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
        },
    },
    "Thing": {"apiVersion": "watch.adhere.test/v1"},
}
CHANGES: dict[Kind, Object] = {
    SECRET: {"stringData": {"tls.key": "two"}},
    GATEWAY: {"spec": {"gatewayClassName": "other"}},
    DEPLOYMENT: {"spec": {"replicas": 2}},
}
THING = Kind(group="watch.adhere.test", plural="things", name="Thing")


def made(kind: str, name: str, **fields: Any) -> Object:  # noqa: ANN401 - JSON
    return {**OBJECTS[kind], "kind": kind, "metadata": {"name": name, "namespace": WHERE}, **fields}


@pytest.fixture(scope="module")
def space(cluster: ControlPlane, writer: Writer) -> Iterator[ControlPlane]:
    """With a namespace, and in it an object of each kind, of which no change is reported."""
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WHERE}})
    before = [writer.create(made(kind.name, "before")) for kind in CHANGES]
    yield cluster
    for each in before:
        writer.delete(each)


def as_user(plane: ControlPlane, directory: Path, token: str) -> Access:
    return access(str(plane.kubeconfig(directory / "kubeconfig", {"token": token})))


@pytest.fixture
def admin(space: ControlPlane, tmp_path: Path) -> Access:
    return as_user(space, tmp_path, space.tokens["admin"])


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every answer to a list, and every event."""
    found: list[Any] = []
    get = Client.get

    async def got(*args: Any, **more: Any) -> object:  # noqa: ANN401
        found.append(await get(*args, **more))
        return found[-1]

    def event(line: bytes) -> object:
        found.append(decoded(line))
        return found[-1]

    monkeypatch.setattr(Client, "get", got)
    monkeypatch.setattr(watch, "decoded", event)
    return found


def events(received: list[Any], name: str) -> list[Any]:
    return [each for each in received if each.get("type") == name]


async def test_changes_are_reported_and_only_metadata_is_received(
    admin: Access, writer: Writer, received: list[Any]
) -> None:
    async with watching(admin, *CHANGES) as (watcher, changes):
        await watcher.started.wait()
        assert watcher.states == dict.fromkeys(CHANGES, "watching")
        opaque = writer.create(made("Secret", "opaque", type="Opaque"))
        writer.delete(opaque)
        for kind, patch in CHANGES.items():
            item = made(kind.name, "new")
            for write in (writer.create, lambda item, patch=patch: writer.change(item, patch), writer.delete):
                write(item)
                assert await changes.next() == f"{kind.name}/{WHERE}/new"
        assert len(changes.all) == 3 * len(CHANGES)
    lists = [each for each in received if str(each.get("kind")).endswith("MetadataList")]
    objects = [each for page in lists for each in page["items"]]
    objects += [each["object"] for name in ("ADDED", "MODIFIED", "DELETED") for each in events(received, name)]
    assert len(objects) >= 4 * len(CHANGES)
    assert all(each.keys() <= METADATA for each in objects)


async def test_a_watch_continues_at_the_last_bookmark(
    space: ControlPlane, admin: Access, writer: Writer, received: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bookmark is newer than a Secret that is not reported."""
    monkeypatch.setattr(watch, "_LASTS", 3)
    before = len(space.audited())
    async with watching(admin, SECRET) as (watcher, changes):
        await watcher.started.wait()
        opaque = writer.create(made("Secret", "opaque", type="Opaque"))
        with trio.fail_after(PATIENCE):
            while sinces(space, before)[-1] < int(opaque["metadata"]["resourceVersion"]):  # noqa: ASYNC110 - the API server's
                await trio.sleep(0.1)
        writer.delete(opaque)
        writer.delete(writer.create(made("Secret", "new")))
        assert [await changes.next(), await changes.next()] == [f"Secret/{WHERE}/new"] * 2
        assert len(changes.all) == 2
    bookmarks = {int(each["object"]["metadata"]["resourceVersion"]) for each in events(received, "BOOKMARK")}
    assert bookmarks.issuperset(sinces(space, before)[1:])


def sinces(plane: ControlPlane, before: int) -> list[int]:
    """The versions that the watches of Secrets began at, as the API server recorded them."""
    watches = [each for each in plane.audited()[before:] if each["verb"] == "watch"]
    queries = [parse_qs(urlsplit(str(each["requestURI"])).query) for each in watches]
    return list(dict.fromkeys(int(each["resourceVersion"][0]) for each in queries))


async def test_what_a_user_may_not_watch_is_forbidden_and_the_rest_is_watched(
    space: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    """Gateways may be listed."""
    gateways = {**reading(GATEWAY.group, GATEWAY.plural), "verbs": ["list"]}
    user = account(space, writer, [reading("apps", "deployments"), gateways])
    kinds = DEPLOYMENT, GATEWAY, SECRET, CERTIFICATE
    async with watching(as_user(space, tmp_path, user.token().value), *kinds) as (watcher, changes):
        await watcher.started.wait()
        assert list(watcher.states.values()) == ["watching", "forbidden", "forbidden", "not_served"]
        writer.delete(writer.create(made("Deployment", "new")))
        assert await changes.next() == f"Deployment/{WHERE}/new"


@pytest.mark.parametrize(
    ("options", "states"),
    [
        ((), ("forbidden", "forbidden")),
        (("--with", "serve"), ("watching", "forbidden")),
        (("--with", "serve,secrets-watch"), ("watching", "watching")),
    ],
)
async def test_the_roles_of_serve_permit_what_it_asks(
    options: tuple[str, ...], states: tuple[str, str], space: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    user = as_user(space, tmp_path, role_of(space, writer, *options).token().value)
    async with watching(user, *WATCHED, SECRET) as (watcher, _):
        await watcher.started.wait()
        assert watcher.states == {**dict.fromkeys(WATCHED, states[0]), SECRET: states[1]}
    if options:
        reviews = TokenReviews(user, REPORT_PATH)
        tokens = (space.tokens["admin"], space.tokens["nobody"], "wrong")
        answers = [await reviews.answer(f"Bearer {each}") for each in tokens]
        assert answers == ["allowed", "forbidden", "unauthenticated"]


async def test_a_definition_is_installed_replaced_and_deleted(
    admin: Access, writer: Writer, received: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed definition ends the watches of its kind, and the API server forgets the events before: 410."""
    definition = completed({"apiVersion": CRD[0], "kind": CRD[1], "metadata": {"name": THING.resource}})
    follow, late = Client.follow, list[Object]()

    async def between(*args: Any, **more: Any) -> None:  # noqa: ANN401
        while late:
            item = writer.create(late.pop())
            first = {"watch": "1", "resourceVersion": "1"}
            while writer.client.get(writer.path(item), params=first).status_code == 429:  # noqa: ASYNC110
                await trio.sleep(0.02)  # the API server's cache is not ready
        await follow(*args, **more)

    monkeypatch.setattr(Client, "follow", between)
    async with watching(admin, THING) as (watcher, changes):
        await until(watcher, THING, "not_served")
        writer.define([definition])
        await until(watcher, THING, "watching")
        writer.create(made("Thing", "first"))
        assert await changes.next() == f"Thing/{WHERE}/first"
        (version,) = definition["spec"]["versions"]
        late.append(made("Thing", "between"))
        column = {"name": "Profile", "type": "string", "jsonPath": ".spec.profile"}
        writer.change(definition, {"spec": {"versions": [{**version, "additionalPrinterColumns": [column]}]}})
        assert await changes.next() == f"Thing/{WHERE}/between"
        assert [each["object"]["code"] for each in events(received, "ERROR")] == [410]
        assert watcher.states == {THING: "watching"}
        writer.delete(definition)
        assert {await changes.next(), await changes.next()} == {f"Thing/{WHERE}/first", f"Thing/{WHERE}/between"}
        await until(watcher, THING, "not_served")
        assert len(changes.all) == 4
