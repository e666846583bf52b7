"""From a node of a hosted cluster to its NodePool, and to the KubeletConfig in a ConfigMap that the NodePool names.

hypershift ``hypershift-operator/controllers/nodepool`` (``config.go``, ``nto.go``). NodePools are in the cluster that
hosts the control plane, whose objects stand in the same snapshot or in another one of the same scan.
"""

from __future__ import annotations

from typing import TypeAlias

from scanner.errors import InputError
from scanner.expect.facts import Facts
from scanner.kube import kubelet, references
from scanner.kube.cluster_facts import identity
from scanner.kube.kinds import CONFIG_MAP, HOSTED_CLUSTER, NODE, NODE_POOL
from scanner.kube.kubelet import KubeletConfig
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import HostedCluster, NodePool
from scanner.kube.secrets import ConfigMap
from scanner.kube.snapshot import Snapshot

Held: TypeAlias = tuple[Snapshot, KubeObject]
"""An object, and the snapshot that holds it."""

LABEL = f"metadata.labels[{kubelet.NODE_POOL}]"
ELSEWHERE = Unknown(
    "a NodePool of the hosting cluster may name a ConfigMap with a KubeletConfig, which decides before the APIServer "
    "and is not in this cluster: scan both clusters together (--contexts), or give the profile of these nodes as an "
    "override in the policy file"
)


def pool_of(facts: Facts, node_name: str) -> Known[Held]:
    """The NodePool that a node belongs to."""
    pools = facts.once(_ours)
    if not pools:
        hosting = (each for each in facts.hosts if each.every(HOSTED_CLUSTER))
        gap = next(filter(None, (each.gap(NODE_POOL) for each in hosting)), None)
        return Unknown(f"NodePools could not be read: {gap}") if gap else ELSEWHERE
    node = facts.snapshot.get(NODE, node_name)
    if node is None:
        gap = facts.snapshot.gap(NODE) or "there is no such node"
        return Unknown(f"the NodePool of Node/{node_name} is not known: {gap}")
    name = node.labels.get(kubelet.NODE_POOL, "")
    if not name:
        return Unknown(f"the NodePool of {node.reference} is not known: the node has no {LABEL}")
    found = [each for each in pools if each[1].name == name]
    if len(found) == 1:
        return found[0]
    if not found:
        return Unknown(f"{node.reference} belongs to NodePool {name}, which was not seen")
    several = ", ".join(str(pool.reference) for _, pool in found[:5])
    return Unknown(f"{node.reference} belongs to one of several NodePools that have the same name: {several}")


def _ours(facts: Facts) -> tuple[Held, ...]:
    """The NodePools of this cluster. Another snapshot has to say that it hosts this cluster (HyperShift copies
    ``HostedCluster.spec.clusterID`` to ClusterVersion); the cluster's own only must not deny it."""
    every = ((host, pool) for host in facts.hosts for pool in host.every(NODE_POOL))
    return tuple((host, pool) for host, pool in every if _hosts(host, pool, facts.snapshot))


def _hosts(host: Snapshot, pool: KubeObject, guest: Snapshot) -> bool:
    hosted = host.get(HOSTED_CLUSTER, NodePool.of(pool).cluster_name, pool.namespace)
    said, own = HostedCluster.of(hosted).cluster_id if hosted else "", identity(guest)
    return said == own if said and own else host is guest


def kubelet_config(host: Snapshot, pool: KubeObject) -> Known[KubeletConfig | None]:
    """The KubeletConfig of a pool as its ConfigMap has it; None where no ConfigMap of the pool has one."""
    found: list[KubeletConfig] = []
    for link in references.links(pool):
        namespace = link.namespace or ""
        held = host.get(CONFIG_MAP, link.name, namespace)
        called = f"ConfigMap/{namespace}/{link.name}"
        if held is None:
            gap = host.missing(CONFIG_MAP, link.name, namespace) or "there is no such ConfigMap"
            return Unknown(f"{called}, which {pool.reference} names, is not known: {gap}")
        text = ConfigMap.of(held).data.get(kubelet.MANIFESTS, "")
        if not text:
            return Unknown(f"{called}, which {pool.reference} names, has no data[{kubelet.MANIFESTS}]")
        try:
            configs = list(kubelet.in_manifests(text))
        except InputError:
            return Unknown(f"{called}, which {pool.reference} names, is no YAML or too long to be read")
        name = {"name": held.name, "namespace": held.namespace}
        found += [KubeletConfig({"metadata": name, "spec": each.spec}, CONFIG_MAP) for each in configs]
    if len(found) > 1:
        several = ", ".join(str(each.reference) for each in found[:5])
        return Unknown(f"{pool.reference} has several KubeletConfigs, and HyperShift allows one: {several}")
    return found[0] if found else None
