"""What kind of a cluster a snapshot is of: pure reading of a handful of objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.model import kinds
from scanner.model.objects import Fields, KubeObject
from scanner.model.snapshot import Snapshot

Distribution = Literal["openshift", "hypershift", "microshift", "kubernetes"]
"""``hypershift``: a guest cluster whose control plane is hosted elsewhere. ``microshift``: OpenShift's for the edge."""

READS = (kinds.CLUSTER_VERSION, kinds.INFRASTRUCTURE, kinds.CONFIG_MAP, kinds.API_SERVER)


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


def cluster_facts(snapshot: Snapshot) -> ClusterFacts:
    """The facts of a snapshot that has read ``READS``."""
    version = _first(snapshot.every(kinds.CLUSTER_VERSION))
    infrastructure = _first(snapshot.every(kinds.INFRASTRUCTURE))
    topology = infrastructure.text("status", "controlPlaneTopology")
    release = version.text("status", "desired", "version") or _microshift(snapshot)
    return ClusterFacts(
        name=snapshot.origin.name,
        distribution=_distribution(snapshot, topology),
        id=version.text("spec", "clusterID"),
        version=release or snapshot.origin.git_version,
        platform=infrastructure.text("status", "platformStatus", "type"),
        topology=topology,
        server=snapshot.origin.server,
    )


def _distribution(snapshot: Snapshot, topology: str) -> Distribution:
    if _microshift(snapshot):
        return "microshift"
    if topology == "External":
        return "hypershift"
    if snapshot.every(kinds.CLUSTER_VERSION) or snapshot.every(kinds.API_SERVER):
        return "openshift"
    # A kind that is served and may not be read shows as well whose API it is.
    served = {kinds.CLUSTER_VERSION, kinds.API_SERVER} & set(snapshot.unreadable)
    return "openshift" if served and kinds.CLUSTER_VERSION not in snapshot.absent else "kubernetes"


def _microshift(snapshot: Snapshot) -> str:
    """The release that MicroShift writes down (``kube-public/microshift-version``), or ""."""
    said = snapshot.get(kinds.CONFIG_MAP, "microshift-version", "kube-public")
    return said.text("data", "version") if said else ""


def _first(objects: tuple[KubeObject, ...]) -> Fields:
    return objects[0] if objects else Fields({})
