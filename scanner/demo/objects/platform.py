"""Objects of the platform: release, profile, nodes, pools and operators.

config.openshift.io/v1 and machineconfiguration.openshift.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanner.demo.api.store import Object
from scanner.demo.cluster_workloads import WORKLOADS
from scanner.demo.layout import Layout
from scanner.demo.workload_types import API_PORT, APPS, BASE_DOMAIN, KUBELET_PORT, MASTER, NODES
from scanner.kube import kinds
from scanner.kube.kinds import Kind

RELEASE = "4.22.3"
KUBERNETES = "v1.35.2"
_POOLS = "pools.operator.machineconfiguration.openshift.io/"
_RENDERED = {"master": "rendered-master-5b7c1d", "worker": "rendered-worker-9f02ae"}
OPERATORS = (
    "authentication",
    "console",
    "dns",
    "etcd",
    "ingress",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "machine-config",
    "monitoring",
    "network",
    "openshift-apiserver",
)


def conditions(**statuses: str) -> list[dict[str, str]]:
    """Conditions by type: ``conditions(Available="True")``."""
    return [{"type": kind, "status": status, "reason": "AsExpected"} for kind, status in statuses.items()]


_HEALTHY = conditions(Available="True", Progressing="False", Degraded="False", Upgradeable="True")


def api_server() -> Object:
    """The APIServer object: Modern for all components, enforced."""
    return {
        "metadata": {"name": "cluster", "generation": 1, "creationTimestamp": "2026-01-05T08:00:00Z"},
        "spec": {
            "audit": {"profile": "Default"},
            "tlsSecurityProfile": {"type": "Modern", "modern": {}},
            "tlsAdherence": "StrictAllComponents",
        },
    }


def feature_gate() -> Object:
    """``tlsAdherence`` is behind a gate in 4.22, on in TechPreviewNoUpgrade."""
    enabled = [{"name": "TLSAdherence"}, {"name": "ConfigurablePKI"}]
    gates = {"version": RELEASE, "enabled": enabled, "disabled": [{"name": "EventedPLEG"}]}
    return {
        "metadata": {"name": "cluster"},
        "spec": {"featureSet": "TechPreviewNoUpgrade"},
        "status": {"featureGates": [gates]},
    }


def cluster_version() -> Object:
    """An installed release, without an update in progress."""
    image = "quay.io/openshift-release-dev/ocp-release@sha256:demo"
    history = {"state": "Completed", "version": RELEASE, "image": image, "verified": True}
    return {
        "metadata": {"name": "version"},
        "spec": {"channel": "stable-4.22", "clusterID": "0d2f6f1e-5a2b-4f6e-8d39-adeb0e000001"},
        "status": {
            "desired": {"version": RELEASE, "image": image},
            "history": [history],
            "conditions": conditions(Available="True", Progressing="False", Failing="False"),
        },
    }


def infrastructure() -> Object:
    """One control plane node, several workers."""
    return {
        "metadata": {"name": "cluster"},
        "spec": {"platformSpec": {"type": "None"}},
        "status": {
            "infrastructureName": "demo-x7k2p",
            "platform": "None",
            "platformStatus": {"type": "None"},
            "controlPlaneTopology": "SingleReplica",
            "infrastructureTopology": "HighlyAvailable",
            "apiServerURL": f"https://api.{BASE_DOMAIN}:{API_PORT}",
            "apiServerInternalURI": f"https://api-int.{BASE_DOMAIN}:{API_PORT}",
            "etcdDiscoveryDomain": "",
        },
    }


def network(layout: Layout) -> Object:
    """The networks of pods and Services, which limit the addresses that a scan dials."""
    found = {
        "clusterNetwork": [{"cidr": layout.addresses.pod_network, "hostPrefix": 24}],
        "serviceNetwork": [layout.addresses.service_network],
        "networkType": "OVNKubernetes",
    }
    return {"metadata": {"name": "cluster"}, "spec": found, "status": {**found, "clusterNetworkMTU": 1400}}


def ingress_config() -> Object:
    """``ingresses.config.openshift.io``."""
    return {"metadata": {"name": "cluster"}, "spec": {"domain": APPS}, "status": {"defaultPlacement": "Workers"}}


def cluster_operators() -> Iterator[Object]:
    """Healthy operators of this release."""
    for name in OPERATORS:
        versions = [{"name": "operator", "version": RELEASE}]
        yield {"metadata": {"name": name}, "spec": {}, "status": {"conditions": _HEALTHY, "versions": versions}}


def namespaces() -> Iterator[Object]:
    """Namespaces with objects."""
    for name in dict.fromkeys(("default", "kube-system", "openshift-config", *(each.namespace for each in WORKLOADS))):
        labels = {"kubernetes.io/metadata.name": name}
        yield {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"phase": "Active"}}


def operators() -> dict[Kind, Object]:
    """Configurations of operators, each with the profile of the APIServer object in ``observedConfig``."""
    return {kind: _operator(*path) for kind, path in _OBSERVERS.items()}


def _operator(*path: str) -> Object:
    """``path``: the place of the profile in ``observedConfig``, without suites: Go cannot restrict those of TLS 1.3."""
    observed: dict[str, Any] = {"servingInfo": {"minTLSVersion": "VersionTLS13"}}
    for step in reversed(path):
        observed = {step: observed}
    return {
        "metadata": {"name": "cluster", "generation": 3},
        "spec": {"managementState": "Managed", "observedConfig": observed},
        "status": {"observedGeneration": 3, "conditions": _HEALTHY},
    }


_OBSERVERS: dict[Kind, tuple[str, ...]] = {
    kinds.KUBE_API_SERVER_OPERATOR: (),
    kinds.KUBE_CONTROLLER_MANAGER_OPERATOR: (),
    kinds.KUBE_SCHEDULER_OPERATOR: (),
    kinds.ETCD_OPERATOR: (),
    kinds.OPENSHIFT_API_SERVER_OPERATOR: (),
    kinds.AUTHENTICATION_OPERATOR: ("oauthServer",),
}


# --- nodes and their pools --------------------------------------------------------------------------------------------


def nodes(layout: Layout) -> Iterator[Object]:
    """One control plane node and two workers, whose kubelets run the configuration of their pools."""
    for name in NODES:
        role = "master" if name == MASTER else "worker"
        annotation = "machineconfiguration.openshift.io/{}Config".format
        yield {
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    f"node-role.kubernetes.io/{role}": "",
                },
                "annotations": {
                    annotation("current"): _RENDERED[role],
                    annotation("desired"): _RENDERED[role],
                    "machineconfiguration.openshift.io/state": "Done",
                },
            },
            "spec": {"providerID": ""},
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": layout.addresses.node(name)},
                    {"type": "Hostname", "address": name},
                ],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
                "conditions": conditions(Ready="True"),
                "nodeInfo": {"kubeletVersion": KUBERNETES, "operatingSystem": "linux", "architecture": "amd64"},
            },
        }


def machine_config_pools() -> Iterator[Object]:
    """Pools without an update in progress."""
    for role, count in (("master", 1), ("worker", 2)):
        label = {"machineconfiguration.openshift.io/role": role}
        node = {"matchLabels": {f"node-role.kubernetes.io/{role}": ""}}
        rendered = {"name": _RENDERED[role]}
        counts = dict.fromkeys(("machineCount", "updatedMachineCount", "readyMachineCount"), count)
        done = conditions(Updated="True", Updating="False", Degraded="False", NodeDegraded="False")
        yield {
            "metadata": {"name": role, "labels": {f"{_POOLS}{role}": ""}},
            "spec": {
                "machineConfigSelector": {"matchLabels": label},
                "nodeSelector": node,
                "configuration": rendered,
                "paused": False,
            },
            "status": {"configuration": rendered, "conditions": done, **counts, "unavailableMachineCount": 0},
        }


def kubelet_configs() -> Iterator[Object]:
    """An override of the cluster's profile for the workers."""
    selector: dict[str, Any] = {"matchLabels": {f"{_POOLS}worker": ""}}
    yield {
        "metadata": {"name": "worker-intermediate", "generation": 1},
        "spec": {
            "machineConfigPoolSelector": selector,
            "tlsSecurityProfile": {"type": "Intermediate", "intermediate": {}},
        },
        "status": {"observedGeneration": 1, "conditions": conditions(Success="True")},
    }
