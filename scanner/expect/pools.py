"""From a node to its MachineConfigPool, and to the KubeletConfig that counts there.

As machine-config-operator does it: ``pkg/helpers`` (pools of a node) and ``pkg/controller/kubelet-config``.
"""

from __future__ import annotations

from datetime import datetime

from scanner.kube.conditions import Condition, condition
from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.label_selector import is_empty, selects
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.model.kubelet_pools import in_order, is_for

CURRENT = "machineconfiguration.openshift.io/currentConfig"
_DEGRADED = ("Degraded", "NodeDegraded", "RenderDegraded")
DESIRED = "machineconfiguration.openshift.io/desiredConfig"


def pool_of(snapshot: Snapshot, node: KubeObject) -> Known[KubeObject]:
    """The pool of a node: control plane before all others, a custom pool before ``worker``."""
    if gap := snapshot.gap(MACHINE_CONFIG_POOL):
        return Unknown(f"the pool of {node.reference} is not known: {gap}")
    found = {
        pool.name: pool
        for pool in snapshot.every(MACHINE_CONFIG_POOL)
        if _selects(pool.fields("spec", "nodeSelector"), node)
    }
    for name in ("master", "arbiter"):
        if name in found:
            return found[name]
    custom = sorted(set(found) - {"worker"})
    if len(custom) > 1:
        return Unknown(f"{node.reference} belongs to several custom pools: {', '.join(custom[:5])}")
    name = custom[0] if custom else "worker"
    if name not in found:
        return Unknown(f"no MachineConfigPool selects {node.reference}")
    return found[name]


def kubelet_configs(snapshot: Snapshot, pool: KubeObject) -> tuple[KubeObject, ...]:
    """Every KubeletConfig of a pool, the one that counts last."""
    return in_order(each for each in snapshot.every(KUBELET_CONFIG) if is_for(each, pool))


def _selects(selector: Fields, each: KubeObject) -> bool:
    """An empty selector selects nothing."""
    return not is_empty(selector) and selects(selector, each.labels)


def updating(pool: KubeObject, node: KubeObject) -> tuple[str, datetime | None] | None:
    """Why the node may still run what was before, and since when; None where it has what the pool wants, or where the
    pool does not bring it there: it is paused, says that it is degraded, or is not at work."""
    updated, rolling = condition(pool, "Updated"), condition(pool, "Updating")
    at_work = (rolling is not None and rolling.holds) or (rolling is None and updated is not None and not updated.holds)
    degraded = any((found := condition(pool, each)) is not None and found.holds for each in _DEGRADED)
    if pool.flag("spec", "paused") or degraded or not at_work:
        return None
    wanted, current = pool.text("spec", "configuration", "name"), node.annotations.get(CURRENT, "")
    desired = node.annotations.get(DESIRED, "")
    since = _since(rolling, updated)
    if current and desired and current != desired:
        return f"{node.reference} runs {current}, and is to run {desired}", since
    if current and wanted:
        return (f"{node.reference} runs {current}, and the pool wants {wanted}", since) if current != wanted else None
    return f"{pool.reference} is being updated", since


def _since(*conditions: Condition | None) -> datetime | None:
    known = [each.since for each in conditions if each is not None and each.since is not None]
    return max(known, default=None)
