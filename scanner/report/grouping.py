"""Group findings: equal findings of several endpoints are one group, with their number and the first endpoints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from scanner.model.endpoint import host_port
from scanner.model.finding import Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.report import EndpointRow, FindingRow, GroupRow, OwnerRow
from scanner.report import headline

PLACES: Final = 3
"""Endpoints that a group names; all are counted."""


@dataclass(slots=True)
class Group:
    """Equal findings of endpoints: the same rule, result, expectation and fix.

    Only what a list of findings shows is kept, so that memory does not grow with the number of endpoints.
    """

    finding: FindingRow
    """The finding of the first endpoint."""
    outcome: Outcome
    fix: str
    """The fix, with ``<workload>``, ``<listener>`` and ``<component>`` in place of names."""
    endpoints: int = 0
    listeners: set[str] = field(default_factory=set)
    """Their ids."""
    places: list[tuple[str, str]] = field(default_factory=list)
    """Id and address of the first endpoints, each listener once."""
    alike: bool = True
    """False if their observed values differ."""

    def add(self, row: EndpointRow, finding: FindingRow) -> None:
        """Add an endpoint."""
        self.endpoints += 1
        self.alike = self.alike and finding["observed"] == self.finding["observed"]
        if row["id"] in self.listeners:
            return
        self.listeners.add(row["id"])
        if len(self.places) < PLACES:
            self.places.append((row["id"], host_port(row["address"], row["port"])))

    @property
    def shown(self) -> FindingRow:
        """The finding to show: for several listeners its fix has no names."""
        return self.finding if len(self.listeners) == 1 else {**self.finding, "fix": self.fix or None}

    @property
    def row(self) -> GroupRow:
        """The group for the JSON document."""
        shown = self.shown
        return GroupRow(
            rule=shown["rule"],
            outcome=self.outcome,
            status=shown["status"],
            severity=shown["severity"],
            message=shown["message"],
            expected=shown["expected"],
            fix=shown["fix"],
            endpoints=self.endpoints,
            listeners=len(self.listeners),
            examples=[name for name, _ in self.places],
        )


def groups(rows: Iterable[EndpointRow]) -> list[Group]:
    """Group the open findings of endpoints: failures first, then by severity and by number of endpoints. Endpoints that
    were in progress when the scan was stopped are left out."""
    found: dict[tuple[object, ...], Group] = {}
    for row in rows:
        if headline.in_progress(row):
            continue
        for finding in _open(row):
            outcome = outcome_of(finding["verdict"], finding["status"])
            fix = _without_names(finding["fix"] or "", row)
            same = (finding["rule"], finding["status"], finding["severity"], finding["message"])
            key = (outcome, *same, tuple(finding["expected"]), fix)
            if key not in found:
                found[key] = Group(finding=finding, outcome=outcome, fix=fix)
            found[key].add(row, finding)
    return sorted(found.values(), key=lambda one: (*headline.importance(one.finding), -one.endpoints))


def _open(row: EndpointRow) -> Iterator[FindingRow]:
    """The failed and inconclusive findings; for an endpoint that has none although it did not pass, its reason."""
    found = [each for each in row["findings"] if headline.open_question(each)]
    if not found and row["verdict"] in ("fail", "inconclusive"):
        found = [each for each in row["findings"] if each["verdict"] == row["verdict"]][:1]
    yield from found


def _without_names(fix: str, row: EndpointRow) -> str:
    """``fix`` without the names that differ between endpoints with the same fault."""
    owner = row["owner"]
    name = "/".join(filter(None, (owner["kind"], owner["namespace"], owner["name"])))
    names = [(row["id"], "<listener>"), (host_port(row["address"], row["port"]), "<address>"), (name, "<workload>")]
    for text, placeholder in names:
        fix = fix.replace(shlex.quote(text), placeholder).replace(text, placeholder)
    if component := row["component"]:
        fix = fix.replace(f"adhere doctor {shlex.quote(component)}", "adhere doctor <component>")
    return fix


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
