"""Processes outside of OpenShift (kubeadm's static pods): flags tighten what is asked for, and never loosen it."""

from __future__ import annotations

from scanner.expect import process
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.kube.kinds import POD
from scanner.kube.pod import Pod
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Lever

FLAGS = {"etcd": process.ETCD}
"""By component; the others are Kubernetes' own programs."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile that is asked for, tightened by what the flags of the process say."""
    if draft.entry is None or draft.entry.governor != "flags":
        return draft
    flags = FLAGS.get(draft.entry.component, process.COMPONENT_BASE)
    pod = pod_of(facts, draft.endpoint)
    if pod is None:
        gap = facts.snapshot.gap(POD) or "its pod is not among the cluster's objects"
        return draft.remark(f"the flags of {draft.endpoint.owner.name} could not be read: {gap}")
    told = process.by_flags(pod, flags)
    lever = _lever(pod, draft.entry.component, draft.endpoint, flags)
    return process.bounded(
        draft,
        told,
        str(pod.reference),
        f"--{flags.minimum}, --{flags.suites}",
        lever,
        facts.snapshot.origin.git_version,
    )


def _lever(pod: Pod, component: str, endpoint: Endpoint, flags: process.Flags) -> Lever:
    """A static pod's flags are in a file of its node, where the kubelet reads them; others' in their owner."""
    static = pod.is_static
    containers = [each.name for each in pod.spec.containers]
    owner = endpoint.owner
    return Lever(
        where=str(pod.reference) if static else "/".join(filter(None, (owner.kind, owner.namespace, owner.name))),
        container=component if component in containers else next(iter(containers), ""),
        minimum=f"--{flags.minimum}",
        suites=f"--{flags.suites}",
        spelling="etcd" if flags is process.ETCD else "component-base",
        files=(f"/etc/kubernetes/manifests/{component}.yaml",) if static else (),
        others=("ConfigMap/kube-system/kubeadm-config",) if static else (),
    )


def pod_of(facts: Facts, endpoint: Endpoint) -> Pod | None:
    """The pod that listens; any of the component's, where the endpoint does not say which."""
    if endpoint.pod is not None:
        found = facts.snapshot.get(POD, endpoint.pod.name, endpoint.pod.namespace)
        return Pod.of(found) if found else None
    entry = facts.entry(endpoint)
    names = {endpoint.owner.name, entry.component if entry else ""}
    for pod in facts.static_pods:
        mine = pod.labels.get("component") in names and pod.namespace == endpoint.owner.namespace
        if mine and endpoint.node in (None, pod.spec.node_name):
            return pod
    return None
