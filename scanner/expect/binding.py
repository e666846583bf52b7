"""The cluster's profile for a listener, and whether it is enforced there.

The cluster's profile comes first. The listener's owner, its governing object and ``tlsAdherence`` decide whether it is
enforced. The overrides of the policy file come last: another profile for some endpoints, each with a justification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from scanner.expect.authority import Authority
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial, same_profile
from scanner.expect.release import minor
from scanner.kube.api_server import Adherence
from scanner.kube.kinds import (
    CLUSTER_OPERATOR,
    CLUSTER_SERVICE_VERSION,
    DAEMON_SET,
    DEPLOYMENT,
    POD,
    SERVICE,
    STATEFUL_SET,
)
from scanner.kube.maybe import Unknown
from scanner.kube.meta import condition
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ClusterOperator
from scanner.kube.service import service_of
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Because, Binding, Lever, Standing
from scanner.model.scan_policy import Override
from scanner.values import replace

_ALWAYS: Mapping[str, str] = {
    "apiserver": "follows the cluster's profile whatever tlsAdherence says",
    "kubelet": "follows KubeletConfig, else the cluster's profile, whatever tlsAdherence says",
    "ingress": "follows its IngressController, else the cluster's profile, whatever tlsAdherence says",
    "backend": "passes connections on to what follows the cluster's profile",
    "flags": "follows its own flags",
}
"""Governors that ignore ``tlsAdherence`` (from the source of each operator), with the reason for the user."""

_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition")
_API = "APIService"
_MONITORS = ("ServiceMonitor", "PodMonitor")
_METRICS = ("metrics", "rbac-proxy")


def of_cluster(facts: Facts, partial: Partial) -> Partial:
    """The profile of every component without its own configuration."""
    authority = facts.authority(partial.endpoint)
    partial = _release(facts, partial, authority)
    partial = authority.onto(partial)
    partial = replace(
        partial, implementation=_implementation(partial, authority), lever=_lever_of_platform(partial, authority)
    )
    partial = partial.remark(*authority.remarks)
    either = partial.entry is not None and partial.entry.either_side and authority is not facts.cluster
    return _by_either(facts, partial) if either else partial


def _by_either(facts: Facts, partial: Partial) -> Partial:
    """For a hosted control plane, the enhancement's later text and the operator's code differ: what the hosting
    cluster's profile allows is no certain deviation."""
    host = facts.cluster
    found = host.declared(host.releases.desired).profile
    text = f"by the enhancement's later text, {host.source} {host.field} of the hosting cluster governs it"
    if found is None or isinstance(found, Unknown):
        return partial.remark(f"{text}, but its value is unknown")
    partial = partial.step(host.source, host.field, f"{found.name}, by the enhancement's later text, not by the code")
    same = not isinstance(partial.profile, Unknown) and same_profile(partial.profile, found)
    return partial if same else replace(partial, skewed=(*partial.skewed, found))


def operator(facts: Facts, partial: Partial) -> ClusterOperator | None:
    """The ClusterOperator that reports on the component."""
    component = facts.catalogue.component(partial.entry.component) if partial.entry else None
    if component is None or partial.endpoint.owner.namespace in facts.hosted:
        return None
    found = facts.snapshot.get(CLUSTER_OPERATOR, component.operator)
    return ClusterOperator.of(found) if found else None


def _release(facts: Facts, partial: Partial, authority: Authority) -> Partial:
    """The component's own release, if its operator reports it; during an upgrade it may be either of two."""
    releases = authority.releases
    partial = replace(partial, release=releases.desired, other_release=releases.previous)
    if releases.step is not None:
        partial = replace(partial, because=(*partial.because, releases.step))
    found = operator(facts, partial)
    if releases.previous is None or found is None or isinstance(releases.desired, Unknown):
        return partial
    versions = {each.name: each.version for each in found.versions}
    own, progressing = versions.get("operator"), condition(found, "Progressing")
    # An operator must not report the new version before all its operands have it (openshift/api ClusterOperator).
    settled = own == releases.desired or (own == releases.previous and not (progressing and progressing.holds))
    if own is None or not settled:
        return partial
    step = Because(source=str(found.reference), field="status.versions[operator]", said=own)
    return replace(partial, release=own, other_release=None, because=(*partial.because, step))


def _lever_of_platform(partial: Partial, authority: Authority) -> Lever | None:
    """The object from which the platform's operators configure their operands; None for other listeners."""
    if not authority.platform or partial.standing != "platform" or (partial.entry and partial.entry.governor == "own"):
        return None
    where, field = authority.place
    return Lever(where=where, field=field, applied_by=partial.entry.component if partial.entry else "")


def _implementation(partial: Partial, authority: Authority) -> str:
    """The implementation whose limits apply; ``other`` for an unknown program."""
    if partial.entry is None or partial.entry.governor in ("own", "ingress", "backend"):
        return "other"
    if partial.entry.component == "etcd":
        return "etcd"
    return authority.implementation


def bind(facts: Facts, partial: Partial) -> Partial:
    """Decide whether the cluster's profile is enforced for the listener."""
    if partial.standing == "user":
        return _of_users(facts, partial)
    if partial.entry is not None and _too_old(partial):
        since = partial.entry.honours_since
        text = (
            f"follows the cluster's profile since {since}, but its release is {partial.release}: not enforced "
            "(a deviation is reported, but does not change the exit code)"
        )
        return replace(partial, binding="not-enforced").step("component catalogue", partial.entry.component, text)
    adherence = facts.authority(partial.endpoint).adherence
    if adherence is None:
        return _of_microshift(partial) if facts.is_microshift else partial
    return _by_adherence(partial, adherence)


def _of_users(facts: Facts, partial: Partial) -> Partial:
    if facts.policy.user_workloads_bound:
        return partial.step(facts.policy.source, "userWorkloads", "the profile is enforced for user workloads too")
    text = (
        "the profile is not enforced for user workloads (userWorkloads in the policy file enforces it): "
        "a deviation is reported as readiness, and does not change the exit code"
    )
    return replace(partial, binding="not-enforced").step(facts.policy.source or "no policy file", "userWorkloads", text)


def _too_old(partial: Partial) -> bool:
    since = partial.entry.honours_since if partial.entry else None
    if since is None or isinstance(partial.release, Unknown):
        return False
    own, first = minor(partial.release), minor(since)
    return own is not None and first is not None and own < first


def _of_microshift(partial: Partial) -> Partial:
    """MicroShift's file applies to a fixed set of components, and adherence does not exist."""
    if partial.entry is not None and partial.entry.governor in _ALWAYS:
        return partial
    text = (
        "MicroShift's file does not apply to this component: not enforced "
        "(a deviation is reported, but does not change the exit code)"
    )
    source = "component catalogue" if partial.entry else f"{partial.endpoint.owner.kind}/{partial.endpoint.owner.name}"
    return replace(partial, binding="not-enforced").step(source, partial.entry.component if partial.entry else "", text)


def _by_adherence(partial: Partial, adherence: Adherence) -> Partial:
    governor = partial.entry.governor if partial.entry else ""
    partial = replace(partial, adherence=adherence.means).remark(*adherence.remarks)
    partial = partial.step(adherence.source, adherence.field, adherence.said, overridden=adherence.beat)
    binding: Binding
    if governor in _ALWAYS and partial.standing == "platform":
        binding, text = "must-follow", _ALWAYS[governor]
    elif adherence.strict:
        binding, text = "must-follow", "under strict adherence every component follows the cluster's profile"
    else:
        binding, text = (
            "not-enforced",
            (
                "legacy adherence does not enforce the cluster's profile for this component: "
                "a deviation is reported as readiness, and does not change the exit code"
            ),
        )
    source = "component catalogue" if partial.entry else "tlsAdherence"
    return replace(partial, binding=binding).step(source, partial.entry.component if partial.entry else "", text)


def override(facts: Facts, partial: Partial) -> Partial:
    """Apply the first override of the policy file that matches."""
    for each in facts.policy.overrides:
        if each.selector.matches(partial.endpoint):
            return _replaced(facts, partial, each)
    return partial


def _replaced(facts: Facts, partial: Partial, override: Override) -> Partial:
    profile = facts.overrides[override.profile]
    text = f"{profile.name}: {override.justification}"
    found = partial.requires(profile, override.source, "overrides", text)
    found = replace(
        found,
        binding="must-follow" if override.binding else "not-enforced",
        groups_configurable=True,
        stated_groups=None,
        settles_by=None,
        overridden=_role(partial),
        tls13_suites_configurable=False,
    )
    if found.overridden is None:
        return found
    rule = "such listeners should follow the cluster's profile, even with a justification"
    return found.remark(f"{override.source} overrides the profile of a {found.overridden} listener: {rule}")


def _role(partial: Partial) -> Literal["metrics", "webhook", "api"] | None:
    """The role of a listener for metrics, webhooks or an aggregated API, by its origins and its catalogue entry."""
    endpoint, entry = partial.endpoint, partial.entry
    subject = endpoint.subject.kind if endpoint.subject else ""
    listener = entry.listener if entry else ""
    leading = {each.reference.kind for each in endpoint.origins if each.reference and not each.foreign}
    if subject in _WEBHOOKS or "webhook" in listener or not leading.isdisjoint(_WEBHOOKS):
        return "webhook"
    if subject == _API or _API in leading:
        return "api"
    if any(each in listener for each in _METRICS) or not leading.isdisjoint(_MONITORS):
        return "metrics"
    return None


_OLM_OWNER = "olm.owner"
"""Label of the objects that OLM installs for a ClusterServiceVersion."""

_WORKLOADS = {kind.name: kind for kind in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)}

_Ownership: TypeAlias = tuple[Standing, str, str, str]
"""The owner's class, and source, field and text of the reason."""


def resolve(facts: Facts, partial: Partial) -> Partial:
    """Set the owner's class, with the reason."""
    endpoint = partial.endpoint
    standing, source, field, text = _owner(facts, partial)
    partial = replace(partial, standing=standing).step(source, field, text)
    if standing == "user" and (unseen := _unseen(facts, endpoint)):
        partial = partial.step(*unseen)
    gap = facts.snapshot.gap(CLUSTER_SERVICE_VERSION)
    if gap and standing != "layered" and partial.entry is None and endpoint.owner.namespace:
        return partial.remark(f"unknown whether OLM installed it as a layered product: {gap}")
    return partial


def _owner(facts: Facts, partial: Partial) -> _Ownership:
    endpoint = partial.endpoint
    for selector in facts.policy.layered:
        if selector.matches(endpoint):
            return "layered", facts.policy.source, "layered", "a layered product"
    return _by_catalogue(facts, partial) or _by_olm(facts, partial) or _by_place(facts, partial)


def _by_catalogue(facts: Facts, partial: Partial) -> _Ownership | None:
    entry = partial.entry
    if entry is None:
        return None
    component = facts.catalogue.component(entry.component)
    if component is not None and not component.platform:
        return "layered", "component catalogue", entry.component, "a layered product"
    return "platform", "component catalogue", f"{entry.component}/{entry.listener}", "part of the platform"


def _by_olm(facts: Facts, partial: Partial) -> _Ownership | None:
    owner = partial.endpoint.owner
    version = facts.installed.get((owner.namespace or "", owner.name)) if owner.kind == "Deployment" else None
    if version is not None:
        return "layered", version, "spec.install.spec.deployments", f"installs {owner.name}: a layered product"
    if _OLM_OWNER in dict(partial.endpoint.labels):
        return "layered", f"{owner.kind}/{owner.name}", f"metadata.labels[{_OLM_OWNER}]", "a layered product"
    return _as_operand(facts, partial.endpoint) if facts.owned_kinds else None


def _as_operand(facts: Facts, endpoint: Endpoint) -> _Ownership | None:
    """Operands of a layered product, by the ownerReferences of the pod, of the workload if it was read, and of the
    Services in front of it."""
    for each in _owned(facts.snapshot, endpoint):
        for owner in each.owner_references:
            version = facts.owned_kinds.get((owner.group, owner.kind))
            if version is not None:
                text = f"owns the kind of {owner.kind}/{owner.name}, which owns {each.reference}"
                return "layered", version, "spec.customresourcedefinitions.owned", f"{text}: a layered product"
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
    """Source, field and text of the reason why it may still be an operand; None if the workload's owner is known."""
    owner, snapshot = endpoint.owner, facts.snapshot
    kind = _WORKLOADS.get(owner.kind)
    if kind is None or not facts.owned_kinds:
        return None
    if kind not in snapshot.objects:
        gap: str | None = f"{kind.plural} were not read"
    else:
        gap = snapshot.gap(kind) if snapshot.get(kind, owner.name, owner.namespace) is None else None
    text = f"not visible ({gap}): if an object of a layered product owns it, it is layered and not a user workload"
    return (f"{owner.kind}/{owner.namespace}/{owner.name}", "metadata.ownerReferences", text) if gap else None


def _by_place(facts: Facts, partial: Partial) -> _Ownership:
    owner, namespace = partial.endpoint.owner, partial.endpoint.owner.namespace
    if namespace in facts.hosted:
        return "platform", facts.hosted[namespace].source, "", "part of this hosted control plane"
    if namespace is None and owner.kind == "Node":
        return "platform", f"Node/{owner.name}", "", "a process of the node"
    if namespace is None and owner.kind == "Router" and facts.is_openshift:
        return "platform", f"Router/{owner.name}", "", "one of the platform's routers, by the status of a Route"
    for pattern in facts.catalogue.platform_namespaces:
        if namespace is not None and fnmatchcase(namespace, pattern):
            return "platform", f"Namespace/{namespace}", "metadata.name", f"a namespace of the platform ({pattern})"
    where = f"Namespace/{namespace}" if namespace else f"{owner.kind}/{owner.name}"
    return "user", where, "metadata.name", "a user workload: not part of the platform, and not installed by OLM"
