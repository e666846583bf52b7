"""Ownership of a listener: the platform, a layered product or a user. It decides whom the cluster binds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TypeAlias

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.kube.kinds import CLUSTER_SERVICE_VERSION, DAEMON_SET, DEPLOYMENT, POD, SERVICE, STATEFUL_SET
from scanner.kube.objects import KubeObject
from scanner.kube.service import service_of
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Standing

_OLM_OWNER = "olm.owner"
"""Label that OLM puts on what it installs for a ClusterServiceVersion."""

_WORKLOADS = {kind.name: kind for kind in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)}

_Verdict: TypeAlias = tuple[Standing, str, str, str]
"""The standing; and source, field and words of the reason."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The standing, with the reason for it."""
    endpoint = draft.endpoint
    standing, source, field, said = _standing(facts, draft)
    draft = replace(draft, standing=standing).says(source, field, said)
    if standing == "user" and (unseen := _unseen(facts, endpoint)):
        draft = draft.says(*unseen)
    gap = facts.snapshot.gap(CLUSTER_SERVICE_VERSION)
    if gap and standing != "layered" and draft.entry is None and endpoint.owner.namespace:
        return draft.remark(f"whether OLM installed it, as a layered product, is not known: {gap}")
    return draft


def _standing(facts: Facts, draft: Draft) -> _Verdict:
    """The first that knows it."""
    endpoint = draft.endpoint
    for selector in facts.policy.layered:
        if selector.matches(endpoint):
            return "layered", facts.policy.source, "layered", "a layered product"
    return _by_catalogue(facts, draft) or _by_olm(facts, draft) or _by_place(facts, draft)


def _by_catalogue(facts: Facts, draft: Draft) -> _Verdict | None:
    entry = draft.entry
    if entry is None:
        return None
    component = facts.catalogue.component(entry.component)
    if component is not None and not component.platform:
        return "layered", "component catalogue", entry.component, "a layered product"
    return "platform", "component catalogue", f"{entry.component}/{entry.listener}", "part of the platform"


def _by_olm(facts: Facts, draft: Draft) -> _Verdict | None:
    owner = draft.endpoint.owner
    version = facts.installed.get((owner.namespace or "", owner.name)) if owner.kind == "Deployment" else None
    if version is not None:
        return "layered", version, "spec.install.spec.deployments", f"installs {owner.name}: a layered product"
    if _OLM_OWNER in dict(draft.endpoint.labels):
        return "layered", f"{owner.kind}/{owner.name}", f"metadata.labels[{_OLM_OWNER}]", "a layered product"
    return _as_operand(facts, draft.endpoint) if facts.owned_kinds else None


def _as_operand(facts: Facts, endpoint: Endpoint) -> _Verdict | None:
    """What an object of a layered product owns: by the ownerReferences of the pod, of the workload where it was read,
    and of the Services that lead there."""
    for each in _owned(facts.snapshot, endpoint):
        for owner in each.owner_references:
            version = facts.owned_kinds.get((owner.group, owner.kind))
            if version is not None:
                said = f"owns the kind of {owner.kind}/{owner.name}, which owns {each.reference}"
                return "layered", version, "spec.customresourcedefinitions.owned", f"{said}: a layered product"
    return None


def _owned(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[KubeObject]:
    owner, pod = endpoint.owner, endpoint.pod
    found = [snapshot.get(POD, pod.name, pod.namespace)] if pod else []
    workload = _WORKLOADS.get(owner.kind)
    if workload is not None and workload in snapshot.objects:
        found.append(snapshot.get(workload, owner.name, owner.namespace))
    found += [snapshot.get(SERVICE, owner.name, owner.namespace)] if owner.kind == SERVICE.name else []
    led = (service_of(snapshot, host) for host in endpoint.alias_hosts)
    found += [each for each in led if each is not None and each.namespace == owner.namespace]
    yield from filter(None, found)


def _unseen(facts: Facts, endpoint: Endpoint) -> tuple[str, str, str] | None:
    """Source, field and words of why it may be an operand all the same; None: what owns the workload is known."""
    owner, snapshot = endpoint.owner, facts.snapshot
    kind = _WORKLOADS.get(owner.kind)
    if kind is None or not facts.owned_kinds:
        return None
    if kind not in snapshot.objects:
        gap: str | None = f"{kind.plural} are not read"
    else:
        gap = snapshot.gap(kind) if snapshot.get(kind, owner.name, owner.namespace) is None else None
    said = f"not visible ({gap}): if a layered product's object owns it, it is layered, and not a user's"
    return (f"{owner.kind}/{owner.namespace}/{owner.name}", "metadata.ownerReferences", said) if gap else None


def _by_place(facts: Facts, draft: Draft) -> _Verdict:
    owner, namespace = draft.endpoint.owner, draft.endpoint.owner.namespace
    if namespace in facts.hosted:
        return "platform", facts.hosted[namespace].source, "", "part of the control plane that it describes"
    if namespace is None and owner.kind == "Node":
        return "platform", f"Node/{owner.name}", "", "a process of the node"
    if namespace is None and owner.kind == "Router" and facts.is_openshift:
        return "platform", f"Router/{owner.name}", "", "one of the platform's routers, by the status of a Route"
    for pattern in facts.catalogue.platform_namespaces:
        if namespace is not None and fnmatchcase(namespace, pattern):
            return "platform", f"Namespace/{namespace}", "metadata.name", f"a platform's namespace ({pattern})"
    where = f"Namespace/{namespace}" if namespace else f"{owner.kind}/{owner.name}"
    return "user", where, "metadata.name", "a user's workload: neither the platform's nor installed by OLM"
