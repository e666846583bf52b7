"""Whether what the cluster says binds a listener: by whose it is, by what governs it, and by ``tlsAdherence``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.release import minor
from scanner.kube.api_server import Adherence
from scanner.kube.maybe import Unknown
from scanner.model.components import Governor
from scanner.model.expectation import Binding

_ALWAYS: Mapping[Governor, str] = {
    "apiserver": "follows the cluster's profile whatever tlsAdherence says",
    "kubelet": "follows KubeletConfig, else the cluster's profile, whatever tlsAdherence says",
    "ingress": "follows its IngressController, else the cluster's profile, whatever tlsAdherence says",
    "backend": "passes connections on to what follows the cluster's profile",
    "flags": "follows its own flags",
}
"""Governors that never ask for adherence (facts by reading each operator), and what that means."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The binding of the profile that ``cluster_profile`` found."""
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
