"""The API server and its names."""

from __future__ import annotations

from scanner.model.components import Catalogue, Listener
from tests.discover.api_server import MASTER, OPENSHIFT, SERVICE, SLICE
from tests.discover.objects import by_id, found, instances, origins

ID = "StaticPod/kube-system/kube-apiserver:6443"


def test_openshift_s_api_server_is_asked_by_each_of_its_names_and_without() -> None:
    endpoints = by_id(found(SERVICE + SLICE + OPENSHIFT + MASTER))
    assert sorted(endpoints) == [
        ID,
        f"{ID}#adhere-probe.corp.ex.com",
        f"{ID}#api-int.c.ex.com",
        f"{ID}#api.c.ex.com",
        f"{ID}#k8s.corp.ex.com",
        f"{ID}#kubernetes",
        f"{ID}#kubernetes.default.svc",
        f"{ID}#localhost",
    ]
    assert {(each.certainty, each.address, each.node) for each in endpoints.values()} == {
        ("declared", "192.0.2.10", "master-0")
    }
    assert origins(endpoints[f"{ID}#api.c.ex.com"]) == ["the API server, by Infrastructure/cluster apiServerURL"]


def test_what_is_no_server_name_is_none_of_the_api_server() -> None:
    """Neither the name of an Infrastructure without URLs nor an address of its user's."""
    text = OPENSHIFT.replace("apiServerURL", "x").replace("apiServerInternalURI", "y").replace("k8s.corp", "a_b.-")
    names = {each.server_name for each in found(SERVICE + SLICE + text + MASTER).endpoints}
    assert names == {None, "adhere-probe.corp.ex.com", "kubernetes", "kubernetes.default.svc", "localhost"}


def test_kubernetes_has_one_certificate_and_is_asked_by_one_name() -> None:
    assert sorted(by_id(found(SERVICE + SLICE + MASTER))) == [ID, f"{ID}#kubernetes.default.svc"]


def test_a_managed_api_server_is_in_scope_where_the_cluster_says_that_it_is() -> None:
    discovery = found(SERVICE + SLICE)
    assert instances(discovery) == [
        "Service/default/kubernetes:6443 @ 192.0.2.10:6443",
        "Service/default/kubernetes:6443#kubernetes.default.svc @ 192.0.2.10:6443",
    ]
    assert all(discovery.scope.refusal(each.address, each.port, each.owner) is None for each in discovery.endpoints)


def test_without_slices_its_service_is_a_sample() -> None:
    one = by_id(found(SERVICE))["Service/default/kubernetes:443"]
    assert (one.address, one.sampled, one.ready) == ("172.30.0.1", True, True)


def test_without_slices_and_addresses_there_is_nothing_to_ask() -> None:
    assert by_id(found(SERVICE.replace("172.30.0.1", "None"))) == {}


def test_names_that_the_catalogue_knows_are_asked_too() -> None:
    known = Listener(
        component="kube-apiserver",
        listener="api",
        namespaces=("kube-system",),
        ports=(6443,),
        governor="apiserver",
        server_names=("localhost-recovery", "kubernetes.default.svc", "no name"),
        client_certificate="requested",
    )
    endpoints = by_id(found(SERVICE + SLICE + MASTER, Catalogue(listeners=(known,))))
    assert sorted(endpoints) == [ID, f"{ID}#kubernetes.default.svc", f"{ID}#localhost-recovery"]
    assert {(each.component, each.expects) for each in endpoints.values()} == {("kube-apiserver", "requested")}
