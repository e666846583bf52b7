"""Revisions of static pods: which one a node of the control plane runs, and which is the newest.

An operator of static pods writes each configuration down as a revision, and installs it on one node after the other
(openshift/api ``operator/v1/types.go`` StaticPodOperatorStatus; library-go ``staticpod/controller/installer``). So of
two nodes one may owe what was before while the other owes what is to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.meta import condition
from scanner.kube.openshift import OperatorConfig

OPERATORS: Mapping[str, Kind] = {
    "kube-apiserver": kinds.KUBE_API_SERVER_OPERATOR,
    "kube-controller-manager": kinds.KUBE_CONTROLLER_MANAGER_OPERATOR,
    "kube-scheduler": kinds.KUBE_SCHEDULER_OPERATOR,
    "etcd": kinds.ETCD_OPERATOR,
}
"""By component: the object (``cluster``) that says which revision its nodes run."""


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
    """Of the node that the listener is on; None where nobody counts revisions, or nothing is said of the node."""
    kind = OPERATORS.get(draft.entry.component) if draft.entry else None
    endpoint = draft.endpoint
    if kind is None or not endpoint.node or endpoint.owner.namespace in facts.hosted:
        return None
    found = facts.snapshot.get(kind, "cluster")
    if found is None:
        return None
    operator = OperatorConfig.of(found)
    newest = operator.latest_revision
    for each in operator.node_statuses:
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
