"""The report of lint: the public shape of its results (``docs/schema/lint-v1.json``), object by object."""

from __future__ import annotations

from typing import TypedDict

from msgspec import Struct, field

from scanner.model.finding import SEVERITIES
from scanner.model.fingerprint import is_requirement
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_NOTHING,
    EXIT_OK,
    BaselineRow,
    FailOn,
    OwnerRow,
    RuleRow,
    UnreadableRow,
    fails,
)
from scanner.model.row import FindingRow

SCHEMA = "adhere.lint/v1"


class PlaceRow(TypedDict):
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int


NOT_GIVEN = "not among the manifests"
"""The reason for a missing object if only manifests were read."""


class UnseenRow(TypedDict):
    """The missing object of an inconclusive finding."""

    object: str
    """``Secret/shop/web``, or its kind."""
    reason: str
    """The reason why it may exist."""
    question: str
    """"whether the key belongs to the certificate"."""


class LintFindingRow(FindingRow):
    """A finding with its place."""

    place: PlaceRow | None
    """None for an object of a cluster."""
    field: str
    """``spec.listeners[0].tls``; empty for the whole object."""
    correction: str | None
    """Correct YAML."""
    unseen: UnseenRow | None
    """None if the finding is conclusive, or inconclusive for another reason."""


class ObjectRow(TypedDict):
    """The results of one object."""

    object: OwnerRow
    place: PlaceRow | None
    verdict: str
    passed: list[str]
    """Rules that passed."""
    findings: list[LintFindingRow]


class SkippedRow(TypedDict):
    """A file or directory that was not read, though it may contain manifests."""

    path: str
    reason: str
    remedy: str
    """The command to lint it; may be empty."""


class WaivedRow(TypedDict):
    """Numbers of waived findings."""

    waivers: int
    """Waived by the policy file."""
    ignores: int
    """Waived by comments and annotations."""


class LintScannerRow(TypedDict):
    name: str
    version: str
    arguments: list[str]


class LintReport(Struct, frozen=True, kw_only=True):
    """Everything that a format needs."""

    scanner: LintScannerRow
    started: str
    """RFC 3339, UTC."""
    sources: tuple[str, ...]
    """Linted paths and clusters."""
    files: int
    others: int
    """Number of objects that no rule judges, and of other documents."""
    rules: list[RuleRow]
    objects: list[ObjectRow]
    findings: list[LintFindingRow] = field(default_factory=list)
    """Findings without an object: unreadable files, and waivers."""
    unreadable: list[UnreadableRow] = field(default_factory=list)
    """Kinds of a cluster that are incomplete."""
    skipped: list[SkippedRow] = field(default_factory=list)
    waived: WaivedRow | None = None
    """None without a waiver, a comment or an annotation."""
    baseline: BaselineRow | None = None
    """Known findings; None without ``--baseline``."""
    code: int | None = None
    """The exit code, once the options have decided it."""
    fail_on: FailOn = "medium"
    """Lowest severity that makes the exit code 1."""

    def every(self) -> list[LintFindingRow]:
        """All findings, those without an object first."""
        return [*self.findings, *(finding for each in self.objects for finding in each["findings"])]

    def unread(self) -> list[LintFindingRow]:
        """Findings of unreadable files that may be manifests."""
        found = (each for each in self.findings if not is_requirement(each["rule"]))
        return [each for each in found if each["severity"] != SEVERITIES[0]]

    def counts(self) -> dict[str, int]:
        """Number of objects by verdict."""
        counts = {"pass": 0, "fail": 0, "inconclusive": 0}
        for each in self.objects:
            counts[each["verdict"]] += 1
        return counts


def exit_code(
    report: LintReport, fail_on: FailOn, *, accept_undecided: bool = False, accept_empty: bool = False
) -> int:
    """The exit code of a report (design, "Exit codes"). Failures come before incompleteness."""
    every = report.every()
    if any(fails(each, fail_on) for each in every):
        return EXIT_FINDINGS
    undecided = any(each["verdict"] == "inconclusive" and each["severity"] != SEVERITIES[0] for each in every)
    unseen = report.skipped or any(not each["accepted"] for each in report.unreadable)
    if report.unread() or ((undecided or unseen) and not accept_undecided):
        return EXIT_INCOMPLETE
    return EXIT_OK if report.objects or accept_empty else EXIT_NOTHING
