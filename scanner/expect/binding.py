"""The profile that the cluster requires of a listener, and whether it binds the listener.

The cluster's profile comes first. It binds by the listener's owner, by what governs it and by ``tlsAdherence``. The
overrides of the policy file come last: another profile for some endpoints, each with its justification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from scanner.expect.authority import Authority
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft, same_profile
from scanner.expect.release import minor
from scanner.kube.api_server import Adherence
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.kube.maybe import Unknown
from scanner.kube.meta import condition
from scanner.kube.openshift import ClusterOperator
from scanner.model.components import Governor
from scanner.model.expectation import Because, Binding, Lever
from scanner.model.scan_policy import Override

_ALWAYS: Mapping[Governor, str] = {
    "apiserver": "follows the cluster's profile whatever tlsAdherence says",
    "kubelet": "follows KubeletConfig, else the cluster's profile, whatever tlsAdherence says",
    "ingress": "follows its IngressController, else the cluster's profile, whatever tlsAdherence says",
    "backend": "passes connections on to what follows the cluster's profile",
    "flags": "follows its own flags",
}
"""Governors that never ask for adherence (facts by reading each operator), and what that means."""

_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition")
_API = "APIService"
_MONITORS = ("ServiceMonitor", "PodMonitor")
_METRICS = ("metrics", "rbac-proxy")


def of_cluster(facts: Facts, draft: Draft) -> Draft:
    """The profile of every component without one of its own."""
    authority = facts.authority(draft.endpoint)
    draft = _release(facts, draft, authority)
    draft = authority.onto(draft)
    draft = replace(draft, implementation=_implementation(draft, authority), lever=_lever_of_platform(draft, authority))
    draft = draft.remark(*authority.remarks)
    either = draft.entry is not None and draft.entry.either_side and authority is not facts.cluster
    return _by_either(facts, draft) if either else draft


def _by_either(facts: Facts, draft: Draft) -> Draft:
    """Of a hosted control plane, where the enhancement's later text says what the operator's code does not: what the
    hosting cluster's settings allow is no certain deviation."""
    host = facts.cluster
    found = host.declared(host.releases.desired).profile
    text = f"{host.source} {host.field} of the cluster that hosts it governs it by the enhancement's later text"
    if found is None or isinstance(found, Unknown):
        return draft.remark(f"{text}, and what that says is not known")
    draft = draft.says(host.source, host.field, f"{found.name}, by the enhancement's later text, not by the code")
    same = not isinstance(draft.profile, Unknown) and same_profile(draft.profile, found)
    return draft if same else replace(draft, skewed=(*draft.skewed, found))


def operator(facts: Facts, draft: Draft) -> ClusterOperator | None:
    """The ClusterOperator that reports on the component."""
    component = facts.catalogue.component(draft.entry.component) if draft.entry else None
    if component is None or draft.endpoint.owner.namespace in facts.hosted:
        return None
    found = facts.snapshot.get(CLUSTER_OPERATOR, component.operator)
    return ClusterOperator.of(found) if found else None


def _release(facts: Facts, draft: Draft, authority: Authority) -> Draft:
    """The component's own release, where its operator says it; while a cluster is upgraded it may be either of two."""
    releases = authority.releases
    draft = replace(draft, release=releases.desired, other_release=releases.previous)
    if releases.step is not None:
        draft = replace(draft, because=(*draft.because, releases.step))
    found = operator(facts, draft)
    if releases.previous is None or found is None or isinstance(releases.desired, Unknown):
        return draft
    versions = {each.name: each.version for each in found.versions}
    own, progressing = versions.get("operator"), condition(found, "Progressing")
    # An operator must not report the new version before all that it operates has it (openshift/api ClusterOperator).
    settled = own == releases.desired or (own == releases.previous and not (progressing and progressing.holds))
    if own is None or not settled:
        return draft
    step = Because(source=str(found.reference), field="status.versions[operator]", said=own)
    return replace(draft, release=own, other_release=None, because=(*draft.because, step))


def _lever_of_platform(draft: Draft, authority: Authority) -> Lever | None:
    """The object by which the platform's operators configure what they run; unknown for other listeners."""
    if not authority.platform or draft.standing != "platform" or (draft.entry and draft.entry.governor == "own"):
        return None
    where, field = authority.place
    return Lever(where=where, field=field, applied_by=draft.entry.component if draft.entry else "")


def _implementation(draft: Draft, authority: Authority) -> str:
    """Who serves it, as far as that limits what can be asked of it. Of an unknown program nothing is assumed."""
    if draft.entry is None or draft.entry.governor in ("own", "gateway", "ingress", "backend"):
        return "other"
    if draft.entry.component == "etcd":
        return "etcd"
    return authority.implementation


def bind(facts: Facts, draft: Draft) -> Draft:
    """Whether the cluster's profile binds the listener."""
    if draft.standing == "user":
        return _of_users(facts, draft)
    if draft.entry is not None and _too_old(draft):
        since = draft.entry.honours_since
        said = f"follows the cluster's profile from {since} on, and is of {draft.release}: not enforced"
        return replace(draft, binding="not-enforced").says("component catalogue", draft.entry.component, said)
    adherence = facts.authority(draft.endpoint).adherence
    if adherence is None:
        return _of_microshift(draft) if facts.is_microshift else draft
    return _by_adherence(draft, adherence)


def _of_users(facts: Facts, draft: Draft) -> Draft:
    if facts.policy.user_workloads_bound:
        return draft.says(facts.policy.source, "userWorkloads", "workloads of users are bound too")
    said = "nothing is required of user workloads, unless the policy file says so: readiness"
    return replace(draft, binding="not-enforced").says(facts.policy.source or "no policy file", "userWorkloads", said)


def _too_old(draft: Draft) -> bool:
    since = draft.entry.honours_since if draft.entry else None
    if since is None or isinstance(draft.release, Unknown):
        return False
    own, first = minor(draft.release), minor(since)
    return own is not None and first is not None and own < first


def _of_microshift(draft: Draft) -> Draft:
    """Its file is for a fixed set of components, and adherence does not exist."""
    if draft.entry is not None and draft.entry.governor in _ALWAYS:
        return draft
    said = "none of the components that MicroShift's file is for: not enforced"
    source = "component catalogue" if draft.entry else f"{draft.endpoint.owner.kind}/{draft.endpoint.owner.name}"
    return replace(draft, binding="not-enforced").says(source, draft.entry.component if draft.entry else "", said)


def _by_adherence(draft: Draft, adherence: Adherence) -> Draft:
    governor = draft.entry.governor if draft.entry else None
    draft = replace(draft, adherence=adherence.means).remark(*adherence.remarks)
    draft = draft.says(adherence.source, adherence.field, adherence.said, beat=adherence.beat)
    binding: Binding
    if governor is not None and governor in _ALWAYS and draft.standing == "platform":
        binding, said = "must-follow", _ALWAYS[governor]
    elif adherence.strict:
        binding, said = "must-follow", "under strict adherence every component follows the cluster's profile"
    else:
        binding, said = "not-enforced", "under legacy adherence nothing holds it to the cluster's profile: readiness"
    source = "component catalogue" if draft.entry else "tlsAdherence"
    return replace(draft, binding=binding).says(source, draft.entry.component if draft.entry else "", said)


def override(facts: Facts, draft: Draft) -> Draft:
    """The first override that matches counts, as in the file's order."""
    for each in facts.policy.overrides:
        if each.selector.matches(draft.endpoint):
            return _replaced(facts, draft, each)
    return draft


def _replaced(facts: Facts, draft: Draft, override: Override) -> Draft:
    profile = facts.overrides[override.profile]
    said = f"{profile.name}: {override.justification}"
    found = draft.requires(profile, override.source, "overrides", said)
    found = replace(
        found,
        binding="must-follow" if override.binding else "not-enforced",
        groups_configurable=True,
        settles_by=None,
        overridden=_role(draft),
        tls13_suites_configurable=False,
    )
    if found.overridden is None:
        return found
    rule = "such listeners should follow the cluster's, justified or not"
    return found.remark(f"{override.source} overrides the profile of a listener ({found.overridden}): {rule}")


def _role(draft: Draft) -> Literal["metrics", "webhook", "api"] | None:
    """Whether it serves metrics, webhooks or an aggregated API, by what led to it."""
    endpoint, entry = draft.endpoint, draft.entry
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
