"""The API server over real TLS, as a client sees it."""

from __future__ import annotations

import json

import pytest
import trio
import trio.testing

from scanner.demo.api.server import nothing_to_forward
from scanner.demo.behaviours import say, silent
from scanner.demo.listening import listening
from scanner.kube import kinds
from tests.demo.api.small import api, named, served, web_socket

pytestmark = pytest.mark.crypto


async def test_all_pages_together_are_the_list() -> None:
    async with served() as server:
        first = await server.json("/api/v1/pods", limit=5)
        assert (first["kind"], first["apiVersion"]) == ("PodList", "v1")
        assert first["metadata"]["remainingItemCount"] == 7
        names = [each["metadata"]["name"] for each in first["items"]]
        page = first
        while token := page["metadata"].get("continue"):
            page = await server.json("/api/v1/pods", limit=5, **{"continue": token})
            assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
            names += [each["metadata"]["name"] for each in page["items"]]
        assert names == [f"web-{number:02}" for number in (*range(7, 12), *range(7))]
        assert "remainingItemCount" not in page["metadata"]


@pytest.fixture
def jumping_clock() -> trio.testing.MockClock:
    """A clock that jumps while every task waits."""
    return trio.testing.MockClock(autojump_threshold=0.05)


async def test_a_watch_continues_after_a_list(jumping_clock: trio.testing.MockClock) -> None:
    async with served() as server:
        since = (await server.json("/api/v1/pods"))["metadata"]["resourceVersion"]
        params = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "5"}
        params["fieldSelector"] = "metadata.name!=other"
        store = server.api.store
        store.put(kinds.POD, named("before", "shop"))
        path = "/api/v1/namespaces/shop/pods"
        async with server.http.stream("GET", path, params=params, timeout=None) as answer:
            store.put(kinds.POD, named("other", "shop"))
            store.put(kinds.POD, named("new", "elsewhere"))
            store.put(kinds.ROUTE, named("new", "shop"))
            store.put(kinds.POD, named("before", "shop"))
            store.delete(kinds.POD, "web-00", "shop")
            await answer.aread()
        events = [json.loads(line) for line in answer.text.splitlines()]
        assert [(each["type"], each["object"]["metadata"]["name"]) for each in events] == [
            ("ADDED", "before"),
            ("MODIFIED", "before"),
            ("DELETED", "web-00"),
        ]
        assert events[0]["object"]["kind"] == "Pod"
        revisions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
        assert int(since) < revisions[0] < revisions[1] < revisions[2] == store.revision


async def test_a_watch_without_a_revision_starts_with_every_object(jumping_clock: trio.testing.MockClock) -> None:
    async with served() as server:
        answer = await server.http.get("/api/v1/pods", params={"watch": "true", "timeoutSeconds": "90"}, timeout=None)
        assert [json.loads(line)["type"] for line in answer.text.splitlines()] == ["ADDED"] * 12


async def test_a_watch_of_before_the_first_revision_is_refused() -> None:
    async with served() as server:
        answer = await server.json("/api/v1/pods", watch="true", resourceVersion="1")
        oldest = server.api.store.oldest
        assert (answer["type"], answer["object"]["code"]) == ("ERROR", 410)
        assert answer["object"]["message"] == f"too old resource version: 1 ({oldest})"


async def test_a_watch_needs_a_right_and_numbers() -> None:
    async with served() as server:
        answer = await server.http.get("/api/v1/secrets", params={"watch": "true"})
        assert (answer.status_code, "cannot watch resource" in answer.json()["message"]) == (403, True)
        for params, code in (({"timeoutSeconds": "x"}, 400), ({"resourceVersion": "x"}, 500)):
            answer = await server.http.get("/api/v1/pods", params={"watch": "true"} | params)
            assert answer.status_code == code


async def test_without_the_token_nobody_comes_in() -> None:
    async with served() as server:
        for wrong in ("", "Bearer", "Bearer other", "Basic let-me-in"):
            answer = await server.http.get("/version", headers={"Authorization": wrong})
            assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")
        assert (await server.http.get("/version")).json()["gitVersion"] == "v1.35.2"


async def test_forbidden_says_what_to_whom() -> None:
    async with served() as server:
        answer = await server.http.get("/api/v1/namespaces/shop/secrets/tls")
        assert answer.status_code == 403
        assert answer.json()["message"] == (
            'secrets "tls" is forbidden: User "system:serviceaccount:adhere:adhere" cannot get resource "secrets" '
            'in API group "" in the namespace "shop"'
        )
        assert answer.json()["details"] == {"name": "tls", "kind": "secrets"}
        for method, verb in (("POST", "create"), ("DELETE", "deletecollection")):
            written = await server.http.request(method, "/api/v1/namespaces/shop/pods", json={})
            assert (written.status_code, f"cannot {verb} resource" in written.json()["message"]) == (403, True)


async def test_not_found_is_a_status_for_objects_and_served_groups_and_text_for_other_paths() -> None:
    async with served() as server:
        gone = await server.http.get("/apis/route.openshift.io/v1/namespaces/shop/routes/x")
        assert (gone.status_code, gone.json()["message"]) == (404, 'routes.route.openshift.io "x" not found')
        assert gone.json()["details"] == {"name": "x", "group": "route.openshift.io", "kind": "routes"}
        for path in ("/api/v1/things", "/api/v1/pods/web-01", "/api/v2/pods", "/apis/route.openshift.io/v9"):
            answer = await server.http.get(path)
            assert answer.json()["message"] == "the server could not find the requested resource", path
            assert (answer.status_code, answer.json()["details"]) == (404, {})
        for path in ("/apis/nobody.example", "/", "/apis/a/b", "/apis/gateway.networking.k8s.io/v1/things"):
            answer = await server.http.get(path)
            assert (answer.status_code, answer.text) == (404, "404 page not found\n"), path


async def test_methods_and_media_types_that_the_api_has_not() -> None:
    async with served() as server:
        for method, path, code in (
            ("OPTIONS", "/api/v1/pods", 405),
            ("HEAD", "/api/v1/pods", 405),
            ("POST", "/version", 403),
        ):
            assert (await server.http.request(method, path)).status_code == code, method
        answer = await server.http.get("/api/v1/pods", headers={"Accept": "text/html"})
        assert (answer.status_code, answer.json()["reason"]) == (406, "NotAcceptable")


async def test_items_of_custom_resources_say_what_they_are() -> None:
    async with served() as server:
        (gateway,) = (await server.json("/apis/gateway.networking.k8s.io/v1beta1/gateways"))["items"]
        assert (gateway["kind"], gateway["apiVersion"]) == ("Gateway", "gateway.networking.k8s.io/v1beta1")
        (route,) = (await server.json("/apis/route.openshift.io/v1/routes"))["items"]
        assert "kind" not in route
        whole = await server.json("/apis/route.openshift.io/v1/namespaces/shop/routes/front")
        assert (whole["kind"], whole["apiVersion"]) == ("Route", "route.openshift.io/v1")
        assert whole["metadata"]["creationTimestamp"] == "2026-03-04T05:06:07Z"


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({"fieldSelector": "metadata.namespace=bank"}, 5),
        ({"fieldSelector": "spec.nodeName==node-0,metadata.name!=web-00"}, 3),
    ],
)
async def test_selectors(params: dict[str, str], count: int) -> None:
    async with served() as server:
        assert len((await server.json("/api/v1/pods", **params))["items"]) == count
        assert "remainingItemCount" not in (await server.json("/api/v1/pods", limit=1, **params))["metadata"]


@pytest.mark.parametrize(
    ("params", "code", "reason"),
    [
        ({"limit": "many"}, 400, "BadRequest"),
        ({"continue": "%%%"}, 400, "BadRequest"),
        ({"continue": "e30"}, 400, "BadRequest"),
        ({"labelSelector": "app=web"}, 400, "BadRequest"),
        ({"fieldSelector": "spec.nodeName"}, 400, "BadRequest"),
        ({"fieldSelector": "spec.color=red"}, 400, "BadRequest"),
    ],
)
async def test_what_cannot_be_understood(params: dict[str, str], code: int, reason: str | None) -> None:
    async with served() as server:
        answer = await server.http.get("/api/v1/pods", params=params)
        assert (answer.status_code, answer.json().get("reason"), answer.json()["kind"]) == (code, reason, "Status")


# --- discovery --------------------------------------------------------------------------------------------------------

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_discovery_lists_each_resource_of_each_version() -> None:
    async with served() as server:
        found: set[tuple[str, str, str, bool]] = set()
        for root in ("/api", "/apis"):
            answer = await server.http.get(root, headers={"Accept": f"{V2},application/json"})
            assert answer.headers["content-type"] == V2
            for group in answer.json()["items"]:
                for version in group["versions"]:
                    for each in version["resources"]:
                        scoped = each["scope"] == "Namespaced"
                        found.add((group["metadata"].get("name", ""), version["version"], each["resource"], scoped))
        assert len(found) == 7
        assert found >= {("", "v1", "nodes", False), ("gateway.networking.k8s.io", "v1beta1", "gateways", True)}
        assert (await server.http.get("/apis")).status_code == 406


async def test_one_connection_serves_many_requests_and_outlives_nonsense() -> None:
    async with served() as server:
        for _ in range(3):
            assert (await server.http.get("/livez")).text == "ok"
        assert (await server.http.get("/livez", headers={"X-Long": "x" * 100_000})).text == "ok"
        assert (await server.http.get("/livez", headers={"X-Long": "x" * 1_200_000})).status_code == 431
        assert (await server.http.get("/readyz")).text == "ok"


# --- port-forward -----------------------------------------------------------------------------------------------------

PODS = "/api/v1/pods"
FORWARD = "/api/v1/namespaces/shop/pods/web-00/portforward"


async def test_port_forward_carries_both_ways() -> None:
    async def echo(stream: trio.SocketStream) -> None:
        while data := await stream.receive_some():
            await stream.send_all(bytes(data).upper())
            if data.endswith(b"."):
                return

    async with listening(echo) as pod:

        async def connect(namespace: str, name: str, port: int) -> trio.SocketStream:
            assert (namespace, name, port) == ("shop", "web-00", 8443)
            return await trio.open_tcp_stream(*pod.sockaddr)

        big = b"x" * 60_000 + b"."
        async with served(connect=connect) as server, web_socket(server, f"{FORWARD}?ports=8443") as ws:
            assert [await ws.receive() for _ in range(2)] == [(2, b"\0\xfb\x20"), (2, b"\1\xfb\x20")]
            await ws.send(b"\0" + big)
            got = b""
            while len(got) < len(big):
                opcode, message = await ws.receive()
                assert (opcode, message[0]) == (2, 0)
                got += message[1:]
            assert got == big.upper()
            assert await ws.receive() == (8, b"\x03\xe8")  # the pod is done: close, 1000


async def test_port_forward_to_a_closed_port_says_so_on_the_errors_channel() -> None:
    async with served(connect=nothing_to_forward) as server, web_socket(server, f"{FORWARD}?ports=9") as ws:
        messages = [(await ws.receive())[1] for _ in range(3)]
        assert messages[:2] == [b"\0\x09\0", b"\1\x09\0"]
        assert messages[2].startswith(b"\1error forwarding port 9 to pod web-00, uid ")
        assert messages[2].endswith(b"connection refused")


async def test_port_forward_answers_a_ping_and_a_close() -> None:
    async def connect(_namespace: str, _name: str, _port: int) -> trio.SocketStream:
        return await trio.open_tcp_stream(*pod.sockaddr)

    async with (
        listening(silent) as pod,
        served(connect=connect) as server,
        web_socket(server, f"{FORWARD}?ports=1") as ws,
    ):
        assert [(await ws.receive())[1] for _ in range(2)] == [b"\0\1\0", b"\1\1\0"]
        await ws.send(b"p", opcode=9)
        assert await ws.receive() == (10, b"p")
        await ws.send(b"", opcode=8)
        assert (await ws.receive())[0] == 8


async def test_port_forward_refuses_as_the_real_one_does() -> None:
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    cases: tuple[tuple[str, dict[str, str], int], ...] = (
        (FORWARD.replace("web-00", "nobody") + "?ports=1", upgrade, 404),
        (FORWARD, upgrade, 400),
        (FORWARD + "?ports=0", upgrade, 400),
        (FORWARD + "?ports=70000", upgrade, 400),
        (FORWARD + "?ports=1", {}, 400),
        (FORWARD + "?ports=1", {**upgrade, "Sec-WebSocket-Protocol": "SPDY/3.1+portforward.k8s.io"}, 403),
    )
    async with served() as server, listening(say(b"")):
        for path, headers, code in cases:
            assert (await server.http.get(path, headers=headers)).status_code == code, path
    async with served(api("pods/portforward")) as server:
        answer = await server.http.get(FORWARD + "?ports=1", headers=upgrade)
        assert 'cannot get resource "pods/portforward"' in answer.json()["message"]
