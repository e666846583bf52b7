"""Whether what was decided has been rolled out: ClusterOperators, revisions, pools; and what only commands show."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from scanner.doctor.operators import observer
from scanner.doctor.patient import Patient
from scanner.expect.rollout import OPERATOR_TAKES
from scanner.kube.kinds import CLUSTER_OPERATOR, MACHINE_CONFIG_POOL, NODE
from scanner.kube.kubelet import MachineConfigPool, pool_of, updating
from scanner.kube.maybe import Unknown
from scanner.kube.meta import Condition, condition
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import NodeStatus, OperatorConfig
from scanner.model.diagnosis import Answer

_CONDITIONS = ("Available", "Progressing", "Degraded")
_NOT_THERE = {
    "hosted": "the operators of a hosted control plane are in its namespace, and report in the guest cluster",
    "microshift": "MicroShift has no ClusterOperators",
    "kubernetes": "only OpenShift has ClusterOperators",
}
_MOST = 5
"""Nodes named."""


def conditions(patient: Patient) -> Answer:
    """What the component's operator says of its own work."""
    if patient.world in _NOT_THERE:
        return Answer(outcome="not-applicable", said=(_NOT_THERE[patient.world],))
    if not patient.operator:
        return Answer(outcome="not-applicable", said=("no ClusterOperator is known to report on it",))
    snapshot = patient.facts.snapshot
    found = snapshot.get(CLUSTER_OPERATOR, patient.operator)
    if found is None:
        reason = snapshot.gap(CLUSTER_OPERATOR) or "there is none of that name"
        return Answer(outcome="unknown", said=(f"ClusterOperator/{patient.operator}: {reason}",))
    said = [each for name in _CONDITIONS if (each := condition(found, name)) is not None]
    if not said:
        return Answer(outcome="unknown", said=(f"{found.reference} has no conditions",))
    return _judged(patient, found, said)


def _judged(patient: Patient, found: KubeObject, said: list[Condition]) -> Answer:
    words = tuple(f"{each.type}={each.status}{': ' + each.message if each.message else ''}" for each in said)
    states = {each.type: each for each in said}
    ill = any(
        name in states and states[name].status == bad for name, bad in (("Available", "False"), ("Degraded", "True"))
    )
    if ill and patient.follows:
        return Answer(outcome="ok", said=(*words, "not because of this: every listener serves what is required"))
    if ill:
        return Answer(outcome="stopped", said=(str(found.reference), *words))
    progressing = states.get("Progressing")
    if progressing is not None and progressing.holds and not patient.follows:
        since = progressing.since
        late = since is not None and patient.facts.snapshot.taken_at - since > OPERATOR_TAKES
        when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
        why = f"at work{when}" + (", longer than any rollout takes" if late else ": a change is on its way")
        return Answer(outcome="stopped" if late else "unknown", said=(*words, why))
    return Answer(outcome="ok", said=words)


def conditions_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    if patient.world in _NOT_THERE or not patient.operator:
        return ()
    return (f"oc get clusteroperator {quote(patient.operator)} -o yaml",)


# --- rollout ---------------------------------------------------------------------------------------------------------


def rollout(patient: Patient) -> Answer:
    """Whether the newest configuration is on every node, as far as an object says so."""
    if patient.component == "kubelet" or patient.operator == "machine-config":
        return _pools(patient)
    found = observer(patient)
    each = patient.facts.snapshot.get(found.kind, "cluster") if found and found.static else None
    if each is not None and OperatorConfig.of(each).node_statuses:
        return _revisions(OperatorConfig.of(each))
    if patient.world == "microshift":
        return Answer(outcome="not-read", said=("it takes the file's profile when it is started again",))
    if each is not None:
        return Answer(outcome="not-read", said=(f"{each.reference} has no status.nodeStatuses that name revisions",))
    return Answer(outcome="not-read", said=("the rollout of workloads is not read; the ClusterOperator reports on it",))


def _revisions(each: OperatorConfig) -> Answer:
    """``status.nodeStatuses`` of an operator of static pods (openshift/api ``operator/v1/types.go``)."""
    newest = each.latest_revision
    behind = [node for node in each.node_statuses if node.current_revision != newest]
    if newest is None:
        return Answer(outcome="unknown", said=(f"{each.reference} does not say which revision is the newest",))
    if not behind:
        return Answer(outcome="ok", said=(f"{each.reference}: every node runs revision {newest}",))
    failed = [node for node in behind if node.last_failed_revision == newest]
    said = tuple(_node(node, newest) for node in behind[:_MOST])
    return Answer(outcome="stopped" if failed else "unknown", said=(str(each.reference), *said))


def _node(node: NodeStatus, newest: int) -> str:
    failed = node.last_failed_revision == newest
    errors = "; ".join(node.last_failed_revision_errors[:2])[:300]
    at = f"{node.node_name}: revision {node.current_revision}, and {newest} is the newest"
    if (target := node.target_revision or 0) > (node.current_revision or 0):
        at += f", {target} is being installed"
    return at + (f": that failed{': ' + errors if errors else ''}" if failed else "")


def _pools(patient: Patient) -> Answer:
    snapshot = patient.facts.snapshot
    if MACHINE_CONFIG_POOL in snapshot.absent:
        return Answer(outcome="not-applicable", said=("this cluster has no MachineConfigPools",))
    if patient.world == "hypershift":
        return Answer(outcome="not-applicable", said=("the nodes of a guest cluster are rolled out by its NodePools",))
    if gap := snapshot.gap(MACHINE_CONFIG_POOL) or snapshot.gap(NODE):
        return Answer(outcome="unknown", said=(f"pools and nodes could not be read: {gap}",))
    said, stopped = list(_ill_pools(patient)), True
    if not said:
        said, stopped = list(_behind(patient)), False
    if not said:
        return Answer(outcome="ok", said=("every node runs what its pool wants",))
    return Answer(outcome="stopped" if stopped else "unknown", said=tuple(said[:_MOST]))


def _nodes(patient: Patient) -> list[KubeObject]:
    names = dict.fromkeys(each.runs_on or each.node for each in patient.endpoints)
    return [found for name in names if name and (found := patient.facts.snapshot.get(NODE, name))]


def _ill_pools(patient: Patient) -> Iterator[str]:
    """Pools that will not get on by themselves."""
    pools = [pool_of(patient.facts.snapshot, node) for node in _nodes(patient)]
    for pool in {each.name: each for each in pools if isinstance(each, MachineConfigPool)}.values():
        degraded, updated = condition(pool, "Degraded"), condition(pool, "Updated")
        if degraded is not None and degraded.holds:
            yield f"{pool.reference} Degraded=True{': ' + degraded.message if degraded.message else ''}"
        elif pool.paused and updated is not None and not updated.holds:
            yield f"{pool.reference} spec.paused is true, and not every node has what it wants"


def _behind(patient: Patient) -> Iterator[str]:
    for node in _nodes(patient):
        pool = pool_of(patient.facts.snapshot, node)
        if isinstance(pool, Unknown):
            yield pool.reason
        elif found := updating(pool, node):
            yield found[0]


def rollout_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    if patient.world == "microshift":
        return ("systemctl status microshift",)
    if (patient.component == "kubelet" or patient.operator == "machine-config") and patient.world == "openshift":
        return ("oc get machineconfigpool -o wide",)
    found = observer(patient)
    if found is not None and found.static:
        return (f"oc get {found.kind.resource} cluster -o jsonpath='{{.status.nodeStatuses}}'",)
    rolled = ("Deployment", "DaemonSet", "StatefulSet")
    return tuple(
        f"{patient.oc} rollout status -n {quote(each.namespace or '')} {each.kind.lower()}/{quote(each.name)}"
        for each in list(patient.workloads)[:_MOST]
        if each.kind in rolled
    )
