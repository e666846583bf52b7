"""Facts about a cluster from a few of its objects: distribution, version, identity, FIPS mode."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube import kinds
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.openshift import ClusterVersion, Infrastructure, microshift_release
from scanner.kube.pod import Pod
from scanner.kube.snapshot import Snapshot

Distribution = Literal["openshift", "hypershift", "microshift", "kubernetes"]
"""``hypershift``: a guest cluster whose control plane runs in another cluster. ``microshift``: OpenShift for edge
devices."""

READS = (kinds.CLUSTER_VERSION, kinds.INFRASTRUCTURE, kinds.CONFIG_MAP, kinds.API_SERVER)

_OPENSHIFT = ("config.openshift.io", "operator.openshift.io", "machineconfiguration.openshift.io")
"""API groups that only OpenShift serves. HyperShift's group is not one: it runs on any Kubernetes."""
_PLATFORMS = ("openshift-kube-", "openshift-config", "openshift-etcd", "openshift-apiserver", "openshift-ingress")
"""Prefixes of namespaces that only OpenShift has. Products with its name are installed on other clusters, too."""
_SERVED = ("forbidden", "failed", "not-asked")
"""Gaps of a kind that the cluster serves. A kind that was not saved proves nothing."""


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """Identity and environment of a cluster; a fact that its objects do not show is empty."""

    name: str
    """Context of the kubeconfig, or directory of the snapshot."""
    distribution: Distribution
    id: str = ""
    """``ClusterVersion.spec.clusterID``."""
    version: str = ""
    """Version of OpenShift, or of Kubernetes on other clusters: ``4.22.3``, ``v1.34.2``."""
    platform: str = ""
    """``AWS``, ``None`` ... (``Infrastructure.status.platformStatus.type``)."""
    topology: str = ""
    """``HighlyAvailable``, ``SingleReplica``, ``External`` (``Infrastructure.status.controlPlaneTopology``)."""
    server: str = ""


def document(snapshot: Snapshot, name: str, key: str) -> Known[Fields] | None:
    """Read the YAML in a field of a ConfigMap of kube-system; None if there is no such ConfigMap."""
    found = snapshot.get(kinds.CONFIG_MAP, name, "kube-system")
    if found is None:
        gap = snapshot.missing(kinds.CONFIG_MAP, name, "kube-system")
        return Unknown(gap) if gap else None
    try:
        value = load(found.text("data", key).encode("utf-8", "replace"), str(found.reference)).value
    except InputError as error:
        return Unknown(error.message)
    return Fields(value if isinstance(value, dict) else {})


def cluster_facts(snapshot: Snapshot) -> ClusterFacts:
    """Read the facts of a snapshot that has the kinds of ``READS``."""
    version = next(map(ClusterVersion.of, snapshot.every(kinds.CLUSTER_VERSION)), None)
    infrastructure = next(map(Infrastructure.of, snapshot.every(kinds.INFRASTRUCTURE)), None)
    release = (version.desired if version else "") or microshift_release(snapshot)
    return ClusterFacts(
        name=snapshot.origin.name,
        distribution=distribution(snapshot),
        id=version.cluster_id if version else "",
        version=release or snapshot.origin.git_version,
        platform=infrastructure.platform if infrastructure else "",
        topology=infrastructure.topology if infrastructure else "",
        server=snapshot.origin.server,
    )


def distribution(snapshot: Snapshot) -> Distribution:
    """Recognize the distribution by its objects; ``kubernetes`` without evidence of another."""
    if microshift_release(snapshot):
        return "microshift"
    if is_guest(snapshot):
        return "hypershift"
    if any(found and kind.group in _OPENSHIFT for kind, found in snapshot.objects.items()):
        return "openshift"
    if kinds.CLUSTER_VERSION in snapshot.absent or _kubeadm(snapshot):
        return "kubernetes"
    # A kind that is served but may not be read also shows that the API is OpenShift's.
    gaps = (snapshot.unreadable.get(each) for each in (kinds.CLUSTER_VERSION, kinds.API_SERVER))
    served = any(each is not None and each.gap in _SERVED for each in gaps)
    here = served or snapshot.objects.get(kinds.ROUTE) or _in_its_namespaces(snapshot)
    return "openshift" if here else "kubernetes"


def _kubeadm(snapshot: Snapshot) -> bool:
    """True if kubeadm made the cluster: it stores its configuration and runs the control plane in kube-system."""
    if snapshot.get(kinds.CONFIG_MAP, "kubeadm-config", "kube-system") is not None:
        return True
    pods = (each for each in snapshot.objects.get(kinds.POD, ()) if each.namespace == "kube-system")
    return any(each.labels.get("component") == "kube-apiserver" and Pod.of(each).is_static for each in pods)


def _in_its_namespaces(snapshot: Snapshot) -> bool:
    found = (each for kind in (kinds.CONFIG_MAP, kinds.POD, kinds.SERVICE) for each in snapshot.objects.get(kind, ()))
    return any((each.namespace or "").startswith(_PLATFORMS) for each in found)


def identity(snapshot: Snapshot) -> str:
    """``ClusterVersion.spec.clusterID``, else the uid of the namespace kube-system, which exists as long as the
    cluster. Empty if neither was read."""
    version = next(iter(snapshot.objects.get(kinds.CLUSTER_VERSION, ())), None)
    spaces = snapshot.objects.get(kinds.NAMESPACE, ())
    system = next((each for each in spaces if each.name == "kube-system"), None)
    return (ClusterVersion.of(version).cluster_id if version else "") or (system.uid if system else "")


def same_cluster(one: Snapshot, other: Snapshot) -> bool:
    """True if two snapshots may be of one cluster. A snapshot without an identity may be of any cluster."""
    first, second = identity(one), identity(other)
    return first == second or not (first and second)


def is_guest(snapshot: Snapshot) -> bool:
    """True if the control plane runs in another cluster (HyperShift)."""
    found = snapshot.get(kinds.INFRASTRUCTURE, "cluster")
    return found is not None and Infrastructure.of(found).topology == "External"


def hosted_namespaces(snapshot: Snapshot) -> tuple[str, ...]:
    """Namespaces of the control planes that HyperShift runs in this cluster, from HostedClusters and
    HostedControlPlanes."""
    named = [hosted_namespace(each) for each in snapshot.objects.get(kinds.HOSTED_CLUSTER, ())]
    planes = [each.namespace or "" for each in snapshot.objects.get(kinds.HOSTED_CONTROL_PLANE, ())]
    return tuple(dict.fromkeys(filter(None, (*named, *planes))))


def hosted_namespace(hosted_cluster: KubeObject) -> str:
    """Namespace of a HostedCluster's control plane (hypershift ``manifests.HostedControlPlaneNamespace``); empty if
    unknown."""
    namespace = hosted_cluster.namespace
    return f"{namespace}-{hosted_cluster.name.replace('.', '-')}" if namespace else ""


def in_fips_mode(snapshot: Snapshot) -> Known[bool]:
    """``fips`` of install-config, in ConfigMap kube-system/cluster-config-v1. Without it the installer did not make the
    cluster, and FIPS mode counts as off."""
    found = document(snapshot, "cluster-config-v1", "install-config")
    if isinstance(found, Unknown):
        return Unknown(f"the FIPS mode of the cluster is unknown: {found.reason}")
    return found is not None and found.flag("fips")
