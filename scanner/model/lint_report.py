"""What lint reports: the public shape of its results (``docs/schema/lint-v1.json``), object by object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from scanner.model.finding import SEVERITIES
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_NOTHING,
    EXIT_OK,
    FailOn,
    OwnerRow,
    RuleRow,
    UnreadableRow,
    fails,
)
from scanner.model.row import FindingRow

SCHEMA = "adhere.lint/v1"


class PlaceRow(TypedDict):
    """Where something stands; both count from 1."""

    file: str
    line: int
    column: int


NOT_GIVEN = "not among the manifests"
"""Why nobody saw an object, where only manifests were looked at."""


class UnseenRow(TypedDict):
    """What would have to be given for an answer, where it could not be decided."""

    object: str
    """``Secret/shop/web``, or what kind of object it is."""
    reason: str
    """Why it may exist though nobody saw it."""
    question: str
    """"whether the key belongs to the certificate"."""


class LintFindingRow(FindingRow):
    """A finding, and where it is."""

    place: PlaceRow | None
    """None for an object of a cluster."""
    field: str
    """``spec.listeners[0].tls``; empty for the whole object."""
    correction: str | None
    """YAML that would be right."""
    unseen: UnseenRow | None
    """None for what is decided, or undecided for another reason than an object that was not seen."""


class ObjectRow(TypedDict):
    """What is said of one object."""

    object: OwnerRow
    place: PlaceRow | None
    verdict: str
    passed: list[str]
    """Rules that have nothing against it."""
    findings: list[LintFindingRow]


class SkippedRow(TypedDict):
    """A file or directory that was not looked at, though there may be manifests in it."""

    path: str
    reason: str
    remedy: str
    """How to have it looked at; may be empty."""


class LintScannerRow(TypedDict):
    name: str
    version: str
    arguments: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """Everything that a format needs."""

    scanner: LintScannerRow
    started: str
    """RFC 3339, UTC."""
    sources: tuple[str, ...]
    """Paths and clusters that were looked at."""
    files: int
    others: int
    """Objects of kinds that no rule looks at, and documents that are no objects."""
    rules: list[RuleRow]
    objects: list[ObjectRow]
    findings: list[LintFindingRow] = field(default_factory=list)
    """Those that belong to no object: files that cannot be read."""
    unreadable: list[UnreadableRow] = field(default_factory=list)
    """Kinds of a cluster of which there may be objects that nobody saw."""
    skipped: list[SkippedRow] = field(default_factory=list)

    def every(self) -> list[LintFindingRow]:
        """All findings, those of no object first."""
        return [*self.findings, *(finding for each in self.objects for finding in each["findings"])]

    def unread(self) -> list[LintFindingRow]:
        """What could not be looked at and may be a manifest."""
        return [each for each in self.findings if each["severity"] != SEVERITIES[0]]

    def counts(self) -> dict[str, int]:
        """How many objects have each verdict."""
        told = {"pass": 0, "fail": 0, "inconclusive": 0}
        for each in self.objects:
            told[each["verdict"]] += 1
        return told


def exit_code(
    report: LintReport, fail_on: FailOn, *, accept_undecided: bool = False, accept_empty: bool = False
) -> int:
    """The exit code that a report earns (design, "Exit codes"). Findings win over what could not be decided."""
    every = report.every()
    if any(fails(each, fail_on) for each in every):
        return EXIT_FINDINGS
    undecided = any(each["verdict"] == "inconclusive" and each["severity"] != SEVERITIES[0] for each in every)
    unseen = report.skipped or any(not each["accepted"] for each in report.unreadable)
    if report.unread() or ((undecided or unseen) and not accept_undecided):
        return EXIT_INCOMPLETE
    return EXIT_OK if report.objects or accept_empty else EXIT_NOTHING
