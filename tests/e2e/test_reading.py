"""``scanner.cluster.read`` against the real API: discovery, pages, lists that expire, kinds that are not allowed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster import access, read
from scanner.cluster.api_discovery import served
from scanner.cluster.client import Client, Limits
from scanner.kube import kinds
from scanner.kube.kinds import KINDS
from scanner.kube.objects import Reference
from tests.e2e.accounts import account, reading, settle
from tests.e2e.conftest import cluster_objects
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import AGGREGATED, Object, Writer

SMALL_PAGES = Limits(page=7)
BUILT_IN = {
    "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
    "certificates.k8s.io", "discovery.k8s.io", "networking.k8s.io", "rbac.authorization.k8s.io",
}  # fmt: skip
CROWD = 60
DISCOVERIES = ({"Accept": AGGREGATED}, {"Accept": "application/json"})
_DISCOVERED_WITHIN = 60.0


@pytest.fixture(scope="module")
def crowd(cluster: ControlPlane, writer: Writer) -> str:
    """A namespace with more pods than fit on a page; they have no node, so nothing runs."""
    namespace = "crowd"
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for number in range(CROWD):
        writer.create(pod(namespace, f"web-{number:03}"))
    return namespace


def pod(namespace: str, name: str) -> dict[str, object]:
    spec = {"containers": [{"name": "web", "image": "registry.example/web", "ports": [{"containerPort": 8443}]}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def admin(plane: ControlPlane, path: Path) -> str:
    return str(plane.kubeconfig(path / "admin.kubeconfig", {"token": plane.tokens["admin"]}))


async def test_every_kind_that_there_is_is_read_and_every_other_is_known_to_be_absent(
    cluster: ControlPlane, definitions: list[Object], tmp_path: Path
) -> None:
    """Nobody installed OLM or cert-manager here, and of HyperShift only one definition."""
    snapshot = await read(access(admin(cluster, tmp_path)), KINDS, permitted={"secrets", "lint"})
    defined = {(each["spec"]["group"], each["spec"]["names"]["plural"]) for each in definitions}
    there = {kind for kind in KINDS if kind.group in BUILT_IN or (kind.group, kind.plural) in defined}
    assert snapshot.absent == set(KINDS) - there
    assert snapshot.absent >= {kinds.CLUSTER_SERVICE_VERSION, kinds.HOSTED_CONTROL_PLANE, kinds.CERTIFICATE}
    unreadable = {kind: each.gap for kind, each in snapshot.unreadable.items()}
    assert unreadable == {kinds.SECRET: "not-asked"}  # nobody named any
    assert snapshot.origin.git_version.startswith("v1.")
    found = {each.reference for objects in snapshot.objects.values() for each in objects}
    for item in cluster_objects(cluster):
        metadata = item["metadata"]
        reference = Reference(kind=item["kind"], name=metadata["name"], namespace=metadata.get("namespace"))
        assert reference in found or item["kind"] == "Secret"  # nobody asked for this one
    without = {kind for kind in there if not snapshot.every(kind)}
    of_lint = {kind for kind in kinds.LINTED if kind in there and kind.group not in BUILT_IN}
    policies = {kinds.VALIDATING_ADMISSION_POLICY, kinds.VALIDATING_ADMISSION_POLICY_BINDING}
    workloads = {kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET}  # the demo has their pods
    monitors = {kinds.SERVICE_MONITOR, kinds.POD_MONITOR, kinds.PROBE}
    grants = {kinds.REFERENCE_GRANT, kinds.TLS_CERTIFICATE_DELEGATION, kinds.HEPTIO_DELEGATION, kinds.VMWARE_DELEGATION}
    others = {kinds.HOSTED_CLUSTER, kinds.SECRET, kinds.CERTIFICATE_SIGNING_REQUEST}
    routes = {kinds.HTTP_ROUTE, kinds.GRPC_ROUTE}
    assert without == {*others, *routes, *monitors, *grants, *policies, *workloads, *of_lint}
    assert [each.text("spec", "tlsAdherence") for each in snapshot.every(kinds.API_SERVER)] == ["StrictAllComponents"]


async def test_versions_are_those_that_the_cluster_prefers(cluster: ControlPlane, tmp_path: Path) -> None:
    async with Client(access(admin(cluster, tmp_path))) as client:
        found = await served(client, KINDS)
    assert found.failed == {}
    listed = {each["name"]: each["preferredVersion"]["version"] for each in cluster.admin.get("/apis").json()["groups"]}
    assert found.versions[kinds.POD] == "v1"
    assert found.versions[kinds.X_LISTENER_SET] == listed[kinds.X_LISTENER_SET.group] == "v1alpha1"
    for kind in (kinds.GATEWAY, kinds.TLS_ROUTE, kinds.ROUTE, kinds.API_SERVER, kinds.ENDPOINT_SLICE):
        assert found.versions[kind] == listed[kind.group]
    assert {kind: version for kind, version in found.versions.items() if kind.group == "projectcontour.io"} == {
        kinds.HTTP_PROXY: "v1",
        kinds.TLS_CERTIFICATE_DELEGATION: "v1",
        kinds.CONTOUR_DEPLOYMENT: "v1alpha1",
        kinds.EXTENSION_SERVICE: "v1alpha1",
        kinds.CONTOUR_CONFIGURATION: "v1alpha1",  # not served in the version that its group prefers
    }


async def test_the_older_discovery_finds_the_same(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = access(admin(cluster, tmp_path))
    async with Client(at) as client:
        aggregated = await served(client, KINDS)
        monkeypatch.setattr("scanner.cluster.api_discovery._AGGREGATED", "application/json")
        legacy = await served(client, KINDS)
    assert legacy.versions == aggregated.versions
    assert legacy.absent == aggregated.absent
    assert legacy.failed == {}


async def test_a_group_whose_server_is_down_hides_no_other(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    group = "operators.coreos.com"
    broken = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1alpha1.{group}"},
        "spec": {
            "group": group,
            "version": "v1alpha1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "shop", "name": "web"},
        },
    }
    writer.create(broken)
    try:
        discovered(cluster, group, there=True)
        snapshot = await read(access(admin(cluster, tmp_path)), [kinds.CLUSTER_SERVICE_VERSION, kinds.NODE])
    finally:
        writer.delete(broken)
        discovered(cluster, group, there=False)
    assert len(snapshot.every(kinds.NODE)) == 2
    assert kinds.CLUSTER_SERVICE_VERSION not in snapshot.absent
    assert snapshot.unreadable[kinds.CLUSTER_SERVICE_VERSION].gap == "failed"


def discovered(plane: ControlPlane, group: str, *, there: bool) -> None:
    """Wait until both of the API server's discoveries have a group, or have it no more."""
    until = time.monotonic() + _DISCOVERED_WITHIN
    while not all((f'"{group}"' in plane.admin.get("/apis", headers=each).text) == there for each in DISCOVERIES):
        assert time.monotonic() < until, f"{group}: {'never' if there else 'still'} discovered"
        time.sleep(0.05)


async def test_pages_together_are_the_list(cluster: ControlPlane, crowd: str, tmp_path: Path) -> None:
    before = len(cluster.audited())
    snapshot = await read(access(admin(cluster, tmp_path)), [kinds.POD], limits=SMALL_PAGES)
    names = [each.name for each in snapshot.every(kinds.POD) if each.namespace == crowd]
    assert names == [f"web-{number:03}" for number in range(CROWD)]
    pages = [each for each in requests(cluster, before) if each.startswith("/api/v1/pods?")]
    assert len(pages) >= CROWD / 7
    assert all("limit=7" in each for each in pages)


async def test_a_list_that_expires_is_begun_again(
    cluster: ControlPlane, crowd: str, writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first page something is written, and etcd forgets all revisions of before."""
    before = len(cluster.audited())
    get = Client.get
    forgotten: list[str] = []

    async def forgetful(self: Client, path: str, params: dict[str, str] | None = None, **more: Any) -> object:  # noqa: ANN401
        answer = await get(self, path, params, **more)
        if path == "/api/v1/pods" and not forgotten:
            forgotten.append(path)
            writer.create(pod(crowd, "zz-late"))
            cluster.compact()
        return answer

    monkeypatch.setattr(Client, "get", forgetful)
    snapshot = await read(access(admin(cluster, tmp_path)), [kinds.POD], limits=SMALL_PAGES)
    writer.delete(pod(crowd, "zz-late"))
    names = [each.name for each in snapshot.every(kinds.POD) if each.namespace == crowd]
    assert names == [*(f"web-{number:03}" for number in range(CROWD)), "zz-late"]
    assert snapshot.unreadable == {}
    codes = [each["responseStatus"]["code"] for each in cluster.audited()[before:] if is_list_of_pods(each)]  # type: ignore[index]
    assert codes[:3] == [200, 410, 200]
    assert set(codes[2:]) == {200}


def requests(plane: ControlPlane, since: int) -> list[str]:
    return [str(each["requestURI"]) for each in plane.audited()[since:]]


def is_list_of_pods(event: dict[str, object]) -> bool:
    return event["verb"] == "list" and str(event["requestURI"]).startswith("/api/v1/pods?")


async def test_what_is_forbidden_is_said_and_the_rest_is_read(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    allowed = account(cluster, writer, [reading("", "nodes", "services"), reading("config.openshift.io", "apiservers")])
    kubeconfig = cluster.kubeconfig(tmp_path / "some", {"token": allowed.token().value})
    refused = [kinds.POD, kinds.ROUTE, kinds.CONFIG_MAP]
    wanted = [kinds.NODE, kinds.API_SERVER, kinds.CLUSTER_SERVICE_VERSION]
    snapshot = await read(access(str(kubeconfig)), [*wanted, *refused])
    assert len(snapshot.every(kinds.NODE)) == 2
    assert [each.name for each in snapshot.every(kinds.API_SERVER)] == ["cluster"]
    assert snapshot.absent == {kinds.CLUSTER_SERVICE_VERSION}
    assert {kind: each.gap for kind, each in snapshot.unreadable.items()} == dict.fromkeys(refused, "forbidden")
    said = snapshot.unreadable[kinds.ROUTE].reason
    assert f'User "{allowed.user}" cannot list resource "routes" in API group "route.openshift.io"' in said
    assert 'apiGroups: ["route.openshift.io"], resources: ["routes"], verbs: ["list"]' in said


async def test_one_namespace_is_read_where_no_more_is_allowed(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    allowed = account(cluster, writer)
    rbac = "rbac.authorization.k8s.io"
    where = {"name": allowed.name, "namespace": "shop"}
    rules = [reading("", "services")]
    writer.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": where, "rules": rules})
    writer.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": where,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": allowed.name},
            "subjects": [{"kind": "User", "apiGroup": rbac, "name": allowed.user}],
        }
    )
    settle(writer)
    kubeconfig = cluster.kubeconfig(tmp_path / "shop", {"token": allowed.token().value})
    snapshot = await read(access(str(kubeconfig)), [kinds.SERVICE], namespaces=["shop"])
    assert [each.name for each in snapshot.every(kinds.SERVICE)] == ["web"]
    assert "read only in: shop" in snapshot.unreadable[kinds.SERVICE].reason
