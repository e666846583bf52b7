"""Rows of a cluster grouped as people work: by component, by owner, and replicas that do the same together.

Only what a list of failures shows is kept of a row, and equal replicas are kept once: a finding on 500 nodes costs
little more than one on a single node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scanner.model.endpoint import host_port
from scanner.model.report import EndpointRow, FindingRow, OwnerRow
from scanner.report import headline

PLACES = 5
"""Replicas whose addresses are kept; all are counted."""


@dataclass(slots=True)
class Listener:
    """One listener, or several replicas of it, that did exactly the same."""

    id: str
    speaks: str
    reason: str
    detail: str
    open: list[FindingRow]
    """Findings that need a reader."""
    worst: int
    """Sort key: the most severe first."""
    places: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, row: EndpointRow) -> None:
        """Another replica."""
        self.count += 1
        if len(self.places) < PLACES:
            on = f" on {row['node']}" if row["node"] else ""
            self.places.append(host_port(row["address"], row["port"]) + on)


@dataclass(slots=True)
class Group:
    """What belongs to one owner."""

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
        """Endpoints, replicas included."""
        return sum(each.count for each in self.listeners.values())

    def add(self, row: EndpointRow) -> None:
        """Put a row with those that did the same."""
        found = [one for one in row["findings"] if headline.open_question(one)]
        key = (row["id"], row["detail"], tuple(map(_fingerprint, found)))
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


def _fingerprint(finding: FindingRow) -> tuple[object, ...]:
    """What makes two findings the same; the command to see one again differs by address."""
    return (finding["rule"], finding["verdict"], finding["status"], finding["message"], tuple(finding["observed"]))


def merged(found: Iterable[FindingRow]) -> list[FindingRow]:
    """Findings that say the same of several things, as one that has found them all.

    Each one's evidence is left out then: it is in the JSON document.
    """
    alike: dict[tuple[object, ...], list[FindingRow]] = {}
    for finding in found:
        alike.setdefault(_sense(finding), []).append(finding)
    return [each[0] if len(each) == 1 else _sum(each) for each in alike.values()]


def _sense(finding: FindingRow) -> tuple[object, ...]:
    """All that one finding says, but for what it has found."""
    said = {**finding, "observed": None, "evidence": None, "about": finding["about"] is None}
    return tuple(tuple(each) if isinstance(each, list) else each for each in said.values())


def _sum(alike: list[FindingRow]) -> FindingRow:
    observed = dict.fromkeys(item for each in alike for item in each["observed"])
    return {**alike[0], "observed": list(observed), "evidence": []}


def owner_name(owner: OwnerRow) -> str:
    """``DaemonSet openshift-dns/dns-default``, ``Node worker-1``."""
    return f"{owner['kind']} " + "/".join(filter(None, (owner["namespace"], owner["name"])))


def grouped(rows: Iterable[EndpointRow]) -> list[Group]:
    """Groups by component and owner: known components first, by name; what no component is known of by namespace."""
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


def by_severity(group: Group) -> list[Listener]:
    """The listeners of a group, the worst first."""
    return sorted(group.listeners.values(), key=lambda each: (each.worst, each.id))
