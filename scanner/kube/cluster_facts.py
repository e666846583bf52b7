"""What kind of a cluster a snapshot is of: pure reading of a handful of objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube import kinds
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.openshift import ClusterVersion, Infrastructure, microshift_release
from scanner.kube.snapshot import Snapshot

Distribution = Literal["openshift", "hypershift", "microshift", "kubernetes"]
"""``hypershift``: a guest cluster whose control plane is hosted elsewhere. ``microshift``: OpenShift's for the edge."""

READS = (kinds.CLUSTER_VERSION, kinds.INFRASTRUCTURE, kinds.CONFIG_MAP, kinds.API_SERVER)

_OPENSHIFT = ("config.openshift.io", "operator.openshift.io", "machineconfiguration.openshift.io")
"""Groups of which nobody but OpenShift has objects. HyperShift's is none of them: it runs on any Kubernetes."""
_PLATFORMS = ("openshift-kube-", "openshift-config", "openshift-etcd", "openshift-apiserver", "openshift-ingress")
"""How namespaces begin that only OpenShift has; products that carry its name are installed elsewhere, too."""
_MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the pods that a kubelet runs from files."""
_SERVED = ("forbidden", "failed", "not-asked")
"""Gaps of a kind that the cluster serves. What nobody saved shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Who the cluster is, as far as its objects tell; empty where they do not."""

    name: str
    """What the user calls it."""
    distribution: Distribution
    id: str = ""
    """``ClusterVersion.spec.clusterID``."""
    version: str = ""
    """Of OpenShift where it is one, else of Kubernetes: ``4.22.3``, ``v1.34.2``."""
    platform: str = ""
    """``AWS``, ``None`` ... (``Infrastructure.status.platformStatus.type``)."""
    topology: str = ""
    """``HighlyAvailable``, ``SingleReplica``, ``External`` (``Infrastructure.status.controlPlaneTopology``)."""
    server: str = ""


def document(snapshot: Snapshot, name: str, key: str) -> Known[Fields] | None:
    """The YAML in a field of a ConfigMap of kube-system; None where there is no such ConfigMap."""
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
    """The facts of a snapshot that has read ``READS``."""
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
    """Whose Kubernetes it is, by what is there; without any evidence nobody's."""
    if microshift_release(snapshot):
        return "microshift"
    if any(Infrastructure.of(each).topology == "External" for each in snapshot.every(kinds.INFRASTRUCTURE)[:1]):
        return "hypershift"
    if any(found and kind.group in _OPENSHIFT for kind, found in snapshot.objects.items()):
        return "openshift"
    if kinds.CLUSTER_VERSION in snapshot.absent or _kubeadm(snapshot):
        return "kubernetes"
    # A kind that is served and may not be read shows as well whose API it is.
    gaps = (snapshot.unreadable.get(each) for each in (kinds.CLUSTER_VERSION, kinds.API_SERVER))
    served = any(each is not None and each.gap in _SERVED for each in gaps)
    here = served or snapshot.objects.get(kinds.ROUTE) or _in_its_namespaces(snapshot)
    return "openshift" if here else "kubernetes"


def _kubeadm(snapshot: Snapshot) -> bool:
    """Whether kubeadm made the cluster: it leaves its configuration, and runs the control plane in kube-system."""
    if snapshot.get(kinds.CONFIG_MAP, "kubeadm-config", "kube-system") is not None:
        return True
    pods = (each for each in snapshot.objects.get(kinds.POD, ()) if each.namespace == "kube-system")
    return any(each.labels.get("component") == "kube-apiserver" and _MIRROR in each.annotations for each in pods)


def _in_its_namespaces(snapshot: Snapshot) -> bool:
    found = (each for kind in (kinds.CONFIG_MAP, kinds.POD, kinds.SERVICE) for each in snapshot.objects.get(kind, ()))
    return any((each.namespace or "").startswith(_PLATFORMS) for each in found)


def identity(snapshot: Snapshot) -> str:
    """``ClusterVersion.spec.clusterID``; elsewhere the uid of the namespace kube-system, which lives as long as its
    cluster. Empty where neither was read."""
    version = next(iter(snapshot.objects.get(kinds.CLUSTER_VERSION, ())), None)
    spaces = snapshot.objects.get(kinds.NAMESPACE, ())
    system = next((each for each in spaces if each.name == "kube-system"), None)
    return (ClusterVersion.of(version).cluster_id if version else "") or (system.uid if system else "")


def same_cluster(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots may be of one cluster: one that does not say who it is may be any."""
    first, second = identity(one), identity(other)
    return first == second or not (first and second)


def is_guest(snapshot: Snapshot) -> bool:
    """Whether the control plane is hosted in another cluster."""
    found = snapshot.get(kinds.INFRASTRUCTURE, "cluster")
    return found is not None and Infrastructure.of(found).topology == "External"


def hosted_namespaces(snapshot: Snapshot) -> tuple[str, ...]:
    """Namespaces of the control planes that HyperShift runs in this cluster, by either of the objects for each."""
    named = [hosted_namespace(each) for each in snapshot.objects.get(kinds.HOSTED_CLUSTER, ())]
    planes = [each.namespace or "" for each in snapshot.objects.get(kinds.HOSTED_CONTROL_PLANE, ())]
    return tuple(dict.fromkeys(filter(None, (*named, *planes))))


def hosted_namespace(hosted_cluster: KubeObject) -> str:
    """Where the control plane of a HostedCluster is (hypershift ``manifests.HostedControlPlaneNamespace``), or ""."""
    namespace = hosted_cluster.namespace
    return f"{namespace}-{hosted_cluster.name.replace('.', '-')}" if namespace else ""


def in_fips_mode(snapshot: Snapshot) -> Known[bool]:
    """``fips`` of install-config, in ConfigMap kube-system/cluster-config-v1. A cluster without it was not made by the
    installer, and is taken to be in none."""
    found = document(snapshot, "cluster-config-v1", "install-config")
    if isinstance(found, Unknown):
        return Unknown(f"whether the cluster is in FIPS mode is not known: {found.reason}")
    return found is not None and found.flag("fips")
