"""Group findings: equal findings of several endpoints are one group, with their number and the first endpoints."""

from __future__ import annotations

import re
import shlex
from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Final, cast

from msgspec import Struct, field

from scanner.model.endpoint import host_port
from scanner.model.finding import Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.report import EndpointRow, FindingRow, GroupRow, OwnerRow
from scanner.report import headline

GroupKey = tuple[object, ...]
"""Parts that equal findings share."""
EXAMPLES: Final = 3
"""Listeners, and objects of a fix, that a group names; all are counted."""
_DIFFER: Final = ("observed", "evidence")
"""Parts that may differ between the findings of a group."""
_EXPECTED: Final = 6
"""Place of the expectation without names in a ``GroupKey``."""
_BEFORE, _BEHIND = re.compile(r"\w\Z"), re.compile(r"[\w/-]|\.\w")
"""Ends of a name that has another one in it."""
_OBJECT: Final = re.compile(r"([A-Z]\w*)/\S+")


class Group(Struct):
    """Equal findings of endpoints: the same rule, result, expectation and fix. Objects that declare the endpoints, and
    the names that clients use, may differ, but not the kinds of these objects.

    Of the findings only the first is kept, and of the other listeners only hashes, to count them.
    """

    key: GroupKey
    finding: FindingRow
    """The finding of the first endpoint."""
    outcome: Outcome
    general: dict[str, str]
    """Its message and fix, with ``<workload>``, ``<listener>``, ``<component>`` and kinds (``<Service>``) in place of
    names."""
    endpoints: int = 0
    hashes: array[int] = field(default_factory=partial(array, "q"))
    """The ids of the listeners, hashed: as text they take ten times the memory."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Id and address of the first endpoints, each listener once."""
    differ: set[str] = field(default_factory=set)
    """Parts of the findings that differ, of ``_DIFFER``."""
    named: set[str] = field(default_factory=set)
    """Parts that differ only in names, of ``general`` or the expectation."""
    objects: set[str] = field(default_factory=set)
    """Objects that the fixes name in place of a kind."""
    _last: str = ""
    """Instance of the last endpoint: one may have several such findings."""

    def add(self, row: EndpointRow, finding: FindingRow) -> None:
        """Add a finding of an endpoint."""
        first: Mapping[str, object] = self.finding
        if finding != first:  # nearly all are equal
            other = {part for part, value in finding.items() if value != first[part]}
            self.differ.update(other.intersection(_DIFFER))
            self.named.update(other.intersection((*self.general, "expected")))
        fix, general = finding["fix"] or "", self.general["fix"]
        if "<" in general:
            self.objects.update(name for name, kind in _objects(row) if kind in general and name in fix)
        if row["instance"] != self._last:
            self.endpoints, self._last = self.endpoints + 1, row["instance"]
        if len(self.examples) < EXAMPLES and row["id"] not in dict(self.examples):
            self.examples.append((row["id"], host_port(row["address"], row["port"])))
        self.hashes.append(hash(row["id"]))

    @property
    def listeners(self) -> int:
        """Number of listeners; each can have several endpoints."""
        return sum(1 for _ in groupby(sorted(self.hashes)))  # a set takes twice the memory

    @property
    def shown(self) -> FindingRow:
        """The finding to show: a message and fix that differ have no names, but the fix names the first objects."""
        if self.listeners == 1:
            return self.finding
        message, fix = (self.general[part] if part in self.named else self.finding[part] for part in ("message", "fix"))
        if "fix" in self.named and self.objects:
            more = len(self.objects) - EXAMPLES
            fix = f"{fix} ({', '.join(sorted(self.objects)[:EXAMPLES])}{f' and {more} more' if more > 0 else ''})"
        expected = self.key[_EXPECTED] if "expected" in self.named else self.finding["expected"]
        return {**self.finding, "message": message or "", "fix": fix, "expected": list(cast("Iterable[str]", expected))}

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
            listeners=self.listeners,
            examples=[name for name, _ in self.examples],
        )


def groups(rows: Iterable[EndpointRow]) -> list[Group]:
    """Group the open findings of endpoints: failures first, then by severity and by number of endpoints. Endpoints that
    were in progress when the scan was stopped are left out."""
    found: dict[GroupKey, Group] = {}
    for row in rows:
        for key, finding, general in group_keys(row):
            if key not in found:
                result = outcome_of(finding["verdict"], finding["status"])
                found[key] = Group(key=key, finding=finding, outcome=result, general=general)
            found[key].add(row, finding)
    return sorted(found.values(), key=lambda one: (*headline.importance(one.finding), -one.endpoints))


def group_keys(row: EndpointRow) -> Iterator[tuple[GroupKey, FindingRow, dict[str, str]]]:
    """Yield the key of the group of each finding, the finding, and its message and fix without names."""
    if headline.in_progress(row):
        return
    names = _names(row)
    for finding in _open(row):
        message, fix, *expected = texts = (finding["message"], finding["fix"] or "", *finding["expected"])
        together = "\n".join(texts)
        if there := [each for each in names if each[0] in together]:  # most texts have no name
            message, fix, *expected = (_without(there, each) for each in texts)
        same = (finding["rule"], finding["verdict"], finding["status"], finding["severity"], message, fix)
        general = {"message": message, "fix": fix}
        yield (*same, tuple(expected), finding["waiver"], finding["second_opinion"]), finding, general


def _open(row: EndpointRow) -> Iterable[FindingRow]:
    """Return the open findings; for an endpoint that has none although it did not pass, the first with its verdict."""
    found = [each for each in row["findings"] if headline.open_question(each)]
    if not found and row["verdict"] in ("fail", "inconclusive"):
        return [each for each in row["findings"] if each["verdict"] == row["verdict"]][:1]
    return found


def _names(row: EndpointRow) -> list[tuple[str, str]]:
    """Return the names that differ between endpoints with the same fault, each with its placeholder."""
    owner, component = row["owner"], row["component"]
    workload = "/".join(filter(None, (owner["kind"], owner["namespace"], owner["name"])))
    address = host_port(row["address"], row["port"])
    names = [(row["id"], "<listener>"), (address, "<address>"), (workload, "<workload>")]
    names.append((row["server_name"] or "", "<name>"))
    found = [(each, placeholder) for name, placeholder in names if name for each in (shlex.quote(name), name)]
    if component:
        found.append((f"adhere doctor {shlex.quote(component)}", "adhere doctor <component>"))
    return [*found, *_objects(row)]


def _objects(row: EndpointRow) -> list[tuple[str, str]]:
    """Return the objects that declare an endpoint, each with the placeholder of its kind."""
    return [(found[0], f"<{found[1]}>") for found in map(_OBJECT.match, row["origins"]) if found]


def _without(names: Iterable[tuple[str, str]], text: str) -> str:
    for name, placeholder in names:
        if name in text:
            before, *parts = text.split(name)
            for part in parts:  # not within a longer name
                before += (name if _BEFORE.search(before) or _BEHIND.match(part) else placeholder) + part
            text = before
    return text


def equal(finding: FindingRow) -> tuple[object, ...]:
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
