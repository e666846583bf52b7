"""Rollouts: while a profile is rolled out, the previous profile is accepted too, for a limited time.

After a change of the profile this is a quarter of an hour; after that only while an operator has been progressing for
less than an hour, or while the node's pool is updating.

An operator of static pods stores each configuration as a revision, and installs it on one node after the other
(openshift/api ``operator/v1/types.go`` StaticPodOperatorStatus; library-go ``staticpod/controller/installer``). So two
nodes may have different profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from scanner.expect.binding import operator
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.kube import kinds
from scanner.kube.kinds import CLUSTER_OPERATOR, Kind
from scanner.kube.meta import Condition, condition
from scanner.kube.openshift import OperatorConfig
from scanner.kube.tls_profile import Profile
from scanner.values import replace

OPERATORS: Mapping[str, Kind] = {
    "kube-apiserver": kinds.KUBE_API_SERVER_OPERATOR,
    "kube-controller-manager": kinds.KUBE_CONTROLLER_MANAGER_OPERATOR,
    "kube-scheduler": kinds.KUBE_SCHEDULER_OPERATOR,
    "etcd": kinds.ETCD_OPERATOR,
}
"""By component: the kind of the object (``cluster``) with the revisions of its nodes."""

OPERATOR_TAKES = timedelta(hours=1)
"""Three nodes of a control plane, one after the other, need half an hour; an operator that progresses for longer is
stuck, or rolls out something else."""

CHANGE_TAKES = timedelta(minutes=15)
"""Time after a change of the profile in which operators need not report progress (enhancement "Cluster-wide TLS
Security Profile", ClusterTLSConfigurationNotApplied)."""

ASSUMED = "--profile"
"""Source of a profile of the user's option: no object has it, so no rollout can explain a deviation."""

_UNKNOWN_BEFORE = "the previous profile is unknown, so a deviation is inconclusive during the rollout"
_CLOCKS = timedelta(minutes=10)
"""Accepted difference between the clocks of a cluster and of its reader."""


class Revision(Struct, frozen=True, kw_only=True):
    """The installed revision of one node."""

    source: str
    field: str
    current: int
    newest: int
    target: int
    """The revision that is being installed, or 0."""
    since: datetime | None
    """Time when the operator began to install."""

    @property
    def is_newest(self) -> bool:
        """True if there is no newer revision."""
        return self.current >= self.newest

    def __str__(self) -> str:
        installing = f", {self.target} is being installed" if self.target > self.current else ""
        return f"revision {self.current}, the newest is {self.newest}{installing}"


def revision_of(facts: Facts, partial: Partial) -> Revision | None:
    """The revision of the listener's node; None if the component or the node has none."""
    kind = OPERATORS.get(partial.entry.component) if partial.entry else None
    endpoint = partial.endpoint
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


def resolve(facts: Facts, partial: Partial) -> Partial:
    """Set ``settling`` if the profile was changed just now, or if the component's operator reports progress."""
    return _just_changed(facts, _by_operator(facts, partial))


def _just_changed(facts: Facts, partial: Partial) -> Partial:
    if partial.changed is None or facts.snapshot.taken_at > partial.changed + CHANGE_TAKES:
        return partial
    minutes = CHANGE_TAKES / timedelta(minutes=1)
    text = f"changed at {partial.changed:%Y-%m-%d %H:%M} UTC: the previous profile is accepted for {minutes:g} minutes"
    source, _, field = partial.decided_by.rpartition(" ")
    return settling(
        facts, partial, source or partial.decided_by, field, text, partial.changed, CHANGE_TAKES, partial.skewed
    )


def _by_operator(facts: Facts, partial: Partial) -> Partial:
    """By the operator's condition, or by the node's revision if it reports one."""
    found = operator(facts, partial)
    progressing = condition(found, "Progressing") if found else None
    revision = revision_of(facts, partial)
    if revision is not None:
        return overdue(facts, _by_revision(facts, partial, revision, progressing))
    gap = facts.snapshot.gap(CLUSTER_OPERATOR) if found is None and partial.entry else None
    if gap:
        partial = partial.remark(f"unknown whether its operator is rolling out a change: {gap}")
    if found is None or progressing is None or not progressing.holds:
        return overdue(facts, partial)
    # Operators report upgrades in the same way; then the profile of the other release is known.
    known = partial.skewed
    text = f"True: {progressing.message}" if progressing.message else "True"
    field = "status.conditions[Progressing]"
    partial = settling(facts, partial, str(found.reference), field, text, progressing.since, OPERATOR_TAKES, known)
    return overdue(facts, partial)


def _by_revision(facts: Facts, partial: Partial, revision: Revision, progressing: Condition | None) -> Partial:
    """A node with the newest revision must follow it, even if other nodes still wait for it."""
    at_work = progressing is not None and progressing.holds
    if revision.is_newest:
        return (
            partial.step(revision.source, revision.field, f"{revision}: the profile is enforced")
            if at_work
            else partial
        )
    since = revision.since or (progressing.since if progressing and at_work else None)
    change = (facts, partial, revision.source, revision.field, str(revision), since)
    return settling(*change, OPERATOR_TAKES, partial.skewed)


def settling(
    facts: Facts,
    partial: Partial,
    source: str,
    field: str,
    text: str,
    since: datetime | None,
    takes: timedelta,
    before: Iterable[Profile] = (),
) -> Partial:
    """Accept the profiles ``before`` (empty if unknown) until the rollout should be finished.

    Without a known start there is no end either, so the new profile is enforced at once.
    """
    if partial.binding == "not-enforced":
        return partial.step(source, field, text)
    if partial.decided_by.startswith(ASSUMED):
        return partial.step(source, field, f"{text}; but an assumed profile is not rolled out")
    start, doubt = started(facts, since)
    if start is None:
        return partial.step(source, field, f"{text}; but {doubt}, so the profile is enforced")
    known = tuple(dict.fromkeys((*partial.alternatives, *before)))
    ends = max(start + takes, partial.settles_by or start)
    partial = replace(partial, binding="settling", alternatives=known, settles_by=ends).step(source, field, text)
    return partial if known else partial.remark(_UNKNOWN_BEFORE)


def started(facts: Facts, since: datetime | None) -> tuple[datetime | None, str]:
    """Start of a rollout, at most now; or the reason why it is unknown."""
    now = facts.snapshot.taken_at
    if since is None:
        return None, "its start is unknown"
    if since > now + _CLOCKS:
        return None, f"its start {since:%Y-%m-%d %H:%M} UTC is in the future"
    return min(since, now), ""


def overdue(facts: Facts, partial: Partial) -> Partial:
    """Enforce the profile if the rollout should be finished."""
    ends = partial.settles_by
    if partial.binding != "settling" or ends is None or facts.snapshot.taken_at <= ends:
        return partial
    text = f"the rollout should have finished by {ends:%Y-%m-%d %H:%M} UTC: the profile is enforced again"
    settled = replace(partial, binding="must-follow", alternatives=(), settles_by=None)
    return replace(settled, remarks=tuple(each for each in partial.remarks if each != _UNKNOWN_BEFORE)).step(
        "the time of the snapshot", "", text
    )
