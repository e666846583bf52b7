"""Rollouts: while a change is rolled out, the profile before it is accepted, too. But not for ever.

A change of the profile itself excuses for a quarter of an hour; after that only an operator that has been at work for
less than an hour, or the pool of a node.

An operator of static pods writes each configuration down as a revision, and installs it on one node after the other
(openshift/api ``operator/v1/types.go`` StaticPodOperatorStatus; library-go ``staticpod/controller/installer``). So two
nodes may have to follow different profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from scanner.expect.binding import operator
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.kube import kinds
from scanner.kube.kinds import CLUSTER_OPERATOR, Kind
from scanner.kube.meta import Condition, condition
from scanner.kube.openshift import OperatorConfig
from scanner.kube.tls_profile import Profile

OPERATORS: Mapping[str, Kind] = {
    "kube-apiserver": kinds.KUBE_API_SERVER_OPERATOR,
    "kube-controller-manager": kinds.KUBE_CONTROLLER_MANAGER_OPERATOR,
    "kube-scheduler": kinds.KUBE_SCHEDULER_OPERATOR,
    "etcd": kinds.ETCD_OPERATOR,
}
"""By component: the object (``cluster``) that says which revision its nodes run."""

OPERATOR_TAKES = timedelta(hours=1)
"""Three nodes of a control plane, one after the other, need half an hour; an operator that is at work for longer is
stuck, or at work on something else."""

CHANGE_TAKES = timedelta(minutes=15)
"""For so long after a change of the profile no operator has to say anything (enhancement "Cluster-wide TLS Security
Profile", ClusterTLSConfigurationNotApplied)."""

ASSUMED = "--profile"
"""Where a profile comes from that the user asks about: no object has it yet, so no rollout can explain a deviation."""

_UNKNOWN_BEFORE = "the profile before the change is unknown, so a deviation cannot be judged yet"
_CLOCKS = timedelta(minutes=10)
"""How far the clocks of a cluster and of its reader may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What one node runs."""

    source: str
    field: str
    current: int
    newest: int
    target: int
    """The one that is being installed, or 0."""
    since: datetime | None
    """When the operator began to install."""

    @property
    def is_newest(self) -> bool:
        """Whether nothing newer is on its way to the node."""
        return self.current >= self.newest

    def __str__(self) -> str:
        installing = f", {self.target} is being installed" if self.target > self.current else ""
        return f"revision {self.current}, and {self.newest} is the newest{installing}"


def revision_of(facts: Facts, draft: Draft) -> Revision | None:
    """Of the node that the listener is on; None where there are no revisions, or the node has none."""
    kind = OPERATORS.get(draft.entry.component) if draft.entry else None
    endpoint = draft.endpoint
    if kind is None or not endpoint.node or endpoint.owner.namespace in facts.hosted:
        return None
    found = facts.snapshot.get(kind, "cluster")
    if found is None:
        return None
    config = OperatorConfig.of(found)
    newest = config.latest_revision
    for each in config.node_statuses:
        current = each.current_revision
        if each.node_name == endpoint.node and current is not None and newest is not None:
            installing = condition(found, "NodeInstallerProgressing")
            return Revision(
                source=str(found.reference),
                field=f"status.nodeStatuses[{endpoint.node}]",
                current=current,
                newest=newest,
                target=each.target_revision or 0,
                since=installing.since if installing and installing.holds else None,
            )
    return None


def resolve(facts: Facts, draft: Draft) -> Draft:
    """Settling, where the profile was changed just now, or the operator of the component says that it is at work."""
    return _just_changed(facts, _by_operator(facts, draft))


def _just_changed(facts: Facts, draft: Draft) -> Draft:
    if draft.changed is None or facts.snapshot.taken_at > draft.changed + CHANGE_TAKES:
        return draft
    said = f"changed at {draft.changed:%Y-%m-%d %H:%M} UTC: converging for {CHANGE_TAKES.seconds // 60} minutes"
    source, _, field = draft.whose.rpartition(" ")
    return settling(facts, draft, source or draft.whose, field, said, draft.changed, CHANGE_TAKES, draft.skewed)


def _by_operator(facts: Facts, draft: Draft) -> Draft:
    """By its condition; on this node, where it tells nodes apart."""
    found = operator(facts, draft)
    progressing = condition(found, "Progressing") if found else None
    revision = revision_of(facts, draft)
    if revision is not None:
        return overdue(facts, _by_revision(facts, draft, revision, progressing))
    gap = facts.snapshot.gap(CLUSTER_OPERATOR) if found is None and draft.entry else None
    if gap:
        draft = draft.remark(f"whether its operator is rolling out a change is not known: {gap}")
    if found is None or progressing is None or not progressing.holds:
        return overdue(facts, draft)
    # That is how an operator says that it rolls out a release; then the other release's meaning is known.
    known = draft.skewed
    said = f"True: {progressing.message}" if progressing.message else "True"
    field = "status.conditions[Progressing]"
    draft = settling(facts, draft, str(found.reference), field, said, progressing.since, OPERATOR_TAKES, known)
    return overdue(facts, draft)


def _by_revision(facts: Facts, draft: Draft, revision: Revision, progressing: Condition | None) -> Draft:
    """A node with the newest revision must follow it, however many others still wait for it."""
    at_work = progressing is not None and progressing.holds
    if revision.is_newest:
        return draft.says(revision.source, revision.field, f"{revision}: it binds") if at_work else draft
    since = revision.since or (progressing.since if progressing and at_work else None)
    said = (facts, draft, revision.source, revision.field, str(revision), since)
    return settling(*said, OPERATOR_TAKES, draft.skewed)


def settling(
    facts: Facts,
    draft: Draft,
    source: str,
    field: str,
    said: str,
    since: datetime | None,
    takes: timedelta,
    before: Iterable[Profile] = (),
) -> Draft:
    """What binds is on its way. ``before`` is empty where what was there is not known.

    A rollout without a known start has no end either, so it excuses nothing.
    """
    if draft.binding == "not-enforced":
        return draft.says(source, field, said)
    if draft.whose.startswith(ASSUMED):
        return draft.says(source, field, f"{said}; but an assumed profile is not rolled out")
    started, doubt = _started(facts, since)
    if started is None:
        return draft.says(source, field, f"{said}; but {doubt}: it binds")
    known = tuple(dict.fromkeys((*draft.alternatives, *before)))
    ends = max(started + takes, draft.settles_by or started)
    draft = replace(draft, binding="settling", alternatives=known, settles_by=ends).says(source, field, said)
    return draft if known else draft.remark(_UNKNOWN_BEFORE)


def _started(facts: Facts, since: datetime | None) -> tuple[datetime | None, str]:
    """When a rollout began, at most now; or why that cannot be determined."""
    now = facts.snapshot.taken_at
    if since is None:
        return None, "nothing says since when"
    if since > now + _CLOCKS:
        return None, f"since {since:%Y-%m-%d %H:%M} UTC, which is yet to come"
    return min(since, now), ""


def overdue(facts: Facts, draft: Draft) -> Draft:
    """A rollout that should have ended excuses nothing any more."""
    ends = draft.settles_by
    if draft.binding != "settling" or ends is None or facts.snapshot.taken_at <= ends:
        return draft
    said = f"should have settled by {ends:%Y-%m-%d %H:%M} UTC: binding again"
    settled = replace(draft, binding="must-follow", alternatives=(), settles_by=None)
    return replace(settled, remarks=tuple(each for each in draft.remarks if each != _UNKNOWN_BEFORE)).says(
        "the time of the snapshot", "", said
    )
