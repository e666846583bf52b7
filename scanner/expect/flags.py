"""Static pods of kubeadm: what their flags say, and Go's defaults where they say nothing."""

from __future__ import annotations

from dataclasses import replace

from scanner.expect import process
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.kube.kinds import POD
from scanner.kube.objects import KubeObject
from scanner.model.known import Unknown

_FLAGS = {"etcd": process.ETCD}
"""By component; the others are Kubernetes' own programs."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """A component that flags govern owes what they say; where they are silent, what the user asks of everybody."""
    if draft.entry is None or draft.entry.governor != "flags":
        return draft
    pod = _pod(facts, draft)
    if pod is None:
        return _unseen(facts, draft)
    flags = _FLAGS.get(draft.entry.component, process.COMPONENT_BASE)
    told, source = process.by_flags(pod, flags), str(pod.reference)
    field = f"--{flags.minimum}, --{flags.suites}"
    if not told.anything and not isinstance(draft.profile, Unknown):
        return draft.says(source, field, "not set: what is owed otherwise stands")
    found = process.profile(told, source, facts.snapshot.origin.git_version)
    notes = () if isinstance(found, Unknown) else found.notes
    said = told.said if told.anything else "not set, which means Go's defaults: TLS 1.2 and later"
    return replace(draft.owes(found, source, field, said), binding="must-follow").remark(*notes)


def _pod(facts: Facts, draft: Draft) -> KubeObject | None:
    """The pod that listens; any of the component's, where the endpoint does not say which."""
    endpoint, entry = draft.endpoint, draft.entry
    if endpoint.pod is not None:
        return facts.snapshot.get(POD, endpoint.pod.name, endpoint.pod.namespace)
    names = {endpoint.owner.name, entry.component if entry else ""}
    for pod in facts.static_pods:
        mine = pod.labels.get("component") in names and pod.namespace == endpoint.owner.namespace
        if mine and endpoint.node in (None, pod.text("spec", "nodeName")):
            return pod
    return None


def _unseen(facts: Facts, draft: Draft) -> Draft:
    gap = facts.snapshot.gap(POD) or "its pod is not among the cluster's objects"
    reason = f"the flags of {draft.endpoint.owner.name} could not be read: {gap}"
    if isinstance(draft.profile, Unknown):
        return draft.owes(Unknown(reason), "Pod", "--tls-min-version, --tls-cipher-suites", "could not be read")
    return draft.remark(reason)
