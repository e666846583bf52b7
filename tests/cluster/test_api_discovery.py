"""API discovery: which version of a kind is preferred, what there is not, and what cannot be determined."""

from __future__ import annotations

import pytest

from scanner.cluster.api_discovery import Served, served
from scanner.cluster.client import Client
from scanner.errors import ClusterError
from scanner.kube import kinds
from scanner.kube.kinds import CLUSTER_VERSION, GATEWAY, POD, ROUTE, TLS_ROUTE
from tests.cluster.api import LIMITS, Answer, Api, Asked, ok, refused, running

pytestmark = pytest.mark.crypto

APPS = {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [{"resource": "deployments"}]}]}


async def ask(api: Api, *wanted: kinds.Kind) -> Served:
    async with running(api), Client(api.access, LIMITS) as client:
        return await served(client, wanted)


def gateways(*, legacy: bool = False) -> Api:
    return Api(
        resources={
            ("", "v1"): ["pods", "services"],
            ("gateway.networking.k8s.io", "v1"): ["gateways", "gatewayclasses"],
            ("gateway.networking.k8s.io", "v1alpha2"): ["tlsroutes", "gateways"],
            ("apps", "v1"): ["deployments"],
        },
        legacy=legacy,
    )


@pytest.mark.parametrize("legacy", [False, True])
async def test_the_preferred_version_that_has_the_kind_is_taken(legacy: bool) -> None:
    found = await ask(gateways(legacy=legacy), POD, GATEWAY, TLS_ROUTE, ROUTE)
    assert found.versions == {POD: "v1", GATEWAY: "v1", TLS_ROUTE: "v1alpha2"}
    assert found.absent == {ROUTE}
    assert not found.failed
    assert found.path(TLS_ROUTE) == "/apis/gateway.networking.k8s.io/v1alpha2/tlsroutes"
    assert found.path(POD, "shop", "checkout") == "/api/v1/namespaces/shop/pods/checkout"
    assert found.api_version(TLS_ROUTE) == "gateway.networking.k8s.io/v1alpha2"


async def test_two_requests_are_enough() -> None:
    api = gateways()
    await ask(api, *kinds.KINDS)
    assert api.paths() == ["/api", "/apis"]


async def test_only_groups_of_interest_are_asked_one_by_one() -> None:
    api = gateways(legacy=True)
    await ask(api, POD, GATEWAY)
    assert "/apis/apps/v1" not in api.paths()


async def test_a_group_whose_server_is_down_is_not_absent() -> None:
    api = gateways()
    down = {"metadata": {"name": "route.openshift.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]}
    other = {
        "metadata": {"name": "config.openshift.io"},
        "versions": [{"version": "v1", "freshness": "Current", "resources": [{"resource": "clusterversions"}]}],
    }
    api.script = lambda asked: (
        ok({"kind": "APIGroupDiscoveryList", "items": [down, other, APPS]}) if asked.path == "/apis" else None
    )
    found = await ask(api, POD, ROUTE, CLUSTER_VERSION)
    assert found.versions == {POD: "v1", CLUSTER_VERSION: "v1"}
    assert "does not answer" in found.failed[ROUTE]
    assert not found.absent


async def test_a_group_whose_server_is_down_hides_no_other_in_the_old_discovery() -> None:
    api = gateways(legacy=True)
    api.resources["route.openshift.io", "v1"] = ["routes"]

    def down(asked: Asked) -> Answer | None:
        return refused(503, "ServiceUnavailable", "no endpoints") if asked.path.startswith("/apis/route") else None

    api.script = down
    found = await ask(api, ROUTE, GATEWAY)
    assert found.versions == {GATEWAY: "v1"}
    assert "503" in found.failed[ROUTE]


async def test_versions_that_would_lead_elsewhere_are_not_used() -> None:
    api = Api()
    hostile = {
        "metadata": {"name": "route.openshift.io"},
        "versions": [{"version": "../../api/v1", "resources": [{"resource": "routes"}]}],
    }
    items = [hostile, 7, {"versions": "x"}, APPS]
    api.script = lambda asked: ok({"kind": "APIGroupDiscoveryList", "items": items}) if asked.path == "/apis" else None
    found = await ask(api, ROUTE)
    assert found.absent == {ROUTE}


async def test_what_is_no_api_server_is_an_error() -> None:
    api = Api(script=lambda _: Answer(200, b"<html>hello</html>"))
    async with running(api), Client(api.access, LIMITS) as client:
        with pytest.raises(ClusterError, match="not JSON"):
            await served(client, [POD])


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/apis", {"kind": "APIGroupList", "groups": []}),
        ("/apis", {"kind": "APIGroupDiscoveryList", "items": []}),
        (
            "/apis",
            {"kind": "APIGroupList", "groups": [{"name": "route.openshift.io", "versions": [{"version": "v1"}]}]},
        ),
        ("/apis", {"message": "please log in"}),
        ("/api", {"kind": "APIVersions", "versions": []}),
        ("/api", {"message": "please log in"}),
    ],
)
async def test_an_api_without_its_own_resources_is_an_error(path: str, answer: object) -> None:
    """Else every kind would seem to be absent, and a scan of nothing complete."""
    api = gateways()
    api.script = lambda asked: ok(answer) if asked.path == path else None
    async with running(api), Client(api.access, LIMITS) as client:
        with pytest.raises(ClusterError, match="none of the API's own resources") as caught:
            await served(client, [POD, ROUTE])
    assert "Kubernetes API server" in caught.value.hint


async def test_a_group_that_does_not_list_its_resources_is_not_absent() -> None:
    api = gateways(legacy=True)
    api.resources["route.openshift.io", "v1"] = ["routes"]
    api.script = lambda asked: ok({"message": "please log in"}) if asked.path.startswith("/apis/route") else None
    found = await ask(api, ROUTE, GATEWAY)
    assert "returns no list" in found.failed[ROUTE]
    assert not found.absent
