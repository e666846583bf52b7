"""The kubelet: KubeletConfig by way of MachineConfigPools, in a hosted cluster by way of NodePools, else the cluster's
profile. On plain Kubernetes the profile that is asked for, tightened by kubeadm's kubelet-config and by configz.

machine-config-operator ``pkg/controller/kubelet-config`` and ``pkg/controller/common/helpers.go``. It never asks for
``tlsAdherence`` and knows no groups.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from scanner.expect import node_pools, process
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.release import meaning, minor, of_kubelet
from scanner.expect.rollout import settling
from scanner.kube.kinds import KUBELET_CONFIG as KUBELET_CONFIGS
from scanner.kube.kinds import MACHINE_CONFIG_POOL, NODE
from scanner.kube.kubelet import (
    MANIFESTS,
    Configz,
    KubeletConfig,
    MachineConfigPool,
    Node,
    kubelet_configs,
    pool_of,
    updating,
)
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import changed, condition
from scanner.kube.objects import KubeObject
from scanner.kube.tls_profile import KUBELET_CONFIG, PROFILE, Declared, Profile, declared
from scanner.model.expectation import Because, Lever
from scanner.model.unlisted_kinds import KUBELET_CONFIGZ

_FIELD = ".".join(PROFILE)
_RAW = "spec.kubeletConfig"
_FIELDS = "tlsMinVersion, tlsCipherSuites"
_KUBEADM = "ConfigMap/kube-system/kubelet-config"
_MANIFESTS = f"data[{MANIFESTS}]."
_POOL_TAKES = timedelta(hours=24)
"""A pool of some hundred nodes that are drained one by one needs that long."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """What the kubelet of a node owes."""
    if draft.entry is None or draft.entry.governor != "kubelet":
        return draft
    name = draft.endpoint.node or draft.endpoint.owner.name
    node = facts.snapshot.get(NODE, name)
    if not facts.is_openshift:
        return _plain(facts, draft, name)
    if _without_pools(facts):
        return _hosted(facts, draft, name)
    if node is None:
        gap = facts.snapshot.gap(NODE) or "there is no such node"
        return draft.owes(Unknown(f"the pool of Node/{name} is not known: {gap}"), f"Node/{name}", "", "unknown")
    return _of_node(facts, _of_release(facts, draft, node), node)


def _without_pools(facts: Facts) -> bool:
    """Whether the control plane is hosted elsewhere."""
    snapshot = facts.snapshot
    if MACHINE_CONFIG_POOL in snapshot.absent and KUBELET_CONFIGS in snapshot.absent:
        return True
    return facts.is_guest and not snapshot.gap(MACHINE_CONFIG_POOL) and not snapshot.every(MACHINE_CONFIG_POOL)


def _of_release(facts: Facts, draft: Draft, node: KubeObject) -> Draft:
    """An older kubelet means by a profile's name what its own release means."""
    version = Node.of(node).kubelet_version
    own = of_kubelet(version)
    if own is None or isinstance(draft.release, Unknown):
        return draft
    kubelet, cluster = minor(own), minor(draft.release)
    if kubelet is None or cluster is None or cluster[0] != 4 or kubelet >= cluster:
        return draft
    step = Because(source=str(node.reference), field="status.nodeInfo.kubeletVersion", said=f"{version}: {own}")
    draft = replace(draft, release=own, other_release=None, because=(*draft.because, step))
    return facts.cluster.onto(draft)


def _of_node(facts: Facts, draft: Draft, node: KubeObject) -> Draft:
    pool = pool_of(facts.snapshot, node)
    if isinstance(pool, Unknown):
        return draft.owes(pool, str(node.reference), "metadata.labels", pool.reason)
    draft = draft.says(str(pool.reference), "spec.nodeSelector", f"selects {node.reference}")
    if gap := facts.snapshot.gap(KUBELET_CONFIGS):
        return draft.owes(Unknown(f"KubeletConfig could not be read: {gap}"), "KubeletConfig", _FIELD, "unknown")
    configs = kubelet_configs(facts.snapshot, pool)
    if configs:
        draft = _configured(draft, configs[-1])
    else:
        draft = draft.says("KubeletConfig", _FIELD, f"none for {pool.reference}, so the cluster's profile stands")
    for config in configs[:-1]:
        draft = draft.remark(f"{config.reference} is for {pool.reference} too, and the last of them counts")
    return _rolling(facts, draft, pool, node)


def _hosted(facts: Facts, draft: Draft, name: str) -> Draft:
    """A guest of HyperShift: its nodes are configured where its control plane is."""
    found = node_pools.pool_of(facts, name)
    if isinstance(found, Unknown):
        said = "not in this cluster" if found == node_pools.ELSEWHERE else "unknown"
        return draft.owes(found, "NodePool", "spec.config", said)
    host, pool = found
    node = facts.snapshot.get(NODE, name)
    draft = _of_release(facts, draft, node) if node else draft
    draft = draft.says(f"Node/{name}", node_pools.LABEL, f"belongs to {pool.reference}")
    config = node_pools.kubelet_config(host, pool)
    if isinstance(config, Unknown):
        return draft.owes(config, str(pool.reference), "spec.config", "unknown")
    if config is None:
        draft = draft.says(str(pool.reference), "spec.config", "no KubeletConfig, so the cluster's profile stands")
    else:
        draft = _configured(draft, config, _MANIFESTS)
    at_work = condition(pool, "UpdatingConfig")
    if at_work is None or not at_work.holds:
        return draft
    said = at_work.message or "True"
    return settling(facts, draft, str(pool.reference), "status.conditions", said, at_work.since, _POOL_TAKES)


def _configured(draft: Draft, config: KubeletConfig, within: str = "") -> Draft:
    """``spec.kubeletConfig`` is merged over what the profile gives (``generateKubeletIgnFiles``). ``within``: the field
    that holds the KubeletConfig."""
    source, field = str(config.reference), f"{within}{_FIELD}"
    draft = replace(draft, lever=Lever(where=source, field=field, applied_by="kubelet"))
    told = process.by_configuration(config.configuration)
    own = _declared(draft.release, config)
    if own.profile is None:
        draft = draft.says(source, field, own.said).remark(*own.remarks)
    else:
        draft = draft.declares(
            source,
            field,
            lambda release: _declared(release, config),
            changed=changed(config, PROFILE),
        )
    if not told.anything:
        return draft
    found = _merged(process.profile(told, source, ""), draft.profile, told)
    draft = draft.owes(found, source, f"{within}{_RAW}.tlsMinVersion, tlsCipherSuites", told.said)
    return replace(draft, changed=changed(config, tuple(_RAW.split("."))))


def _declared(release: Known[str], config: KubeletConfig) -> Declared:
    return declared(config, PROFILE, KUBELET_CONFIG, str(config.reference), meaning(release))


def _merged(found: Known[Profile], under: Known[Profile], told: process.Told) -> Known[Profile]:
    """What is not set in ``kubeletConfig`` stays what the profile gave."""
    if isinstance(found, Unknown) or isinstance(under, Unknown):
        return found if isinstance(found, Unknown) or (told.minimum and told.suites) else under
    minimum = found.min_version if told.minimum else under.min_version
    return replace(found, min_version=minimum, suites=found.suites if told.suites else under.suites)


def _rolling(facts: Facts, draft: Draft, pool: MachineConfigPool, node: KubeObject) -> Draft:
    change = updating(pool, node)
    if change is None:
        return draft
    why, since = change
    return settling(facts, draft, str(pool.reference), "status.conditions", why, since, _POOL_TAKES)


def _plain(facts: Facts, draft: Draft, node: str) -> Draft:
    """Without OpenShift: what kubeadm's ConfigMap says for all kubelets, and what configz says of this one."""
    snapshot, version = facts.snapshot, facts.snapshot.origin.git_version
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
        draft = draft.remark(declared_all.reason)
    elif declared_all is not None:
        told = process.by_configuration(declared_all)
        draft = process.bounded(draft, told, _KUBEADM, f"data[kubelet] {_FIELDS}", lever, version)
    found = snapshot.get(KUBELET_CONFIGZ, node) if KUBELET_CONFIGZ in snapshot.objects else None
    if found is None:
        reason = "no configz was read (adhere rbac --with configz)"
        return replace(draft, lever=draft.lever or lever).remark(f"what the kubelet on {node} runs with: {reason}")
    own = process.by_configuration(Configz.of(found).configuration)
    if declared_all is not None and not isinstance(declared_all, Unknown):
        said = process.by_configuration(declared_all)
        if (said.minimum, set(said.suites)) != (own.minimum, set(own.suites)):
            draft = draft.remark(f"drift: {_KUBEADM} says {said.said}; configz of Node/{node} says {own.said}")
    return process.bounded(draft, own, f"Node/{node}", f"configz {_FIELDS}", lever, version)
