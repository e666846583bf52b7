"""Reading a cluster over TLS: pages, refusals, restarts, and gaps."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import trio

from scanner.assessment import READS
from scanner.cluster import listing, read
from scanner.cluster.api_connection import Credential
from scanner.cluster.client import ApiError, Client, Limits
from scanner.cluster.exec_plugin import Fixed
from scanner.errors import ClusterError
from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, GATEWAY, NODE, POD, ROUTE, SECRET, SERVICE
from scanner.kube.snapshot import Snapshot
from scanner.model.pem import WITHHELD
from scanner.values import replace
from tests.cluster.api import LIMITS, Answer, Api, Asked, Script, in_turn, named, ok, refused, running

pytestmark = pytest.mark.crypto

PAGED = replace(LIMITS, page=2)


def pods(count: int) -> list[dict[str, object]]:
    return [named(f"pod-{number}", "shop") for number in range(count)]


def forbid(*prefixes: str) -> Callable[[Asked], Answer | None]:
    """The list at the first of them, and everything below the others, is refused."""

    def script(asked: Asked) -> Answer | None:
        below = any(asked.path.startswith(f"{each}/") for each in prefixes[1:])
        return refused(403, "Forbidden", "forbidden") if below or asked.path == prefixes[0] else None

    return script


def answering(path: str, answer: Answer) -> Script:
    return lambda asked: answer if asked.path == path else None


async def reading(api: Api, *wanted: kinds.Kind, limits: Limits = LIMITS, **options: Any) -> Snapshot:  # noqa: ANN401
    async with running(api):
        return await read(api.access, wanted, limits=limits, **options)


def names(snapshot: Snapshot, kind: kinds.Kind) -> list[str]:
    return [each.name for each in snapshot.every(kind)]


async def test_pages_are_put_together() -> None:
    api = Api()
    path = api.add(POD, *pods(5))
    found = await reading(api, POD, limits=PAGED)
    assert names(found, POD) == [f"pod-{number}" for number in range(5)]
    assert [each.query.get("continue") for each in api.asked if each.path == path] == [None, "2", "4"]
    assert found.every(POD)[0].raw["apiVersion"] == "v1"
    assert found.origin.git_version == "v1.34.2"
    assert found.origin.name == "scripted"
    assert not found.unreadable


async def test_the_token_goes_along_and_no_redirect_is_followed() -> None:
    elsewhere, api = Api(), Api()
    api.add(POD)
    async with running(elsewhere), running(api):
        away = Answer(302, b"", (("Location", f"{elsewhere.access.server}/api/v1/pods"),))
        api.script = in_turn("/api/v1/pods", away)
        found = await read(api.access, [POD], limits=LIMITS)
    assert {each.headers["authorization"] for each in api.asked} == {"Bearer sesame"}
    assert elsewhere.asked == []
    assert found.unreadable[POD].gap == "failed"
    assert "302" in found.unreadable[POD].reason


@pytest.mark.parametrize("expiries", [1, 2, 3])
async def test_a_list_that_expires_is_begun_again_and_in_the_end_asked_for_in_one_piece(expiries: int) -> None:
    api, left = Api(), [expiries]
    path = api.add(POD, *pods(5))

    def expire(asked: Asked) -> Answer | None:
        if asked.path == path and "continue" in asked.query and left[0]:
            left[0] -= 1
            api.objects[path] = [named("newer", "shop"), *pods(5)]  # and it is another list by now
            return refused(410, "Expired", "the continue parameter is too old")
        return None

    api.script = expire
    found = await reading(api, POD, limits=PAGED)
    assert names(found, POD) == ["newer", *(f"pod-{number}" for number in range(5))]
    assert not found.unreadable
    last = api.asked[[each.path for each in api.asked].index(path) :]
    assert ({"resourceVersion": "0"} in [each.query for each in last]) is (expiries == 3)


async def test_a_list_that_never_ends_is_left() -> None:
    api = Api()
    path = api.add(POD)
    api.script = answering(path, ok({"kind": "PodList", "items": [named("same")], "metadata": {"continue": "again"}}))
    found = await reading(api, POD, limits=PAGED)
    assert found.unreadable[POD].gap == "failed"
    assert "does not end" in found.unreadable[POD].reason
    assert names(found, POD) == ["same"]


async def test_a_server_that_is_busy_is_asked_again() -> None:
    api = Api()
    path = api.add(POD, *pods(1))
    api.script = in_turn(
        path,
        refused(429, "TooManyRequests", "slow down", ("Retry-After", "0")),
        refused(500, "InternalError", "etcd has no leader"),
        Answer(None),
    )
    found = await reading(api, POD)
    assert names(found, POD) == ["pod-0"]
    assert len(api.paths(path)) == 4
    assert not found.unreadable


async def test_a_server_that_stays_busy_is_left_and_the_rest_is_read() -> None:
    api = Api()
    path = api.add(POD)
    api.add(SERVICE, named("front", "shop"))
    api.script = answering(path, refused(503, "ServiceUnavailable", "no"))
    found = await reading(api, POD, SERVICE)
    assert len(api.paths(path)) == LIMITS.tries
    assert found.unreadable[POD].gap == "failed"
    assert "503 ServiceUnavailable" in found.unreadable[POD].reason
    assert names(found, SERVICE) == ["front"]
    assert SERVICE not in found.unreadable


async def test_what_was_read_before_a_failure_is_kept() -> None:
    api = Api()
    path = api.add(POD, *pods(5))
    api.script = lambda asked: (
        refused(500, "InternalError", "no") if asked.path == path and "continue" in asked.query else None
    )
    found = await reading(api, POD, limits=PAGED)
    assert names(found, POD) == ["pod-0", "pod-1"]
    assert found.gap(POD) is not None


async def test_what_is_forbidden_names_the_rule_that_is_missing() -> None:
    api = Api()
    path = api.add(ROUTE, named("checkout", "shop"))
    api.add(POD, *pods(1))
    message = 'routes is forbidden: User "system:serviceaccount:a:b" cannot list resource "routes"'
    api.script = answering(path, refused(403, "Forbidden", message))
    found = await reading(api, ROUTE, POD)
    assert found.unreadable[ROUTE].gap == "forbidden"
    assert 'cannot list resource "routes"' in found.unreadable[ROUTE].reason
    assert 'apiGroups: ["route.openshift.io"], resources: ["routes"], verbs: ["list"]' in found.unreadable[ROUTE].reason
    assert len(api.paths(path)) == 1
    assert names(found, POD) == ["pod-0"]


async def test_where_only_namespaces_are_allowed_those_are_read_and_the_rest_is_said() -> None:
    api = Api()
    path = api.add(POD)
    api.objects["/api/v1/namespaces/shop/pods"] = pods(2)

    def allow_shop(asked: Asked) -> Answer | None:
        if asked.path in (path, "/api/v1/namespaces/bank/pods"):
            return refused(403, "Forbidden", "pods is forbidden")
        return None

    api.script = allow_shop
    found = await reading(api, POD, namespaces=["shop", "bank"])
    assert names(found, POD) == ["pod-0", "pod-1"]
    assert found.unreadable[POD].gap == "forbidden"
    assert found.unreadable[POD].reason.endswith("read only in: shop")


async def test_objects_of_interest_are_read_by_name_and_only_they() -> None:
    api = Api()
    api.add(ROUTE)
    path = api.add(
        CONFIG_MAP,
        named("kubeadm-config", "kube-system", data={"ClusterConfiguration": "networking: {}"}),
        named("private", "shop", data={"password": "x"}),
    )
    api.script = lambda asked: (
        refused(403, "Forbidden", "configmaps is forbidden") if asked.path.endswith("/signing-cabundle") else None
    )
    found = await reading(api, CONFIG_MAP)
    assert names(found, CONFIG_MAP) == ["kubeadm-config"]
    assert path not in api.paths()
    assert found.unreadable[CONFIG_MAP].gap == "forbidden"
    assert "openshift-service-ca/signing-cabundle" in found.unreadable[CONFIG_MAP].reason


async def test_kinds_that_are_not_served_are_absent() -> None:
    api = Api()
    api.add(POD, *pods(1))
    found = await reading(api, POD, ROUTE)
    assert found.absent == {ROUTE}
    assert found.every(ROUTE) == ()
    assert found.gap(ROUTE) is None


async def test_a_kind_that_discovery_lists_and_nobody_finds_is_not_absent() -> None:
    api = Api()
    path = api.add(ROUTE)
    api.script = answering(path, refused(404, "NotFound", "the server could not find it"))
    found = await reading(api, ROUTE)
    assert not found.absent
    assert found.unreadable[ROUTE].gap == "failed"
    assert "404" in found.unreadable[ROUTE].reason


async def test_an_empty_list_may_be_null() -> None:
    api = Api()
    path = api.add(POD)
    api.script = answering(path, ok({"kind": "PodList", "items": None}))
    found = await reading(api, POD)
    assert not found.unreadable


@pytest.mark.parametrize(
    "answer",
    [ok({"message": "please log in"}), Answer(404, b"no such page"), ok({"metadata": {"name": "another"}})],
    ids=["a login page", "a proxy's 404", "another object"],
)
async def test_an_object_is_not_there_only_where_the_api_server_says_so(answer: Answer) -> None:
    api = Api()
    api.add(ROUTE)
    api.add(CONFIG_MAP, named("kubeadm-config", "kube-system"))
    api.script = lambda asked: answer if asked.path.endswith("/cluster-config-v1") else None
    found = await reading(api, CONFIG_MAP)
    assert names(found, CONFIG_MAP) == ["kubeadm-config"]
    assert found.unreadable[CONFIG_MAP].gap == "failed"
    assert "kube-system/cluster-config-v1: " in found.unreadable[CONFIG_MAP].reason


async def test_config_maps_that_objects_name_are_read_too() -> None:
    api = Api()
    api.add(ROUTE)
    api.add(GATEWAY, named("edge", "shop"))
    api.add(CONFIG_MAP, named("kubeadm-config", "kube-system"), named("clients", "shop"), named("other", "shop"))
    api.script = forbid("", "/api/v1/namespaces/secret/configmaps")
    wanted = [("shop", "clients"), ("shop", "gone"), ("secret", "x"), ("kube-system", "kubeadm-config"), ("a", "../b")]
    found = await reading(
        api, GATEWAY, CONFIG_MAP, config_maps=lambda snapshot: wanted if snapshot.every(GATEWAY) else []
    )
    assert names(found, CONFIG_MAP) == ["kubeadm-config", "clients"]
    assert found.unreadable[CONFIG_MAP].gap == "forbidden"
    assert "secret/x: " in found.unreadable[CONFIG_MAP].reason
    assert "adhere rbac --with lint prints it" in found.unreadable[CONFIG_MAP].reason
    asked = [each for each in api.paths() if "configmaps" in each]
    assert len(asked) == len(set(asked)) == len(CONFIG_MAP.named) + 3
    assert found.requested[CONFIG_MAP] == {*CONFIG_MAP.named, ("shop", "clients"), ("shop", "gone")}


async def test_of_a_config_map_that_objects_name_nothing_but_certificates_is_kept() -> None:
    """The author of a Gateway may name any ConfigMap, also those of others."""
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    data = {"ca.crt": pem, "half": "MIIBszCCAVmg", "none": " ", "config.ini": "db = hunter2", "odd": 7}
    api = Api()
    api.add(CONFIG_MAP, {**named("clients", "shop"), "data": data, "binaryData": {"x": "aHVudGVyMg==", "y": "MIIB"}})
    said = {"ClusterConfiguration": "networking: {}\nimageRepository: x", "note": "hunter2"}
    api.add(CONFIG_MAP, {**named("kubeadm-config", "kube-system"), "data": said})
    found = await reading(api, CONFIG_MAP, config_maps=[("shop", "clients")])
    kept = found.get(CONFIG_MAP, "clients", "shop")
    assert kept is not None
    assert kept.raw["data"] == {**data, "config.ini": WITHHELD, "odd": WITHHELD}
    assert kept.raw["binaryData"] == {"x": WITHHELD, "y": "MIIB"}
    ours = found.get(CONFIG_MAP, "kubeadm-config", "kube-system")
    assert ours is not None
    assert ours.raw["data"] == {"ClusterConfiguration": "networking: {}\n", "note": WITHHELD}


async def test_config_maps_that_a_scan_may_not_read_are_no_gap_of_everything_else() -> None:
    """Their permission is opt-in; what was asked for and is not there does not exist."""
    api = Api()
    api.add(CONFIG_MAP, named("clients", "shop"))
    api.script = forbid("", "/api/v1/namespaces/secret/configmaps")
    found = await reading(
        api, CONFIG_MAP, config_maps=[("shop", "clients"), ("secret", "x")], config_maps_by="configmaps"
    )
    gap = found.unreadable[CONFIG_MAP]
    assert (gap.gap, gap.option) == ("not-asked", "configmaps")
    assert "adhere rbac --with configmaps prints it" in gap.reason
    assert found.missing(CONFIG_MAP, "cluster-config-v1", "kube-system") is None
    assert found.missing(CONFIG_MAP, "x", "secret") == gap.reason


async def test_secrets_are_asked_for_by_what_was_read() -> None:
    api = Api()
    api.add(GATEWAY, named("edge", "shop"))
    api.add(SECRET, named("edge-tls", "shop"), named("other", "shop"))
    api.script = forbid("/api/v1/secrets")

    found = await reading(
        api,
        GATEWAY,
        SECRET,
        secrets=lambda snapshot: (
            [("shop", f"{each.name}-tls") for each in snapshot.every(GATEWAY)]
            + [("shop", "../../../nodes"), ("shop", "gone")]
        ),
    )
    assert names(found, SECRET) == ["edge-tls"]
    assert [each for each in api.paths() if "secrets" in each] == [
        "/api/v1/secrets",
        "/api/v1/namespaces/shop/secrets/edge-tls",
        "/api/v1/namespaces/shop/secrets/gone",
    ]
    gap = found.unreadable[SECRET]
    assert (gap.gap, gap.option) == ("not-asked", "secrets-list")
    assert "only Secrets that other objects name were read" in gap.reason


async def test_secrets_that_may_be_listed_are_those_of_their_type_and_the_named_ones() -> None:
    tls = {"type": "kubernetes.io/tls"}
    api = Api()
    path = api.add(SECRET, named("a", "shop", **tls), named("b", "shop", **tls), named("other", "shop"))
    found = await reading(api, SECRET, secrets=[("shop", "b"), ("shop", "other")])
    assert names(found, SECRET) == ["a", "b", "other"]
    assert SECRET not in found.unreadable
    listed, got = [each for each in api.asked if "secrets" in each.path]
    assert (listed.path, listed.query["fieldSelector"]) == (path, "type=kubernetes.io/tls")
    assert got.path == "/api/v1/namespaces/shop/secrets/other"


async def test_secrets_that_are_all_refused_are_a_gap_and_soon_no_longer_asked_for() -> None:
    api = Api()
    api.add(SECRET, named("a", "shop"))
    api.script = forbid("/api/v1/secrets", "/api/v1/namespaces/shop/secrets")
    found = await reading(api, SECRET, secrets=[("shop", f"s{n}") for n in range(1000)])
    gap = found.unreadable[SECRET]
    assert (gap.gap, found.every(SECRET)) == ("forbidden", ())
    assert "adhere rbac --with secrets prints it" in gap.reason
    asked = [each for each in api.paths() if "secrets" in each]
    assert 101 <= len(asked) < 110  # the list, a hundred, and what was under way then


async def test_a_list_of_secrets_that_fails_is_a_gap() -> None:
    api = Api()
    api.add(SECRET, named("a", "shop"))
    api.script = lambda asked: refused(500, "InternalError", "etcd") if asked.path == "/api/v1/secrets" else None
    found = await reading(api, SECRET, secrets=[("shop", "a")])
    assert names(found, SECRET) == ["a"]
    assert found.unreadable[SECRET].gap == "failed"


@pytest.mark.parametrize("options", [{"no_secrets": True, "secrets": [("shop", "edge-tls")]}, {}])
async def test_secrets_that_are_not_wanted_or_not_named_are_not_asked_for(options: dict[str, Any]) -> None:
    """Nor is it said that there are none."""
    api = Api()
    api.add(SECRET, named("edge-tls", "shop"))
    found = await reading(api, SECRET, **options)
    assert found.unreadable[SECRET].gap == "not-asked"
    assert options or found.unreadable[SECRET].reason == "not requested"
    assert not [each for each in api.paths() if "secrets" in each]


async def test_a_kind_that_needs_permission_is_not_asked_for_without() -> None:
    kind = replace(NODE, plural="things", name="Thing", opt_in="things")
    api = Api()
    api.add(kind, named("one"))
    async with running(api):
        without = await read(api.access, [kind], limits=LIMITS)
        given = await read(api.access, [kind], limits=LIMITS, permitted=["things"])
    assert without.unreadable[kind].gap == "not-asked"
    assert without.every(kind) == ()
    assert names(given, kind) == ["one"]


async def test_a_credential_that_is_refused_ends_it() -> None:
    api = Api(script=lambda _: refused(401, "Unauthorized", "Unauthorized"))
    async with running(api):
        with pytest.raises(ApiError, match="401 Unauthorized") as caught:
            await read(api.access, [POD], limits=LIMITS)
    assert "expired" in caught.value.hint
    assert len(api.asked) == 2  # once more with a renewed credential, never a third time


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>login</html>",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"kind": "PodList", "items": []}x',
        b"null",
        b'{"message": "please log in"}',
        b'{"kind": "PodList"}',
        b'{"items": []}',
        b'{"kind": "Page", "items": []}',
        b'{"kind": "PodList", "items": [{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "\xff"}]}}]}',
    ],
    ids=[
        "empty",
        "html",
        "deep",
        "not UTF-8",
        "more after it",
        "null",
        "JSON of a login page",
        "no items",
        "no kind",
        "no list",
        "not UTF-8 in what is decoded late",
    ],
)
async def test_lists_that_are_none_do_not_end_a_scan(body: bytes) -> None:
    api = Api()
    path = api.add(POD)
    api.add(SERVICE, named("front", "shop"))
    api.script = answering(path, Answer(200, body))
    found = await reading(api, POD, SERVICE)
    assert names(found, SERVICE) == ["front"]
    assert found.every(POD) == ()
    assert found.unreadable[POD].gap == "failed"


async def test_an_answer_that_is_too_large_is_not_taken() -> None:
    api = Api()
    path = api.add(POD, {**named("large", "shop"), "spec": {"nodeName": 20_000 * "x"}})
    found = await reading(api, POD, limits=replace(LIMITS, largest=10_000))
    assert "larger than" in found.unreadable[POD].reason
    assert len(api.paths(path)) == 4  # pages of 500, 62, 7 and one object


async def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones() -> None:
    api = Api()
    path = api.add(POD, *pods(40))
    size = len(json.dumps(pods(40)))
    found = await reading(api, POD, limits=replace(LIMITS, page=40, largest=size // 2))
    assert len(found.every(POD)) == 40
    assert not found.unreadable
    assert len(api.paths(path)) > 5


async def test_all_answers_together_have_a_bound() -> None:
    """The number of small objects counts, and the size of large ones."""
    api = Api()
    api.add(POD, *pods(200))
    found = await reading(api, POD, limits=replace(LIMITS, page=50, total=100 * 1024))
    assert found.unreadable[POD].gap == "failed"
    assert "the answers take more than" in found.unreadable[POD].reason
    assert 0 < len(found.every(POD)) < 200


async def test_a_list_of_empty_pages_ends() -> None:
    api = Api()
    path = api.add(POD)
    pages = count()

    def endless(asked: Asked) -> Answer | None:
        if asked.path != path:
            return None
        return ok({"kind": "PodList", "metadata": {"continue": f"page-{next(pages)}"}, "items": []})

    api.script = endless
    found = await reading(api, POD)
    assert "does not end" in found.unreadable[POD].reason
    assert len(api.paths(path)) <= 102


async def test_an_answer_is_measured_as_it_is_unpacked() -> None:
    """A hundred MiB of zeros are a hundred KiB on the wire."""
    api = Api()
    path = api.add(POD)
    bomb = gzip.compress(bytes(100 << 20), 1)
    api.script = answering(path, Answer(200, bomb, (("Content-Encoding", "gzip"),)))
    async with running(api):
        tracemalloc.start()
        found = await read(api.access, [POD], limits=replace(LIMITS, largest=1 << 20))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "larger than 1 MiB" in found.unreadable[POD].reason
    assert peak < 40 << 20


async def test_a_list_of_ever_more_objects_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST", 20)
    api, pages = Api(), count()
    path = api.add(POD)

    def endless(asked: Asked) -> Answer | None:
        if asked.path != path:
            return None
        page = next(pages)
        items = [named(f"pod-{page}-{number}", "shop") for number in range(5)]
        return ok({"kind": "PodList", "metadata": {"continue": f"page-{page}"}, "items": items if page < 50 else []})

    api.script = endless
    found = await reading(api, POD)
    assert "does not end" in found.unreadable[POD].reason
    assert len(api.paths(path)) == 5


async def test_reading_has_a_bound_of_time() -> None:
    api = Api()
    api.add(POD, *pods(3))
    async with running(api):
        with pytest.raises(ClusterError, match="all requests have taken more than"):
            await read(api.access, [POD], limits=replace(LIMITS, overall=-1))


async def test_an_api_server_that_is_gone_is_not_asked_on_and_on() -> None:
    """A few refused connections end the reading, and each repetition shows."""
    api = Api()
    for kind in (POD, SERVICE, NODE, ROUTE, GATEWAY):
        api.add(kind)
    notices: list[str] = []
    async with running(api):
        first = await read(api.access, [POD], limits=LIMITS)
        gone = api.access
    assert not first.unreadable
    client = Client(gone, replace(LIMITS, tries=5, lost=5), notice=notices.append)
    async with client:
        for path in ("/api/v1/pods", "/api/v1/services", "/api/v1/nodes"):
            with pytest.raises(ClusterError):
                await client.get(path)
        with pytest.raises(ClusterError, match="not requested: the last 5 requests had no answer"):
            await client.get("/api/v1/pods")
    assert len(notices) == 4
    assert all("retrying" in line for line in notices)


async def test_requests_that_fail_at_the_same_time_are_one_failure() -> None:
    """A load balancer that drops all connections once is no API server that is gone."""
    api, seen = Api(), set[str]()
    kinds = (POD, SERVICE, NODE, ROUTE, GATEWAY, CONFIG_MAP)
    paths = [api.add(kind) for kind in kinds]

    def drop(asked: Asked) -> Answer | None:
        first = asked.path in paths and asked.path not in seen
        seen.add(asked.path)
        return Answer(None) if first else None

    api.script = drop
    async with running(api), Client(api.access, replace(LIMITS, lost=2)) as client, trio.open_nursery() as nursery:
        for path in paths:
            nursery.start_soon(client.get, path)


async def test_our_own_credential_is_in_no_text_that_comes_back() -> None:
    token = "eyJhbGciOiJub25lIn0.canary.x"
    api = Api()
    api.add(POD, {**named("p", "shop"), "spec": {"nodeName": f"Bearer {token}"}})
    path = api.add(SERVICE)
    api.script = in_turn(path, refused(400, "BadRequest", f"header: Bearer {token}"))
    async with running(api, Fixed(Credential(token=token))):
        found = await read(api.access, [POD, SERVICE], limits=LIMITS)
    assert "(credential)" in found.unreadable[SERVICE].reason
    assert token not in repr(found)


@pytest.mark.parametrize("group", ["", "route.openshift.io"])
async def test_the_config_maps_of_openshift_are_asked_for_where_there_is_openshift(group: str) -> None:
    api = Api()
    api.add(NODE)
    api.add(CONFIG_MAP)
    if group:
        api.add(ROUTE)
    found = await reading(api, NODE, ROUTE, CONFIG_MAP)
    asked = {path for path in api.paths() if "/configmaps/" in path}
    assert any("kubeadm-config" in path for path in asked)
    assert any("openshift-config-managed" in path for path in asked) == bool(group)
    assert any("cluster-config-v1" in path for path in asked) == bool(group)
    assert found.missing(CONFIG_MAP, "cluster-config-v1", "kube-system") is None  # there is none, and that is known


async def test_hostile_objects_are_kept_as_far_as_they_are_objects() -> None:
    deep: object = "end"
    for _ in range(200):
        deep = {"a": deep}
    items: list[object] = [
        None, 7, "x", [], {}, {"metadata": None}, {"metadata": {"name": 7}},
        {"metadata": {"name": "strange", "labels": [1], "annotations": "x"}, "spec": "text", "status": [[[]]]},
        {"metadata": {"name": "lists"}, "spec": {"containers": [None, {"args": {"a": 1}, "env": 5, "ports": 1}]}},
        {"metadata": {"name": "lone \ud800 surrogate"}},
    ]  # fmt: skip
    api = Api()
    path = api.add(POD)
    api.add(kinds.HTTP_PROXY, {"metadata": {"name": "deep"}, "spec": deep})
    api.script = answering(path, Answer(200, json.dumps({"kind": "PodList", "items": items}).encode()))
    async with running(api):
        found = await read(api.access, [POD, kinds.HTTP_PROXY], limits=LIMITS)
    assert names(found, POD) == ["strange", "lists", "lone ? surrogate"]
    assert found.every(POD)[1].raw["spec"] == {"containers": [{"args": [], "env": [], "ports": 1}]}
    assert len(json.dumps(found.every(kinds.HTTP_PROXY)[0].raw)) < 700
    assert not found.unreadable


async def test_a_server_that_is_not_there_is_an_error_with_its_address() -> None:
    async with running(Api()) as api:
        pass
    with pytest.raises(ClusterError, match=api.access.server) as caught:
        await read(api.access, [POD], limits=LIMITS)
    assert "reachable" in caught.value.hint


async def test_a_cluster_of_kubeadm_is_read_with_few_requests() -> None:
    """It has none of the APIs of OpenShift, Gateways or Contour; each kind of its own is one list."""
    api = Api()
    own = [kind for kind in READS if "." not in kind.group or kind.group.endswith(".k8s.io")]
    for kind in own:
        if not kind.group.startswith("gateway."):
            api.add(kind)
    async with running(api):
        await read(api.access, READS, limits=LIMITS)
    assert len(api.asked) <= 28
    assert any("kubelet-config" in path for path in api.paths())
