"""Lint from end to end: what was given and what is known of a cluster -> a report."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from scanner import __version__
from scanner.cluster.given import Bad, Manifests
from scanner.cluster.manifest_files import Skipped
from scanner.lint import READS, RULES, Linted, Placed, lint
from scanner.lint.manifests import UNREADABLE
from scanner.model.declared import Declared, Given, Place
from scanner.model.kinds import Kind
from scanner.model.lint_report import LintFindingRow, LintReport, LintScannerRow, ObjectRow, PlaceRow, SkippedRow
from scanner.model.objects import KubeObject
from scanner.model.report import OwnerRow, UnreadableRow
from scanner.model.rule import Rule, ScanRule
from scanner.model.snapshot import Origin, Snapshot, Unreadable
from scanner.report.rows import finding_row, rule_row, timestamp

__all__ = ["LINT_READS", "declared", "lint_report"]

LINT_READS: tuple[Kind, ...] = READS
"""Every kind that lint looks at."""


def declared(manifests: Manifests | None, cluster: Snapshot | None) -> Declared:
    """What there is to look at: the manifests, with the cluster to look things up in; without any, the cluster's own
    objects."""
    given = tuple(manifests.given) if manifests else ()
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in LINT_READS}
    for each in given:
        objects[each.object.kind].append(each.object)
    if cluster is not None:
        # Under one name, what is about to be applied counts.
        names = {(each.object.kind, each.object.namespace, each.object.name) for each in given}
        for kind in LINT_READS:
            every = cluster.objects.get(kind, ())
            objects[kind] += [each for each in every if (kind, each.namespace, each.name) not in names]
    known = Snapshot(
        taken_at=cluster.taken_at if cluster else datetime.now(UTC),
        origin=cluster.origin if cluster else Origin(name="manifests", replayed=True),
        objects={kind: tuple(found) for kind, found in objects.items()},
        absent=cluster.absent if cluster else frozenset(),
        unreadable=cluster.unreadable if cluster else {kind: _not_given(kind) for kind in LINT_READS},
    )
    if manifests is None:
        given = tuple(Given(object=each) for kind in LINT_READS for each in known.every(kind))
    return Declared(given=given, known=known)


def _not_given(kind: Kind) -> Unreadable:
    return Unreadable(kind=kind, gap="not-saved", reason="not among the manifests, and no cluster was given")


def lint_report(
    declared: Declared,
    manifests: Manifests | None,
    *,
    started: datetime,
    sources: tuple[str, ...],
    arguments: Iterable[str],
) -> LintReport:
    """Everything that the rules say, as a report."""
    bad = [_unread(each) for each in manifests.bad] if manifests else []
    rules: list[Rule | ScanRule] = [UNREADABLE]
    return LintReport(
        scanner=LintScannerRow(name="adhere", version=__version__, arguments=list(arguments)),
        started=timestamp(started),
        sources=sources,
        files=manifests.files if manifests else 0,
        others=manifests.others + manifests.strangers if manifests else 0,
        rules=[rule_row(each) for each in (*rules, *RULES)],
        objects=[_row(each) for each in lint(declared)],
        findings=bad,
        unreadable=[_gap(each) for each in declared.known.unreadable.values()] if manifests is None else [],
        skipped=[_skipped(each) for each in manifests.skipped] if manifests else [],
    )


def _unread(bad: Bad) -> LintFindingRow:
    (finding,) = UNREADABLE.check(UNREADABLE, str(bad.place), bad.message, bad.hint)
    return _finding(Placed(finding=finding, place=bad.place, field=""))


def _skipped(each: Skipped) -> SkippedRow:
    return SkippedRow(path=each.path, reason=each.reason, remedy=each.hint)


def _gap(each: Unreadable) -> UnreadableRow:
    return UnreadableRow(
        resource=each.kind.resource, gap=each.gap, reason=each.reason, remedy="", accepted=each.gap == "not-asked"
    )


def _row(linted: Linted) -> ObjectRow:
    named = linted.given.object.reference
    return ObjectRow(
        object=OwnerRow(kind=named.kind, namespace=named.namespace, name=named.name),
        place=_place(linted.given.place()),
        verdict=linted.verdict,
        passed=list(linted.passed),
        findings=[_finding(each) for each in linted.findings],
    )


def _finding(placed: Placed) -> LintFindingRow:
    row = finding_row(placed.finding)
    return LintFindingRow(**row, place=_place(placed.place), field=placed.field, correction=placed.correction)


def _place(place: Place | None) -> PlaceRow | None:
    return PlaceRow(file=place.file, line=place.line, column=place.column) if place else None
