"""What the cluster as a whole says: the profile of its authority, in the release that the component is of."""

from __future__ import annotations

from dataclasses import replace

from scanner.expect.authority import Authority
from scanner.expect.draft import Draft, same_profile
from scanner.expect.facts import Facts
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.kube.maybe import Unknown
from scanner.kube.meta import condition
from scanner.kube.openshift import ClusterOperator
from scanner.model.expectation import Because, Lever


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile that everybody owes who has none of their own."""
    authority = facts.authority(draft.endpoint)
    draft = _release(facts, draft, authority)
    draft = authority.onto(draft)
    draft = replace(draft, implementation=_implementation(draft, authority), lever=_lever(draft, authority))
    draft = draft.remark(*authority.remarks)
    either = draft.entry is not None and draft.entry.either_side and authority is not facts.cluster
    return _by_either(facts, draft) if either else draft


def _by_either(facts: Facts, draft: Draft) -> Draft:
    """Of a hosted control plane, where the enhancement's later text says what the operator's code does not: what the
    hosting cluster's settings allow is no deviation that anybody can be sure of."""
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


def _lever(draft: Draft, authority: Authority) -> Lever | None:
    """The object by which the platform's operators configure what they run; of what is not theirs, nobody knows any."""
    if not authority.platform or draft.standing != "platform" or (draft.entry and draft.entry.governor == "own"):
        return None
    where, field = authority.place
    return Lever(where=where, field=field, applied_by=draft.entry.component if draft.entry else "")


def _implementation(draft: Draft, authority: Authority) -> str:
    """Who serves it, as far as that limits what can be asked of it. Of what nobody knows, nothing is assumed."""
    if draft.entry is None or draft.entry.governor in ("own", "gateway", "ingress", "backend"):
        return "other"
    if draft.entry.component == "etcd":
        return "etcd"
    return authority.implementation
