"""Compare two judgements of the same observations: before and after a change of profile, policy or release.

Endpoints are compared by instance; replicas with the same change are one entry. "fails" is a failure that the exit code
counts; "excused" is a failure that it does not count (waived, rollout in progress, profile not enforced).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, TextIO, TypedDict

from msgspec import Struct, field, structs

from scanner.model.finding import KNOWN, NEVER_FAILS
from scanner.model.fingerprint import fingerprint
from scanner.model.inventory import InventoryRow
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_OK,
    EndpointRow,
    FindingRow,
    OwnerRow,
)
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.grouping import equal, merged, owner_name
from scanner.report.page import Page, counted, exit_text, findings
from scanner.report.stream import dumps, write_document
from scanner.values import replace

_INSTANCES = 5
"""Replicas that a change names; all are counted."""

_FORCED = 20
"""Certificates in a list of the text."""
SCHEMA = "adhere.whatif/v1"

Outcome = Literal["fails", "inconclusive", "follows", "excused", "passes", "not_applicable"]

OUTCOMES: tuple[Outcome, ...] = ("fails", "inconclusive", "follows", "excused", "passes", "not_applicable")
"""Outcomes, the most important first."""

_TITLES: dict[Outcome, str] = {
    "fails": "WOULD NEWLY FAIL",
    "inconclusive": "COULD NO LONGER BE DETERMINED",
    "follows": "WOULD BE RECONFIGURED BY ITS OPERATOR",
    "excused": "WOULD DEVIATE, NOT COUNTED IN THE EXIT CODE",
    "passes": "WOULD NEWLY PASS",
    "not_applicable": "WOULD HAVE NO TLS REQUIREMENT",
}
WORDS: dict[Outcome, str] = {
    "fails": "fail",
    "inconclusive": "inconclusive",
    "follows": "reconfigured",
    "excused": "differing, not counted",
    "passes": "pass",
    "not_applicable": "not applicable",
}
STYLES: dict[Outcome, tuple[str, str]] = {
    "fails": ("✗", "fail"),
    "inconclusive": ("?", "inconclusive"),
    "follows": ("→", "pass"),
    "excused": ("~", "inconclusive"),
    "passes": ("✓", "pass"),
    "not_applicable": ("–", "not_applicable"),
}


class Outlook(Struct, frozen=True, kw_only=True):
    """Forecast for a listener that does not comply yet with a profile of ``--profile``."""

    kind: Literal["follows", "cannot", "does-not-follow"]
    """``follows``: it complies with the current profile, and takes the new one from the same object. ``cannot``: it
    follows, but was observed to be unable to. ``does-not-follow``: it does not comply with the current profile."""
    source: str
    """Object and field that would have the new profile."""
    why: str


class Change(Struct):
    """A listener with another outcome, and the replicas with the same change."""

    id: str
    owner: OwnerRow
    component: str | None
    standing: str
    before: Outcome
    after: Outcome
    profile: str | None
    """Required profile after the change."""
    because: list[str]
    """Reasons for this profile."""
    findings: list[FindingRow]
    """Failed or inconclusive findings after the change."""
    outlook: Outlook | None = None
    """Forecast, if ``--profile`` is used and an object brings the profile to the listener."""
    count: int = 0
    instances: list[str] = field(default_factory=list)
    """The first instances."""

    def add(self, row: EndpointRow) -> None:
        """Add a replica."""
        self.count += 1
        if len(self.instances) < _INSTANCES:
            self.instances.append(row["instance"])


class RotationRow(TypedDict):
    """A certificate that must be rotated before it complies with another PKI configuration."""

    names: list[str]
    subject: str | None
    sha256: str
    cluster: str | None
    status: str
    """``pending-rotation`` or ``needs-forced-rotation``."""
    by: str | None
    """Latest renewal by its operator, RFC 3339; null if unknown or not renewed automatically."""
    not_after: str | None


class Rotations(Struct, frozen=True, kw_only=True):
    """Certificates to be rotated before all keys comply with another PKI configuration."""

    pending: int = 0
    """Certificates that are renewed automatically."""
    first: str | None = None
    """First renewal, RFC 3339."""
    last: str | None = None
    forced: int = 0
    """Certificates that are not renewed automatically."""
    rows: tuple[RotationRow, ...] = ()
    """Forced rotations first, then by date; at most ``MOST_ROTATIONS``."""


MOST_ROTATIONS = 1000


def rotations(rows: Iterable[InventoryRow]) -> Rotations:
    """Count the rotations in an inventory that was judged by that configuration."""
    found = [_rotation(row) for row in rows if row["status"] in ("pending-rotation", "needs-forced-rotation")]
    found.sort(key=lambda one: (one["status"], one["by"] or one["not_after"] or "9", one["sha256"]))
    waiting = [one for one in found if one["status"] == "pending-rotation"]
    dates = [one["by"] for one in waiting if one["by"]]
    return Rotations(
        pending=len(waiting),
        first=min(dates, default=None),
        last=max(dates, default=None),
        forced=len(found) - len(waiting),
        rows=tuple(found[:MOST_ROTATIONS]),
    )


def _rotation(row: InventoryRow) -> RotationRow:
    return RotationRow(
        names=row["names"],
        subject=row["subject"],
        sha256=row["sha256"],
        cluster=row["cluster"],
        status=row["status"],
        by=row["renewal"]["by"] if row["renewal"] else None,
        not_after=row["not_after"],
    )


class Comparison(Struct, frozen=True, kw_only=True):
    """The endpoints and findings that would change, and the number of unchanged endpoints."""

    before: Counter[Outcome]
    after: Counter[Outcome]
    changes: tuple[Change, ...]
    """The failures first; within an outcome by component, then owner."""
    unchanged: int
    only_before: int
    """Endpoints of the first judgement only."""
    only_after: int
    out_of_scope: int = 0
    """Number of endpoints in ``only_before`` that the policy would exclude."""
    newly_in_scope: int = 0
    """Number of listeners that the policy would include, and that the saved scan did not probe."""
    not_judged: tuple[str, ...] = ()
    """Results of the scan that could not be judged again, each with the reason."""
    certificates: Rotations | None = None
    """Rotations under another PKI configuration."""
    failing: tuple[FindingRow, ...] = ()
    """Cluster-wide findings that would newly fail."""
    undecided: tuple[FindingRow, ...] = ()
    """Cluster-wide findings that would become inconclusive."""
    mended: tuple[FindingRow, ...] = ()
    """Cluster-wide findings that would no longer fail."""

    @property
    def breaks(self) -> bool:
        """True if something would newly fail."""
        return bool(self.failing or self.changed("fails"))

    @property
    def loses(self) -> bool:
        """True if something would become inconclusive."""
        return bool(self.undecided or self.changed("inconclusive"))

    def with_findings(self, before: Iterable[FindingRow], after: Iterable[FindingRow]) -> Comparison:
        """Return the comparison with the cluster-wide findings of both judgements."""
        was, now = ({fingerprint(one, ""): (_weight(one), one) for one in some} for some in (before, after))
        fine: tuple[Outcome, None] = ("passes", None)
        changed = [(key, outcome) for key, (outcome, _) in now.items() if outcome != was.get(key, fine)[0]]
        return replace(
            self,
            failing=tuple(now[key][1] for key, outcome in changed if outcome == "fails"),
            undecided=tuple(now[key][1] for key, outcome in changed if outcome == "inconclusive"),
            mended=tuple(one for key, (outcome, one) in was.items() if outcome == "fails" != now.get(key, fine)[0]),
        )

    def changed(self, after: Outcome) -> list[Change]:
        """Return the changes to this outcome."""
        return [change for change in self.changes if change.after == after]


def _weight(finding: FindingRow) -> Outcome:
    """Return the outcome of a finding; an informational one passes."""
    if finding["verdict"] == "inconclusive" and not headline.open_question(finding):
        return "passes"
    return outcome(finding)


def outcome(row: EndpointRow | FindingRow) -> Outcome:
    """Return the outcome of an endpoint or a finding. One that a baseline has is a failure as before."""
    match row["verdict"]:
        case "fail":
            return "excused" if row["status"] in NEVER_FAILS - {KNOWN} else "fails"
        case "pass":
            return "passes"
        case "not_applicable":
            return "not_applicable"
        case _:
            return "inconclusive"


def compare(
    before: Iterable[EndpointRow],
    after: Iterable[EndpointRow],
    outlooks: Callable[[str], Outlook | None] = lambda _: None,
) -> Comparison:
    """Compare two judgements by instance. Only the outcomes of ``before`` and the changes of ``after`` are kept.

    ``outlooks`` is called with the instance of each failure in ``after``.
    """
    was = {row["instance"]: outcome(row) for row in before}
    now, changes = Counter[Outcome](), dict[object, Change]()
    seen = unchanged = 0
    for row in after:
        is_now, earlier = outcome(row), was.get(row["instance"])
        outlook = outlooks(row["instance"]) if is_now == "fails" else None
        if outlook is not None and outlook.kind == "follows":
            is_now = "follows"
        now[is_now] += 1
        seen += earlier is not None
        if earlier == is_now:
            unchanged += 1
        elif earlier is not None:
            _note(changes, row, earlier, is_now, outlook)
    return Comparison(
        before=Counter(was.values()),
        after=now,
        changes=tuple(sorted(changes.values(), key=_place)),
        unchanged=unchanged,
        only_before=len(was) - seen,
        only_after=now.total() - seen,
    )


def _note(
    changes: dict[object, Change], row: EndpointRow, before: Outcome, after: Outcome, outlook: Outlook | None
) -> None:
    found = [one for one in row["findings"] if headline.open_question(one)]
    key = (row["id"], before, after, tuple(map(equal, found)), outlook)
    if key not in changes:
        changes[key] = Change(
            id=row["id"],
            owner=row["owner"],
            component=row["component"],
            standing=row["standing"],
            before=before,
            after=after,
            profile=row["expected"]["profile"],
            because=row["expected"]["because"],
            findings=found,
            outlook=outlook,
        )
    changes[key].add(row)


def _place(change: Change) -> tuple[int, bool, str, str, str, str]:
    component = change.component or ""
    namespace = change.owner["namespace"] or ""
    return (OUTCOMES.index(change.after), not component, component, namespace, owner_name(change.owner), change.id)


# --- text -----------------------------------------------------------------------------------------------------------


def write_text(
    comparison: Comparison, out: TextIO, *, title: str = "", color: bool = False, width: int | None = None
) -> None:
    """Write the comparison as text. ``title``: the assumption, ``profile modern, adherence StrictAllComponents``."""
    page = Page(out, color, None if width is None else max(width, 40))
    page.line(page.paint("title", "what if"), f"  {plain(title, 300)}" if title else "")
    page.line()
    for heading, found in (
        ("CLUSTER-WIDE FINDINGS THAT WOULD NEWLY FAIL", comparison.failing),
        ("CLUSTER-WIDE FINDINGS THAT COULD NO LONGER BE DETERMINED", comparison.undecided),
        ("CLUSTER-WIDE FINDINGS THAT WOULD BE GONE", comparison.mended),
    ):
        if found:
            page.title(heading)
            findings(page, merged(found))
            page.line()
    for after in OUTCOMES:
        _section(page, after, comparison.changed(after))
    if not (comparison.breaks or comparison.mended or comparison.changed("passes")):
        page.line("nothing would newly fail or pass")
        page.line()
    page.title("SUMMARY")
    for name, counts in (("now", comparison.before), ("then", comparison.after)):
        parts = [f"{counts[each]} {WORDS[each]}" for each in OUTCOMES if counts[each]]
        page.line(f"  {name:<10} ", "; ".join(parts) or "nothing")
    changed = sum(change.count for change in comparison.changes)
    same = f"{comparison.unchanged} {'is' if comparison.unchanged == 1 else 'are'} as before"
    page.line(f"  {'changed':<10} {counted(changed, 'endpoint')}, {same}")
    others = (
        (len(comparison.failing), "would newly fail"),
        (len(comparison.undecided), "could no longer be determined"),
        (len(comparison.mended), "would be gone"),
    )
    if said := ", ".join(f"{count} {what}" for count, what in others if count):
        page.line(f"  {'findings':<10} cluster-wide: {said}")
    if comparison.certificates is not None:
        _rotations(page, comparison.certificates)
    for count, what in (
        (comparison.out_of_scope, "would no longer be scanned"),
        (comparison.newly_in_scope, "would be scanned too, and have not been probed yet"),
        (_unobserved(comparison), "only in the first judgement"),
        (comparison.only_after, "only in the second judgement"),
    ):
        if count:
            page.line(f"  {'':<10} {what}: {count}")
    for each in comparison.not_judged:
        page.folded(13, f"  {'not judged':<10} ", plain(each, 300))
    page.folded(8, "", exit_line(comparison))


def exit_code(comparison: Comparison) -> int:
    """Return 1 for new failures, else 3 for newly inconclusive results and for lost observations, else 0."""
    if comparison.breaks:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if comparison.loses or _unobserved(comparison) else EXIT_OK


def _unobserved(comparison: Comparison) -> int:
    """Return the number of endpoints of the saved scan that have no observation: its files were changed."""
    return max(comparison.only_before - comparison.out_of_scope, 0)


def exit_line(comparison: Comparison) -> str:
    """Return the exit line, with the counts of new failures and inconclusive results."""
    reasons = [
        _reason(comparison.changed("fails"), comparison.failing, "would newly fail"),
        _reason(comparison.changed("inconclusive"), comparison.undecided, "would become inconclusive"),
    ]
    if lost := _unobserved(comparison):
        reasons.append(f"not complete: {counted(lost, 'endpoint')} of the saved scan without an observation")
    if not any(reasons):
        reasons = ["nothing would newly fail or become inconclusive"]
    return exit_text(exit_code(comparison), reasons)


def _reason(changes: list[Change], wide: Sequence[FindingRow], what: str) -> str:
    endpoints = sum(change.count for change in changes)
    parts = [counted(endpoints, "endpoint")] if endpoints else []
    parts += [counted(len(wide), "cluster-wide finding")] if wide else []
    return f"{' and '.join(parts)} {what}" if parts else ""


def _rotations(page: Page, found: Rotations) -> None:
    """Write the number of certificates whose rotation is pending, and those to be replaced by hand."""
    when = f", the first by {found.first[:10]}, the last by {found.last[:10]}" if found.first and found.last else ""
    page.folded(13, f"  {'pending':<10} ", f"{counted(found.pending, 'certificate')} to be renewed by operators{when}")
    forced = [one for one in found.rows if one["status"] == "needs-forced-rotation"]
    named = [f"{plain(_called(one), 80)} (expires {(one['not_after'] or 'unknown')[:10]})" for one in forced[:_FORCED]]
    more = [f"and {found.forced - _FORCED} more"] if found.forced > _FORCED else []
    words = f"{counted(found.forced, 'certificate')} that are not renewed automatically"
    page.folded(13, f"  {'forced':<10} ", f"{words}: {', '.join([*named, *more])}" if named else words)


def _called(row: RotationRow) -> str:
    name = " or ".join(row["names"]) or row["subject"] or row["sha256"][:16]
    return f"{row['cluster']}: {name}" if row["cluster"] else name


def _section(page: Page, after: Outcome, changes: list[Change]) -> None:
    if not changes:
        return
    owners = {(change.component, owner_name(change.owner)) for change in changes}
    count = sum(change.count for change in changes)
    page.title(f"{_TITLES[after]}  ({counted(count, 'endpoint')} of {counted(len(owners), 'owner')})")
    page.line()
    for title, found in groupby(changes, key=_heading):
        page.title(title)
        for change in found:
            _change(page, change)
        page.line()


def _heading(change: Change) -> str:
    platform = change.standing in ("platform", "listed")
    standing = "" if platform else f"  ({headline.STANDINGS.get(change.standing, '')})"
    return owner_heading(change.component, change.owner) + standing


def owner_heading(component: str | None, owner: OwnerRow) -> str:
    """``etcd: StaticPod openshift-etcd/etcd``, escaped."""
    return (f"{plain(component)}: " if component else "") + plain(owner_name(owner), 120)


def _change(page: Page, change: Change) -> None:
    symbol, style = STYLES[change.after]
    replicas = f"  {change.count} replicas" if change.count > 1 else ""
    owed = f", then requires {plain(change.profile, 80)}" if change.profile else ""
    page.line(page.paint(style, f"{symbol} {plain(change.id, 120)}"), replicas,
              page.paint("quiet", f"  now: {WORDS[change.before]}{owed}"))  # fmt: skip
    if change.outlook is not None:
        page.folded(4, "    ", plain(f"{change.outlook.why} (from {change.outlook.source})", 300))
        if change.after == "follows":
            return
    elif change.because:
        page.folded(4, "    ", plain(change.because[-1], 300))
    findings(page, change.findings)


# --- JSON -----------------------------------------------------------------------------------------------------------


def write_json(comparison: Comparison, out: TextIO, *, assumed: dict[str, str] | None = None) -> None:
    """Write the comparison as JSON (``docs/schema/whatif-v1.json``): the counts, then a line for each change."""
    members: dict[str, object] = {
        "schema": SCHEMA,
        "assumed": assumed or {},
        "before": {each: comparison.before[each] for each in OUTCOMES},
        "after": {each: comparison.after[each] for each in OUTCOMES},
        "unchanged": comparison.unchanged,
        "only_before": comparison.only_before,
        "only_after": comparison.only_after,
        "out_of_scope": comparison.out_of_scope,
        "newly_in_scope": comparison.newly_in_scope,
        "not_judged": list(comparison.not_judged),
        "certificates": None if comparison.certificates is None else structs.asdict(comparison.certificates),
        "findings": {
            "failing": comparison.failing,
            "undecided": comparison.undecided,
            "mended": comparison.mended,
        },
        "changes": (dumps(_change_row(change)) for change in comparison.changes),
    }
    write_document(out, members)


def _change_row(change: Change) -> dict[str, object]:
    return {
        "id": change.id,
        "owner": change.owner,
        "component": change.component,
        "standing": change.standing,
        "before": change.before,
        "after": change.after,
        "profile": change.profile,
        "because": change.because,
        "endpoints": change.count,
        "instances": change.instances,
        "findings": change.findings,
        "outlook": change.outlook.kind if change.outlook else None,
        "source": change.outlook.source if change.outlook else None,
    }
