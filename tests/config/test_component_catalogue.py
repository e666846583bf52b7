"""The shipped catalogue knows every listener of its sources, and a user's file is read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner import data
from scanner.config.component_catalogue import DISTRIBUTIONS, load_catalogue, parse
from scanner.errors import InputError, UsageError
from scanner.files import yaml_values
from scanner.model.components import Catalogue, Governor, Listener

FILES = sorted({name for names in DISTRIBUTIONS.values() for name in names})


class Row(NamedTuple):
    """A listener of the sources, written a second time by hand, to find mistakes in the data."""

    namespace: str | None
    workload: str
    ports: tuple[int, ...]
    on_node: bool
    governor: str
    client_certificate: str | None = None
    speaks: str = "tls"
    loopback: bool = False


OPERATORS = (
    "openshift-authentication-operator",
    "openshift-config-operator",
    "openshift-etcd-operator",
    "openshift-kube-apiserver-operator",
    "openshift-kube-controller-manager-operator",
    "openshift-kube-scheduler-operator",
    "openshift-apiserver-operator",
    "openshift-controller-manager-operator",
    "openshift-cluster-storage-operator",
    "openshift-console-operator",
    "openshift-service-ca-operator",
)
KAS, KCM, KS = "openshift-kube-apiserver", "openshift-kube-controller-manager", "openshift-kube-scheduler"
MCO, MACHINES, MONITORING = "openshift-machine-config-operator", "openshift-machine-api", "openshift-monitoring"
UWM = "openshift-user-workload-monitoring"
CCM, OVN = "openshift-cloud-controller-manager", "openshift-ovn-kubernetes"
A, S, K, OWN = "apiserver", "apiserver-if-strict", "kubelet", "own"
REQ, OPT, NO = "required", "requested", "none"

OPENSHIFT = [
    Row(KAS, "kube-apiserver", (6443, 17697), True, A, OPT),
    Row(KAS, "kube-apiserver", (6080,), True, OWN, OPT, "plain"),
    Row(KAS, "kube-apiserver-recovery", (7443,), True, OWN, OPT, loopback=True),
    Row("openshift-etcd", "etcd", (2379, 2380, 2381, 9978, 9979), True, A, REQ),
    Row("openshift-etcd", "etcd", (9977,), True, OWN, REQ, "unknown", loopback=True),
    Row("openshift-etcd", "etcd", (9980,), True, A, NO),
    Row(KCM, "kube-controller-manager", (10257,), True, A, OPT),
    Row(KCM, "kube-controller-manager", (10357,), True, A, OPT, loopback=True),
    Row(KCM, "kube-controller-manager", (9443,), True, OWN, OPT, "nothing"),
    Row(KS, "openshift-kube-scheduler", (10259,), True, A, OPT),
    Row(KS, "openshift-kube-scheduler", (11443,), True, OWN, OPT, "nothing"),
    Row("openshift-apiserver", "apiserver", (8443, 17698), False, A, OPT),
    Row("openshift-oauth-apiserver", "apiserver", (8443,), False, A, OPT),
    Row("openshift-authentication", "oauth-openshift", (6443,), False, A, OPT),
    Row("openshift-controller-manager", "controller-manager", (8443,), False, A, OPT),
    Row("openshift-route-controller-manager", "route-controller-manager", (8443,), False, A, OPT),
    *(Row(namespace, "operator", (8443,), False, A, OPT) for namespace in OPERATORS),
    Row("openshift-image-registry", "image-registry", (5000,), False, A, NO),
    Row("openshift-image-registry", "cluster-image-registry-operator", (60000,), False, A, OPT),
    Row("openshift-cluster-samples-operator", "cluster-samples-operator", (60000,), False, A, OPT),
    Row("openshift-console", "console", (8443,), False, A, NO),
    Row(MCO, "machine-config-server", (22623,), True, A, NO),
    Row(MCO, "machine-config-server", (22624,), True, A, NO, "plain"),
    Row(MCO, "machine-config-daemon", (9001,), True, A, OPT),
    Row(MCO, "machine-config-controller", (9001,), False, A, OPT),
    Row(MCO, "kube-rbac-proxy-crio", (9637,), True, A, OPT),
    Row(None, "crio", (9537,), True, OWN, None, "plain"),
    Row(None, "crio", (10010,), True, OWN, None, "unknown"),
    Row(None, "internalreleaseimage", (22625,), True, OWN, None, "unknown"),
    Row(None, "kubelet", (10250,), True, K, OPT),
    Row(None, "kubelet", (10248,), True, K, None, "plain", loopback=True),
    Row(None, "kubelet", (10255,), True, K, None, "plain"),
    Row("openshift-ingress", "router-default", (443,), True, "ingress"),
    Row("openshift-ingress", "router-other", (443,), False, "ingress"),
    Row("openshift-ingress", "router-default", (80,), False, "ingress", None, "plain"),
    Row("openshift-ingress", "router-default", (1936,), False, A, OPT, "both"),
    Row("openshift-ingress-canary", "ingress-canary", (8443,), False, S, NO),
    Row("openshift-ingress-operator", "ingress-operator", (9393,), False, S, OPT),
    Row("openshift-ingress", "shop-openshift-default", (443,), False, "gateway"),
    Row("openshift-ingress", "istiod-openshift-gateway", (15012, 15017), False, "gateway"),
    Row("openshift-dns", "dns-default", (9154,), False, A, OPT),
    Row("openshift-dns", "dns-default", (53,), False, OWN, None, "plain"),
    Row("openshift-dns-operator", "dns-operator", (9393,), False, S, OPT),
    Row("openshift-cluster-version", "cluster-version-operator", (9099,), True, S, OPT),
    Row("openshift-multus", "multus-admission-controller", (6443, 8443), False, S),
    Row("openshift-multus", "multus-admission-controller", (9091,), False, OWN, None, "plain"),
    Row(OVN, "ovnkube-node", (9103, 9105, 9108), True, S, OPT),
    Row(OVN, "ovnkube-master", (9641, 9642, 9643, 9644), True, OWN, REQ),
    Row("openshift-network-node-identity", "network-node-identity", (9743,), True, S, loopback=True),
    Row(MONITORING, "node-exporter", (9100,), True, A, OPT),
    Row(MONITORING, "prometheus-k8s", (9091, 9092, 10903), False, A, OPT),
    Row(UWM, "prometheus-user-workload", (9091, 9092, 10903), False, A, OPT),
    Row(MONITORING, "alertmanager-main", (9095, 9092, 9097), False, A, OPT),
    Row(UWM, "alertmanager-user-workload", (9095, 9092, 9097), False, A, OPT),
    Row(MONITORING, "thanos-querier", (9091, 9092, 9093, 9094), False, A, OPT),
    Row(UWM, "thanos-ruler-user-workload", (9091, 9092), False, A, OPT),
    Row(MONITORING, "kube-state-metrics", (8443, 9443), False, A, OPT),
    Row(MONITORING, "openshift-state-metrics", (8443, 9443), False, A, OPT),
    Row(MONITORING, "prometheus-operator", (8443,), False, A, OPT),
    Row(MONITORING, "telemeter-client", (8443,), False, A, OPT),
    Row(MONITORING, "metrics-server", (10250,), False, A, OPT),
    Row(MONITORING, "monitoring-plugin", (9443,), False, A),
    Row("openshift-operator-lifecycle-manager", "olm-operator", (8443,), False, A, OPT),
    Row("openshift-operator-lifecycle-manager", "packageserver", (5443,), False, A, OPT),
    Row(MACHINES, "machine-api-operator", (8440, 8441, 8442, 8443, 8444), False, S, OPT),
    Row("openshift-cluster-machine-approver", "machine-approver", (9191, 9192, 9193, 9194), True, OWN, OPT),
    Row(CCM, "aws-cloud-controller-manager", (10258,), True, S, OPT),
    Row(f"{CCM}-operator", "cluster-cloud-controller-manager-operator", (9257, 9258), True, S, OPT),
    Row("openshift-cluster-csi-drivers", "aws-ebs-csi-driver-controller", (9200, 9211, 9219), True, A, OPT),
    Row("openshift-kube-proxy", "openshift-kube-proxy", (9102,), True, S, OPT),
    Row("openshift-kni-infra", "haproxy", (9445, 9545), True, "backend"),
    Row("openshift-vsphere-infra", "haproxy", (9444,), True, OWN, None, "plain"),
    Row("openshift-vsphere-infra", "haproxy", (29445,), True, OWN, None, "plain", loopback=True),
    Row(MACHINES, "metal3", (6385, 6183, 9447), True, OWN),
    Row(MACHINES, "metal3", (6180, 6181), True, OWN, None, "plain"),
    Row(OVN, "ovnkube-node", (9107, 9122, 10256, 4789, 6081), True, OWN, None, "plain"),
]
KUBERNETES = [
    Row("kube-system", "kube-apiserver-node1", (6443,), True, "flags", OPT),
    Row("kube-system", "etcd", (2379, 2380), True, "flags", REQ),
    Row("kube-system", "etcd", (2381,), True, "flags", REQ, "plain", loopback=True),
    Row("kube-system", "kube-controller-manager", (10257,), True, "flags", OPT, loopback=True),
    Row("kube-system", "kube-scheduler", (10259,), True, "flags", OPT, loopback=True),
    Row("kube-system", "kube-proxy", (10249,), True, OWN, None, "plain", loopback=True),
    Row("kube-system", "kube-proxy", (10256,), True, OWN, None, "plain"),
    Row("kube-system", "coredns", (53, 9153), False, OWN, None, "plain"),
    Row("kube-system", "metrics-server", (10250,), False, "flags", OPT),
    Row("kube-system", "konnectivity-server", (8132,), True, "flags"),
    Row(None, "kubelet", (10250,), True, K, OPT),
    Row(None, "kubelet", (10248,), True, K, None, "plain", loopback=True),
    Row(None, "kubelet", (10255,), True, K, None, "plain"),
]
HCP, CLOUD = "clusters-shop", "cloud-controller-manager"
HYPERSHIFT = [
    Row(HCP, "kube-apiserver", (6443,), False, A, OPT),
    Row(HCP, "etcd", (2379, 2380, 2381), False, A, REQ),
    Row(HCP, "etcd", (2382, 9980), False, OWN, REQ, "unknown"),
    Row(HCP, "kube-controller-manager", (10257,), False, A, OPT),
    Row(HCP, "kube-scheduler", (10259,), False, A, OPT),
    Row(HCP, "openshift-apiserver", (8443,), False, A, OPT),
    Row(HCP, "openshift-oauth-apiserver", (8443,), False, A, OPT),
    Row(HCP, "openshift-route-controller-manager", (8443,), False, A, OPT),
    Row(HCP, "oauth-openshift", (6443,), False, A, OPT),
    Row(HCP, "packageserver", (5443,), False, A),
    Row(HCP, "cluster-version-operator", (8443,), False, A, OPT),
    Row(HCP, "network-node-identity", (9743,), False, S),
    Row(HCP, "ignition-server", (9090,), False, OWN),
    Row(HCP, "ingress-operator", (60000,), False, OWN),
    Row(HCP, "kube-apiserver", (8090, 8091), False, A, REQ),
    Row(HCP, "kube-apiserver", (4443, 9443), False, A),
    Row(HCP, "kube-apiserver", (2041, 9440, 9441), False, OWN, None, "plain"),
    Row(HCP, "kube-apiserver", (8093,), False, OWN, None, "plain", loopback=True),
    *(Row(HCP, workload, (8443, 9443), False, A) for workload in ("capi-provider", "cluster-api")),
    Row(HCP, "capi-provider", (8081, 9440), False, OWN, None, "plain"),
    Row(HCP, "cluster-api", (9440,), False, OWN, None, "plain"),
    *(Row(HCP, f"{each}-{CLOUD}", (10258,), False, A) for each in ("aws", "gcp", "kubevirt", "powervs")),
    *(Row(HCP, f"{each}-{CLOUD}", (10258,), False, A, loopback=True) for each in ("azure", "openstack")),
    Row(HCP, "machine-approver", (9191,), False, A, None, "unknown", loopback=True),
    Row(HCP, "cluster-policy-controller", (10357,), False, A, OPT),
    Row(HCP, "control-plane-pki-operator", (8443,), False, A),
    Row(HCP, "cluster-storage-operator", (8443,), False, A),
    Row(HCP, "csi-snapshot-controller-operator", (8443,), False, A),
    Row(HCP, "cluster-image-registry-operator", (60000,), False, A),
    Row("kube-system", "konnectivity-agent", (2041,), True, OWN, None, "unknown"),
    Row("openshift-ingress", "router-default", (443,), False, "ingress"),
    Row(None, "kubelet", (10250,), True, K, OPT),
]
MICROSHIFT = [
    Row(None, "microshift", (6443, 10250, 10259, 8445), True, A, OPT),
    Row(None, "microshift", (10257,), True, A, OPT, loopback=True),
    Row(None, "microshift", (2379, 2380, 2381), True, A, REQ, loopback=True),
    Row("openshift-ingress", "router-default", (443,), False, "ingress"),
]
TABLES = {"openshift": OPENSHIFT, "kubernetes": KUBERNETES, "hypershift": HYPERSHIFT, "microshift": MICROSHIFT}
CASES = [
    pytest.param(distribution, row, port, id=f"{distribution}-{row.namespace}-{row.workload}-{port}")
    for distribution, rows in TABLES.items()
    for row in rows
    for port in row.ports
]
CATALOGUES = {distribution: load_catalogue(distribution) for distribution in DISTRIBUTIONS}


@pytest.mark.parametrize(("distribution", "row", "port"), CASES)
def test_every_known_listener_is_found(distribution: str, row: Row, port: int) -> None:
    found = CATALOGUES[distribution].find(row.namespace, (row.workload,), port, on_node=row.on_node)
    assert found is not None, f"profiles/components has no entry for {row}"
    said = (found.governor, found.client_certificate, found.speaks, found.loopback)
    assert said == (row.governor, row.client_certificate, row.speaks, row.loopback), found.place


def test_every_listener_of_openshift_has_a_row() -> None:
    found = {
        listener.place
        for row in OPENSHIFT
        for port in row.ports
        if (listener := CATALOGUES["openshift"].find(row.namespace, (row.workload,), port, on_node=row.on_node))
    }
    missing = [each.place for each in CATALOGUES["openshift"].listeners if each.place not in found]
    assert missing == [], "add a Row to OPENSHIFT in tests/config/test_component_catalogue.py"


def test_every_distribution_has_its_table() -> None:
    assert TABLES.keys() == DISTRIBUTIONS.keys()


def test_the_kubelets_number_in_the_pod_network_is_no_kubelet() -> None:
    for distribution, namespace in (("openshift", MONITORING), ("kubernetes", "kube-system")):
        found = CATALOGUES[distribution].find(namespace, ("metrics-server",), 10250, on_node=False)
        assert found is not None
        assert found.component == "metrics-server"
    for catalogue in CATALOGUES.values():
        assert catalogue.find("made-up", ("made-up-webhook",), 10250, on_node=False) is None


@pytest.mark.parametrize("port", [53, 6080, 6180, 6181, 9107, 9122, 9537, 10248, 10255, 10256, 22624, 4789, 6081])
def test_nobody_expects_tls_where_there_never_is_any(port: int) -> None:
    entries = [each for each in CATALOGUES["openshift"].listeners if port in each.ports]
    assert entries
    assert {each.speaks for each in entries} == {"plain"}


def test_a_workload_of_a_user_is_nobody_s_component() -> None:
    for catalogue in CATALOGUES.values():
        for port in (443, 6443, 8443, 10250, 10256):
            assert catalogue.find("made-up", ("router-default",), port, on_node=True) is None


def test_only_haproxy_takes_a_list_of_tls_1_3_suites() -> None:
    for catalogue in CATALOGUES.values():
        found = {(each.component, each.listener) for each in catalogue.listeners if each.tls13_suites_configurable}
        assert found <= {("router", "https")}


def _samples(listener: Listener) -> list[tuple[str | None, tuple[str, ...]]]:
    """A namespace and a workload for each of its patterns."""
    namespaces: list[str | None] = [each.replace("*", "x") for each in listener.namespaces]
    workloads: list[tuple[str, ...]] = [(each.replace("*", "x"),) for each in listener.workloads]
    return [(namespace, workload) for namespace in namespaces or [None] for workload in workloads or [()]]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_no_entry_hides_another(distribution: str) -> None:
    catalogue = CATALOGUES[distribution]
    for each in catalogue.listeners:
        for port in each.ports:
            for namespace, workload in _samples(each):
                on_node = each.host_network is not False
                found = catalogue.find(namespace, workload, port, on_node=on_node)
                assert found is not None
                assert found.place == each.place or found.place.startswith("profiles/components/hypershift.yaml")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_listener_belongs_to_a_component_and_says_who_told(distribution: str) -> None:
    catalogue = CATALOGUES[distribution]
    for each in catalogue.listeners:
        component = catalogue.component(each.component)
        assert component is not None
        assert component.platform
        assert each.governor in get_args(Governor)
        assert each.source
        assert each.place.startswith("profiles/components/")


@pytest.mark.parametrize("name", FILES)
def test_every_file_says_its_source_and_date(name: str) -> None:
    file = data.data("profiles") / "components" / f"{name}.yaml"
    document = yaml_values.load(file.read_bytes(), file.name)
    assert all(document.get((field,)) for field in ("title", "source", "date"))


def test_every_shipped_file_is_some_distribution_s() -> None:
    there = {each.name for each in (data.data("profiles") / "components").iterdir()}
    assert there == {f"{name}.yaml" for name in FILES}


# --- Hosted control planes ------------------------------------------------------------------------------------------


def test_hosted_control_planes_are_where_the_cluster_says() -> None:
    catalogue = load_catalogue("hypershift", hosted=["ocm-production-123-shop"])
    found = catalogue.find("ocm-production-123-shop", ("etcd",), 2379, on_node=False)
    assert found is not None
    assert found.client_certificate == "required"
    assert catalogue.find(HCP, ("etcd",), 2379, on_node=False) is None
    assert "ocm-production-123-shop" in catalogue.platform_namespaces


def test_a_cluster_that_hosts_control_planes_has_them_beside_its_own() -> None:
    catalogue = load_catalogue("openshift", hosted=["clusters-a", "clusters-b"])
    for namespace in ("clusters-a", "clusters-b"):
        found = catalogue.find(namespace, ("kube-apiserver",), 6443, on_node=False)
        assert found is not None
        assert found.governor == "apiserver"
    assert catalogue.find("openshift-etcd", ("etcd",), 2379, on_node=True) is not None
    assert CATALOGUES["openshift"].find("clusters-a", ("kube-apiserver",), 6443, on_node=False) is None


# --- Files of users -------------------------------------------------------------------------------------------------

OWN_FILE = """\
apiVersion: adhere/v1
kind: ComponentCatalogue
source: our runbook
components:
  vault:
    platform: false
    namespaces: [vault]
    hostNetwork: false
    governor: own
    listeners:
      api: {ports: [8200, 9100-9102], clientCertificate: requested, serverNames: [vault.svc]}
      metrics: {ports: [9091], speaks: plain, workloads: ["vault-?"]}
  metrics-server:
    namespaces: [openshift-monitoring]
    listeners:
      api: {ports: [10250], governor: own}
"""


def parsed(text: str) -> Catalogue:
    return parse(yaml_values.load(text.encode(), "own.yaml"))


def test_a_user_s_file_is_tried_first(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN_FILE)
    catalogue = load_catalogue("openshift", [str(file)])
    found = catalogue.find(MONITORING, ("metrics-server",), 10250, on_node=False)
    assert found is not None
    assert (found.governor, found.source, found.place) == ("own", "our runbook", f"{file}:16:12")
    vault = catalogue.component("vault")
    assert vault is not None
    assert not vault.platform
    assert catalogue.platform_namespaces == CATALOGUES["openshift"].platform_namespaces


def test_a_listener_has_what_its_component_says_and_its_own() -> None:
    api, metrics, _ = parsed(OWN_FILE).listeners
    assert (api.ports, api.host_network) == ((8200, 9100, 9101, 9102), False)
    assert (api.client_certificate, metrics.client_certificate) == ("requested", None)
    assert (api.server_names, api.governor) == (("vault.svc",), "own")
    assert (metrics.workloads, metrics.speaks, api.speaks) == (("vault-?",), "plain", "tls")
    assert parsed(OWN_FILE).find("vault", ("vault-10",), 9091, on_node=False) is None


def test_an_entry_from_elsewhere_has_its_own_source() -> None:
    text = OWN_FILE.replace("own\n", "own\n    source: a manual\n").replace("[9091]", "[9091], source: a capture")
    assert [each.source for each in parsed(text).listeners] == ["a manual", "a capture", "our runbook"]


REFUSED = {
    "empty": ("", "own.yaml:1:1: no catalogue of components in this file", "it starts with kind: ComponentCatalogue"),
    "another kind": (
        OWN_FILE.replace("kind: ComponentCatalogue", "kind: ScanPolicy"),
        "own.yaml:2:7: kind: must be 'ComponentCatalogue', not 'ScanPolicy'",
        "",
    ),
    "a field that nobody knows": (
        OWN_FILE.replace("hostNetwork: false", "hostNetworks: false"),
        "own.yaml:8:5: components.vault.hostNetworks: unknown field 'hostNetworks'",
        "did you mean 'hostNetwork'?",
    ),
    "a field of a listener that nobody knows": (
        OWN_FILE.replace("speaks: plain", "speeks: plain"),
        "own.yaml:12:32: components.vault.listeners.metrics.speeks: unknown field 'speeks'",
        "did you mean 'speaks'?",
    ),
    "a governor that does not exist": (
        OWN_FILE.replace("governor: own}", "governor: kublet}"),
        "own.yaml:16:39: components.metrics-server.listeners.api.governor: must be 'apiserver', ",
        "did you mean 'kubelet'?",
    ),
    "no governor": (
        OWN_FILE.replace(", governor: own}", "}"),
        "own.yaml:16:12: components.metrics-server.listeners.api: governor is missing",
        "one of apiserver",
    ),
    "no ports": (
        OWN_FILE.replace("ports: [10250], ", ""),
        "own.yaml:16:12: components.metrics-server.listeners.api: ports is missing",
        "for example",
    ),
    "a port that is none": (
        OWN_FILE.replace("8200", "82000"),
        "own.yaml:11:21: components.vault.listeners.api.ports[0]: 82000 is not a port",
        "a number from 1 to 65535",
    ),
    "a range that is turned round": (
        OWN_FILE.replace("9100-9102", "9102-9100"),
        "own.yaml:11:27: components.vault.listeners.api.ports[1]: '9102-9100' is not a port",
        "a number from 1 to 65535",
    ),
    "no namespace": (
        OWN_FILE.replace("    namespaces: [openshift-monitoring]\n", ""),
        "own.yaml:15:12: components.metrics-server.listeners.api: namespaces is missing",
        "says hostNetwork: true",
    ),
    "no listener": (
        OWN_FILE[: OWN_FILE.rindex("    listeners:")],
        "own.yaml:14:5: components.metrics-server: listeners is missing",
        "name at least one",
    ),
    "a list instead of a mapping": (
        OWN_FILE[: OWN_FILE.index("  vault:")] + "  - vault\n",
        "own.yaml:5:3: components: must be a mapping, not ['vault']",
        "",
    ),
    "a release that is none": (
        OWN_FILE.replace("platform: false", "honoursSince: newest"),
        "own.yaml:6:19: components.vault.honoursSince: 'newest' is no release",
        "4.22",
    ),
    "a name that is none": (
        OWN_FILE.replace("  vault:", "  Vault Ltd:"),
        "own.yaml:5:3: components['Vault Ltd']: invalid name 'Vault Ltd'",
        "lower case",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_said_with_its_place(what: str) -> None:
    text, message, hint = REFUSED[what]
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert message in caught.value.message
    assert hint in f"{caught.value.message} {caught.value.hint}"


def test_a_mistake_of_a_component_is_said_once_and_all_mistakes_at_once() -> None:
    wrong = OWN_FILE.replace("namespaces: [vault]", "namespaces: vault").replace("speaks: plain", "speaks: loud")
    with pytest.raises(InputError) as caught:
        parsed(wrong)
    lines = caught.value.message.splitlines()
    assert [line.split(": ")[1] for line in lines if "must be a list" in line] == ["components.vault.namespaces"]
    assert any("not 'loud'" in line for line in lines)


def test_a_distribution_that_is_not_known() -> None:
    with pytest.raises(UsageError, match="there is no catalogue 'openshft'") as caught:
        load_catalogue("openshft")
    assert caught.value.hint == "did you mean 'openshift'?"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["api", "ports", "listeners", "namespaces", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(components=ANYTHING)
def test_anything_else_is_refused_and_never_crashes(components: object) -> None:
    text = json.dumps({"apiVersion": "adhere/v1", "kind": "ComponentCatalogue", "components": components})
    refused = None
    try:
        catalogue = parsed(text)
    except InputError as error:
        refused = error.message
    else:
        assert catalogue.listeners
    assert refused is None or refused.startswith("own.yaml:1:")
