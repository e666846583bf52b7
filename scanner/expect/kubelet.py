"""The kubelet: its profile is from a KubeletConfig (through MachineConfigPools, in a hosted cluster through NodePools),
else from the cluster. On plain Kubernetes the selected profile, tightened by kubeadm's kubelet-config and by configz.

machine-config-operator ``pkg/controller/kubelet-config`` and ``pkg/controller/common/helpers.go``. It ignores
``tlsAdherence`` and groups.

hypershift ``hypershift-operator/controllers/nodepool`` (``config.go``, ``nto.go``): a NodePool refers to ConfigMaps,
one with a KubeletConfig. NodePools are in the cluster that hosts the control plane, in the same snapshot or in another
one of the same scan.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from scanner.errors import InputError
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.expect.process_flags import (
    GROUPS_FIELD,
    ProcessSettings,
    bounded,
    by_configuration,
    profile_of_process,
    stating,
)
from scanner.expect.release import meaning, minor, of_kubelet
from scanner.expect.rollout import settling
from scanner.kube import kubelet, references
from scanner.kube.cluster_facts import identity
from scanner.kube.kinds import (
    CONFIG_MAP,
    HOSTED_CLUSTER,
    KUBELET_CONFIG,
    KUBELET_CONFIGZ,
    MACHINE_CONFIG_POOL,
    NODE,
    NODE_POOL,
)
from scanner.kube.kubelet import (
    MANIFESTS,
    Configz,
    KubeletConfig,
    MachineConfigPool,
    kubelet_configs,
    pool_of,
    updating,
)
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import changed, condition
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import HostedCluster, NodePool
from scanner.kube.pod import Node
from scanner.kube.secrets import ConfigMap
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import MACHINE_CONFIG, PROFILE, Declared, Profile, declared
from scanner.model.expectation import Because, Lever
from scanner.values import replace

_FIELD = ".".join(PROFILE)
_RAW = "spec.kubeletConfig"
_FIELDS = "tlsMinVersion, tlsCipherSuites"
_GROUPS_SINCE = (4, 23)
"""The release with Kubernetes 1.36."""
_KUBEADM = "ConfigMap/kube-system/kubelet-config"
_MANIFESTS = f"data[{MANIFESTS}]."
_POOL_TAKES = timedelta(hours=24)
"""Time for a pool of some hundred nodes that are drained one by one."""
_Located: TypeAlias = tuple[Snapshot, KubeObject]
"""An object and its snapshot."""

_LABEL = f"metadata.labels[{kubelet.NODE_POOL_LABEL}]"
_ELSEWHERE = Unknown(
    "a NodePool of the hosting cluster may refer to a ConfigMap with a KubeletConfig, which overrides the APIServer "
    "and is not in this cluster: scan both clusters together (--contexts), or set the profile of these nodes as an "
    "override in the policy file"
)


def resolve(facts: Facts, partial: Partial) -> Partial:
    """The profile of a node's kubelet."""
    if partial.entry is None or partial.entry.governor != "kubelet":
        return partial
    name = partial.endpoint.node or partial.endpoint.owner.name
    node = facts.snapshot.get(NODE, name)
    if not facts.is_openshift:
        return _plain(facts, partial, name)
    if _without_pools(facts):
        return _hosted(facts, partial, name)
    if node is None:
        gap = facts.snapshot.gap(NODE) or "there is no such node"
        return partial.requires(Unknown(f"the pool of Node/{name} is unknown: {gap}"), f"Node/{name}", "", "unknown")
    return _of_node(facts, _of_release(facts, partial, node), node)


def _without_pools(facts: Facts) -> bool:
    """True if no MachineConfigPools exist, because the control plane is hosted elsewhere."""
    snapshot = facts.snapshot
    if MACHINE_CONFIG_POOL in snapshot.absent and KUBELET_CONFIG in snapshot.absent:
        return True
    return facts.is_guest and not snapshot.gap(MACHINE_CONFIG_POOL) and not snapshot.every(MACHINE_CONFIG_POOL)


def _of_release(facts: Facts, partial: Partial, node: KubeObject) -> Partial:
    """An older kubelet uses the profiles of its own release."""
    version = Node.of(node).kubelet_version
    own = of_kubelet(version)
    if own is None or isinstance(partial.release, Unknown):
        return partial
    kubelet, cluster = minor(own), minor(partial.release)
    if kubelet is None or cluster is None or cluster[0] != 4 or kubelet >= cluster:
        return partial
    step = Because(source=str(node.reference), field="status.nodeInfo.kubeletVersion", said=f"{version}: {own}")
    partial = replace(partial, release=own, other_release=None, because=(*partial.because, step))
    return facts.cluster.onto(partial)


def _of_node(facts: Facts, partial: Partial, node: KubeObject) -> Partial:
    pool = pool_of(facts.snapshot, node)
    if isinstance(pool, Unknown):
        return partial.requires(pool, str(node.reference), "metadata.labels", pool.reason)
    partial = partial.step(str(pool.reference), "spec.nodeSelector", f"selects {node.reference}")
    if gap := facts.snapshot.gap(KUBELET_CONFIG):
        return partial.requires(Unknown(f"KubeletConfig could not be read: {gap}"), "KubeletConfig", _FIELD, "unknown")
    configs = kubelet_configs(facts.snapshot, pool)
    if configs:
        partial = _configured(partial, configs[-1])
    else:
        partial = partial.step("KubeletConfig", _FIELD, f"none for {pool.reference}, so the cluster's profile applies")
    for config in configs[:-1]:
        partial = partial.remark(f"{config.reference} also selects {pool.reference}; the last KubeletConfig counts")
    return _rolling(facts, partial, pool, node)


def _hosted(facts: Facts, partial: Partial, name: str) -> Partial:
    """A guest cluster of HyperShift: its nodes are configured in the hosting cluster."""
    found = _node_pool_of(facts, name)
    if isinstance(found, Unknown):
        text = "not in this cluster" if found == _ELSEWHERE else "unknown"
        return partial.requires(found, "NodePool", "spec.config", text)
    host, pool = found
    node = facts.snapshot.get(NODE, name)
    partial = _of_release(facts, partial, node) if node else partial
    partial = partial.step(f"Node/{name}", _LABEL, f"belongs to {pool.reference}")
    config = _config_of_pool(host, pool)
    if isinstance(config, Unknown):
        return partial.requires(config, str(pool.reference), "spec.config", "unknown")
    if config is None:
        partial = partial.step(str(pool.reference), "spec.config", "no KubeletConfig, so the cluster's profile applies")
    else:
        partial = _configured(partial, config, _MANIFESTS)
    at_work = condition(pool, "UpdatingConfig")
    if at_work is None or not at_work.holds:
        return partial
    text = at_work.message or "True"
    return settling(facts, partial, str(pool.reference), "status.conditions", text, at_work.since, _POOL_TAKES)


def _configured(partial: Partial, config: KubeletConfig, within: str = "") -> Partial:
    """``spec.kubeletConfig`` overrides the profile's settings (``generateKubeletIgnFiles``). ``within``: the field that
    contains the KubeletConfig."""
    source, field = str(config.reference), f"{within}{_FIELD}"
    partial = replace(partial, lever=Lever(where=source, field=field, applied_by="kubelet"))
    settings = by_configuration(config.configuration)
    own = _declared(partial.release, config)
    if own.profile is None:
        partial = partial.step(source, field, own.said).remark(*own.remarks)
    else:
        partial = partial.declares(
            source,
            field,
            lambda release: _declared(release, config),
            changed=changed(config, PROFILE),
        )
    number = None if isinstance(partial.release, Unknown) else minor(partial.release)
    if settings.groups and number is not None and number < _GROUPS_SINCE:
        text = f"{source} sets {GROUPS_FIELD}, which exists since 4.23, but the release is {partial.release}"
        partial, settings = partial.remark(text), replace(settings, groups=())
    if not settings.anything:
        return partial
    found = _merged(profile_of_process(settings, source, ""), partial.profile, settings)
    more = f", {GROUPS_FIELD}" if settings.groups else ""
    partial = partial.requires(found, source, f"{within}{_RAW}.{_FIELDS}{more}", settings.said)
    partial = stating(partial, settings, f"{source} {within}{_RAW}.{GROUPS_FIELD}")
    return replace(partial, changed=changed(config, tuple(_RAW.split("."))))


def _declared(release: Known[str], config: KubeletConfig) -> Declared:
    return declared(config, PROFILE, MACHINE_CONFIG, str(config.reference), meaning(release))


def _merged(found: Known[Profile], under: Known[Profile], settings: ProcessSettings) -> Known[Profile]:
    """Settings missing in ``kubeletConfig`` are those of the profile."""
    if isinstance(found, Unknown) or isinstance(under, Unknown):
        return found if isinstance(found, Unknown) or (settings.minimum and settings.suites) else under
    minimum = found.min_version if settings.minimum else under.min_version
    return replace(found, min_version=minimum, suites=found.suites if settings.suites else under.suites)


def _rolling(facts: Facts, partial: Partial, pool: MachineConfigPool, node: KubeObject) -> Partial:
    change = updating(pool, node)
    if change is None:
        return partial
    why, since = change
    return settling(facts, partial, str(pool.reference), "status.conditions", why, since, _POOL_TAKES)


def _plain(facts: Facts, partial: Partial, node: str) -> Partial:
    """Without OpenShift: kubeadm's ConfigMap for all kubelets, and configz of this one."""
    snapshot = facts.snapshot
    of_node = snapshot.get(NODE, node)
    version = (Node.of(of_node).kubelet_version if of_node else "") or snapshot.origin.git_version
    lever = Lever(
        where=f"the kubelet of Node/{node}",
        minimum="tlsMinVersion",
        suites="tlsCipherSuites",
        spelling="component-base",
        files=("/var/lib/kubelet/config.yaml",),
        others=(_KUBEADM,) if facts.kubelet_config is not None else (),
    )
    declared_all = facts.kubelet_config
    if isinstance(declared_all, Unknown):
        partial = partial.remark(declared_all.reason)
    elif declared_all is not None:
        settings = by_configuration(declared_all)
        partial = bounded(facts, partial, settings, _KUBEADM, f"data[kubelet] {_FIELDS}", lever, version)
    found = snapshot.get(KUBELET_CONFIGZ, node) if KUBELET_CONFIGZ in snapshot.objects else None
    if found is None:
        reason = "no configz was read (adhere rbac --with configz)"
        return replace(partial, lever=partial.lever or lever).remark(
            f"the kubelet's settings on {node} are unknown: {reason}"
        )
    own = by_configuration(Configz.of(found).configuration)
    if declared_all is not None and not isinstance(declared_all, Unknown):
        declared = by_configuration(declared_all)
        if not declared.equals(own):
            partial = partial.remark(f"drift: {_KUBEADM} says {declared.said}; configz of Node/{node} says {own.said}")
    return bounded(facts, partial, own, f"Node/{node}", f"configz {_FIELDS}", lever, version)


# --- NodePools -------------------------------------------------------------------------------------------------------


def _node_pool_of(facts: Facts, node_name: str) -> Known[_Located]:
    """The NodePool that a node belongs to."""
    pools = facts.once(_ours)
    if not pools:
        hosting = (each for each in facts.hosts if each.every(HOSTED_CLUSTER))
        gap = next(filter(None, (each.gap(NODE_POOL) for each in hosting)), None)
        return Unknown(f"NodePools could not be read: {gap}") if gap else _ELSEWHERE
    node = facts.snapshot.get(NODE, node_name)
    if node is None:
        gap = facts.snapshot.gap(NODE) or "there is no such node"
        return Unknown(f"the NodePool of Node/{node_name} is unknown: {gap}")
    name = node.labels.get(kubelet.NODE_POOL_LABEL, "")
    if not name:
        return Unknown(f"the NodePool of {node.reference} is unknown: the node has no {_LABEL}")
    found = [each for each in pools if each[1].name == name]
    if not found:
        return Unknown(f"{node.reference} belongs to NodePool {name}, which was not found")
    only, *others = found
    if not others:
        return only
    several = ", ".join(str(pool.reference) for _, pool in found[:5])
    return Unknown(f"{node.reference} belongs to one of several NodePools that have the same name: {several}")


def _ours(facts: Facts) -> tuple[_Located, ...]:
    """The NodePools of this cluster. In another snapshot the HostedCluster must have this cluster's id (HyperShift
    copies ``HostedCluster.spec.clusterID`` to ClusterVersion); in its own snapshot the id may be missing."""
    every = ((host, pool) for host in facts.hosts for pool in host.every(NODE_POOL))
    return tuple((host, pool) for host, pool in every if _hosts(host, pool, facts.snapshot))


def _hosts(host: Snapshot, pool: KubeObject, guest: Snapshot) -> bool:
    hosted = host.get(HOSTED_CLUSTER, NodePool.of(pool).cluster_name, pool.namespace)
    cluster_id, own = HostedCluster.of(hosted).cluster_id if hosted else "", identity(guest)
    return cluster_id == own if cluster_id and own else host is guest


def _config_of_pool(host: Snapshot, pool: KubeObject) -> Known[KubeletConfig | None]:
    """The KubeletConfig of a pool as its ConfigMap has it; None where no ConfigMap of the pool has one."""
    found: list[KubeletConfig] = []
    for link in references.links(pool):
        namespace = link.namespace or ""
        config_map = host.get(CONFIG_MAP, link.name, namespace)
        called = f"ConfigMap/{namespace}/{link.name}"
        if config_map is None:
            gap = host.missing(CONFIG_MAP, link.name, namespace) or "there is no such ConfigMap"
            return Unknown(f"{called}, to which {pool.reference} refers, is unknown: {gap}")
        text = ConfigMap.of(config_map).data.get(kubelet.MANIFESTS, "")
        if not text:
            return Unknown(f"{called}, to which {pool.reference} refers, has no data[{kubelet.MANIFESTS}]")
        try:
            configs = list(kubelet.in_manifests(text))
        except InputError:
            return Unknown(f"{called}, to which {pool.reference} refers, is not valid YAML or too long")
        name = {"name": config_map.name, "namespace": config_map.namespace}
        found += [KubeletConfig({"metadata": name, "spec": each.spec}, CONFIG_MAP) for each in configs]
    if len(found) > 1:
        several = ", ".join(str(each.reference) for each in found[:5])
        return Unknown(f"{pool.reference} has several KubeletConfigs, but HyperShift allows one: {several}")
    return next(iter(found), None)
