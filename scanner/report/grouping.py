"""Group rows of a cluster by component, owner and listener, with equal replicas as one.

Only the fields that a list of failures shows are kept, and equal replicas are kept once, so that memory does not grow
with the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scanner.model.endpoint import host_port
from scanner.model.report import EndpointRow, FindingRow, OwnerRow
from scanner.report import headline

PLACES = 5
"""Addresses of replicas that are kept; all are counted."""


@dataclass(slots=True)
class Listener:
    """A listener, or replicas of it with the same result."""

    id: str
    speaks: str
    reason: str
    detail: str
    open: list[FindingRow]
    """Failed or inconclusive findings."""
    worst: int
    """Sort key: the most severe first."""
    places: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, row: EndpointRow) -> None:
        """Add a replica."""
        self.count += 1
        if len(self.places) < PLACES:
            on = f" on {row['node']}" if row["node"] else ""
            self.places.append(host_port(row["address"], row["port"]) + on)


@dataclass(slots=True)
class Group:
    """The listeners of one owner."""

    component: str | None
    owner: OwnerRow
    standing: str
    listeners: dict[object, Listener] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``DaemonSet openshift-dns/dns-default``."""
        return owner_name(self.owner)

    @property
    def count(self) -> int:
        """Number of endpoints, replicas included."""
        return sum(each.count for each in self.listeners.values())

    def add(self, row: EndpointRow) -> None:
        """Add a row to the replicas with the same result."""
        found = [one for one in row["findings"] if headline.open_question(one)]
        key = (row["id"], row["detail"], tuple(map(fingerprint, found)))
        if key not in self.listeners:
            self.listeners[key] = Listener(
                id=row["id"],
                speaks=headline.speaks(row),
                reason=headline.reason(row),
                detail=row["detail"],
                open=found,
                worst=min(map(headline.rank, found), default=0),
            )
        self.listeners[key].add(row)


def fingerprint(finding: FindingRow) -> tuple[object, ...]:
    """Key of equal findings of replicas: without the command to reproduce, which has the address."""
    return (finding["rule"], finding["verdict"], finding["status"], finding["message"], tuple(finding["observed"]))


def merged(found: Iterable[FindingRow]) -> list[FindingRow]:
    """Merge findings that differ only in their observed items, evidence and object. Merged ones have no evidence: it is
    in the JSON document."""
    groups: dict[tuple[object, ...], list[FindingRow]] = {}
    for finding in found:
        parts = {**finding, "observed": None, "evidence": None, "about": finding["about"] is None}
        key = tuple(tuple(each) if isinstance(each, list) else each for each in parts.values())
        groups.setdefault(key, []).append(finding)
    return [group[0] if len(group) == 1 else _sum(group) for group in groups.values()]


def _sum(group: list[FindingRow]) -> FindingRow:
    observed = dict.fromkeys(item for each in group for item in each["observed"])
    return {**group[0], "observed": list(observed), "evidence": []}


def owner_name(owner: OwnerRow) -> str:
    """``DaemonSet openshift-dns/dns-default``, ``Node worker-1``."""
    return f"{owner['kind']} " + "/".join(filter(None, (owner["namespace"], owner["name"])))


def grouped(rows: Iterable[EndpointRow]) -> list[Group]:
    """Group rows by component and owner: known components first, by name, then the others by namespace."""
    groups: dict[tuple[object, ...], Group] = {}
    for row in rows:
        owner = row["owner"]
        key = (row["component"], owner["namespace"], owner["kind"], owner["name"])
        if key not in groups:
            groups[key] = Group(component=row["component"], owner=owner, standing=row["standing"])
        groups[key].add(row)
    return sorted(groups.values(), key=_place)


def _place(group: Group) -> tuple[bool, str, str, str]:
    return (group.component is None, group.component or "", group.owner["namespace"] or "", group.name)
