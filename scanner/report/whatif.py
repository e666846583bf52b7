"""What would change if something else were owed: two judgements of the same observations, compared.

Endpoints are compared by instance, and replicas that change alike are told once. "Fails" is a failure that counts;
what is waived, settling or readiness only is "excused", so that an adherence that begins to bind shows as failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TextIO, TypedDict

from scanner.model.inventory import InventoryRow
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_OK,
    NEVER_FAILS,
    EndpointRow,
    FindingRow,
    OwnerRow,
)
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.grouping import PLACES, merged, owner_name
from scanner.report.page import Page, counted, exit_text, findings
from scanner.report.stream import dumps, write_document

_FORCED = 20
"""Certificates that are named in the text."""
SCHEMA = "adhere.whatif/v1"

Outcome = Literal["fails", "inconclusive", "follows", "excused", "passes", "not_applicable"]

OUTCOMES: tuple[Outcome, ...] = ("fails", "inconclusive", "follows", "excused", "passes", "not_applicable")
"""What matters most to a reader first."""

_TITLES: dict[Outcome, str] = {
    "fails": "WOULD NEWLY FAIL",
    "inconclusive": "COULD NO LONGER BE DETERMINED",
    "follows": "WOULD BE RECONFIGURED BY ITS OPERATOR",
    "excused": "WOULD DEVIATE WITHOUT BREAKING ANYTHING",
    "passes": "WOULD NEWLY PASS",
    "not_applicable": "WOULD NO LONGER HAVE TO SPEAK TLS",
}
_WORDS: dict[Outcome, str] = {
    "fails": "fail",
    "inconclusive": "inconclusive",
    "follows": "reconfigured",
    "excused": "differing, not counted",
    "passes": "pass",
    "not_applicable": "not applicable",
}
_STYLES: dict[Outcome, tuple[str, str]] = {
    "fails": ("✗", "fail"),
    "inconclusive": ("?", "inconclusive"),
    "follows": ("→", "pass"),
    "excused": ("~", "inconclusive"),
    "passes": ("✓", "pass"),
    "not_applicable": ("–", "not_applicable"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What becomes of a listener that does not meet a profile yet which somebody only asks about."""

    kind: Literal["follows", "cannot", "does-not-follow"]
    """``follows``: it meets today's, and takes the new one from the same object. ``cannot``: it follows, and was seen
    unable to. ``does-not-follow``: it does not meet today's either."""
    source: str
    """The object and field that the new profile would come from."""
    why: str


@dataclass(slots=True)
class Change:
    """One listener whose outcome is another one, with the replicas that change in the same way."""

    id: str
    owner: OwnerRow
    component: str | None
    standing: str
    before: Outcome
    after: Outcome
    profile: str | None
    """What it would owe."""
    because: list[str]
    """Who would say so."""
    findings: list[FindingRow]
    """What would need a reader."""
    outlook: Outlook | None = None
    """Where another profile is asked about, and an object brings it to the listener."""
    count: int = 0
    instances: list[str] = field(default_factory=list)
    """The first few."""

    def add(self, row: EndpointRow) -> None:
        """Another replica."""
        self.count += 1
        if len(self.instances) < PLACES:
            self.instances.append(row["instance"])


class RotationRow(TypedDict):
    """A certificate that another PKI configuration would have to wait for."""

    names: list[str]
    subject: str | None
    sha256: str
    cluster: str | None
    status: str
    """``pending-rotation`` or ``needs-forced-rotation``."""
    by: str | None
    """When its operator renews it at the latest, RFC 3339; null where nothing does, or nothing says when."""
    not_after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotations:
    """What has to be made anew before every key is as another PKI configuration asks."""

    pending: int = 0
    """Certificates that their operators renew by themselves."""
    first: str | None = None
    """When the first of them is renewed, RFC 3339."""
    last: str | None = None
    forced: int = 0
    """Certificates that nothing renews by itself."""
    rows: tuple[RotationRow, ...] = ()
    """The forced ones first, each kind by date; the first ``MOST_ROTATIONS``."""


MOST_ROTATIONS = 1000


def rotations(rows: Iterable[InventoryRow]) -> Rotations:
    """Count them, of an inventory that was judged by that configuration."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that would change, and how many endpoints would not."""

    before: Counter[Outcome]
    after: Counter[Outcome]
    changes: tuple[Change, ...]
    """The failures first; within an outcome by component, then owner."""
    unchanged: int
    only_before: int
    """Endpoints of the first judgement that the second does not have."""
    only_after: int
    out_of_scope: int = 0
    """Of ``only_before``: endpoints that the policy would leave out."""
    newly_in_scope: int = 0
    """Listeners that the policy would let a scan ask, and of which the saved one cannot tell: nobody has asked them."""
    not_judged: tuple[str, ...] = ()
    """What the scan may have said and was not judged again, each with the reason."""
    certificates: Rotations | None = None
    """Under another PKI configuration: what would have to be made anew."""
    failing: tuple[FindingRow, ...] = ()
    """Findings on no single endpoint that would newly fail."""
    undecided: tuple[FindingRow, ...] = ()
    """Those of which nobody could tell any more."""
    mended: tuple[FindingRow, ...] = ()
    """Those that fail now and would not."""

    @property
    def breaks(self) -> bool:
        """Whether something would newly fail that counts."""
        return bool(self.failing or self.changed("fails"))

    @property
    def loses(self) -> bool:
        """Whether something could no longer be determined that can be told now."""
        return bool(self.undecided or self.changed("inconclusive"))

    def with_findings(self, before: Iterable[FindingRow], after: Iterable[FindingRow]) -> Comparison:
        """The same, with what is said of no single endpoint compared too."""
        was, now = ({_identity(one): (_weight(one), one) for one in some} for some in (before, after))
        fine: tuple[Outcome, None] = ("passes", None)
        changed = [(key, told) for key, (told, _) in now.items() if told != was.get(key, fine)[0]]
        return replace(
            self,
            failing=tuple(now[key][1] for key, told in changed if told == "fails"),
            undecided=tuple(now[key][1] for key, told in changed if told == "inconclusive"),
            mended=tuple(one for key, (told, one) in was.items() if told == "fails" != now.get(key, fine)[0]),
        )

    def changed(self, after: Outcome) -> list[Change]:
        """Those that would come to this outcome."""
        return [change for change in self.changes if change.after == after]


def _identity(finding: FindingRow) -> tuple[str, str]:
    """What makes a finding on no endpoint the same in two judgements. A waiver is known by who answers for what until
    when: the line of the file where that is written may be another one."""
    if finding["rule"].startswith("waiver-") and finding["evidence"]:
        return finding["rule"], finding["evidence"][0].rpartition(" (")[0]
    return finding["rule"], finding["about"] or finding["message"]


def _weight(finding: FindingRow) -> Outcome:
    """What a finding amounts to; one that only informs says nothing for or against."""
    if finding["verdict"] == "inconclusive" and not headline.open_question(finding):
        return "passes"
    return outcome(finding)


def outcome(row: EndpointRow | FindingRow) -> Outcome:
    """What became of one endpoint, or one finding."""
    match row["verdict"]:
        case "fail":
            return "excused" if row["status"] in NEVER_FAILS else "fails"
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
    """Compare two judgements by instance. Of ``before`` only the outcomes are kept, of ``after`` what changed.
    ``outlooks`` is asked for the instance of each failure of ``after``."""
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
    alike = tuple((one["rule"], one["status"], one["message"], tuple(one["observed"])) for one in found)
    key = (row["id"], before, after, alike, outlook)
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
    """For people. ``title`` says what was assumed: ``profile modern, adherence StrictAllComponents``."""
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
        told = [f"{counts[each]} {_WORDS[each]}" for each in OUTCOMES if counts[each]]
        page.line(f"  {name:<10} ", "; ".join(told) or "nothing")
    changed = sum(change.count for change in comparison.changes)
    same = f"{comparison.unchanged} {'is' if comparison.unchanged == 1 else 'are'} as before"
    page.line(f"  {'changed':<10} {counted(changed, 'endpoint')}, {same}")
    others = (
        (len(comparison.failing), "would newly fail"),
        (len(comparison.undecided), "could no longer be determined"),
        (len(comparison.mended), "would be gone"),
    )
    if said := ", ".join(f"{count} {what}" for count, what in others if count):
        page.line(f"  {'findings':<10} on no single endpoint: {said}")
    if comparison.certificates is not None:
        _rotations(page, comparison.certificates)
    for count, what in (
        (comparison.out_of_scope, "would no longer be scanned"),
        (comparison.newly_in_scope, "would be scanned too, and have not been probed yet"),
        (comparison.only_before - comparison.out_of_scope, "only in the first judgement"),
        (comparison.only_after, "only in the second judgement"),
    ):
        if count:
            page.line(f"  {'':<10} {what}: {count}")
    for each in comparison.not_judged:
        page.folded(13, f"  {'not judged':<10} ", plain(each, 300))
    page.folded(8, "", exit_line(comparison))


def exit_code(comparison: Comparison) -> int:
    """What would newly fail weighs more than what could no longer be determined."""
    if comparison.breaks:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if comparison.loses else EXIT_OK


def exit_line(comparison: Comparison) -> str:
    """The exit code, and what would newly fail or become inconclusive."""
    reasons = [
        _reason(comparison.changed("fails"), comparison.failing, "would newly fail"),
        _reason(comparison.changed("inconclusive"), comparison.undecided, "would become inconclusive"),
    ]
    if not any(reasons):
        reasons = ["nothing would newly fail or become inconclusive"]
    return exit_text(exit_code(comparison), reasons)


def _reason(changes: list[Change], wide: Sequence[FindingRow], what: str) -> str:
    endpoints = sum(change.count for change in changes)
    told = [counted(endpoints, "endpoint")] if endpoints else []
    told += [counted(len(wide), "cluster-wide finding")] if wide else []
    return f"{' and '.join(told)} {what}" if told else ""


def _rotations(page: Page, told: Rotations) -> None:
    """How many certificates wait, and until when; and those that somebody has to replace."""
    when = f", the first by {told.first[:10]}, the last by {told.last[:10]}" if told.first and told.last else ""
    page.folded(13, f"  {'pending':<10} ", f"{counted(told.pending, 'certificate')} to be renewed by operators{when}")
    forced = [one for one in told.rows if one["status"] == "needs-forced-rotation"]
    named = [f"{plain(_called(one), 80)} (expires {(one['not_after'] or 'unknown')[:10]})" for one in forced[:_FORCED]]
    more = [f"and {told.forced - _FORCED} more"] if told.forced > _FORCED else []
    said = f"{counted(told.forced, 'certificate')} that nothing renews"
    page.folded(13, f"  {'forced':<10} ", f"{said}: {', '.join([*named, *more])}" if named else said)


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
    under: tuple[str | None, str] | None = None
    for change in changes:
        group = (change.component, owner_name(change.owner))
        if group != under:
            if under:
                page.line()
            standing = "" if change.standing in ("platform", "listed") else f"  ({plain(change.standing)})"
            page.title(f"{plain(group[0]) + ': ' if group[0] else ''}{plain(group[1], 120)}{standing}")
            under = group
        _change(page, change)
    page.line()


def _change(page: Page, change: Change) -> None:
    symbol, style = _STYLES[change.after]
    replicas = f"  {change.count} replicas" if change.count > 1 else ""
    owed = f", then requires {plain(change.profile, 80)}" if change.profile else ""
    page.line(page.paint(style, f"{symbol} {plain(change.id, 120)}"), replicas,
              page.paint("quiet", f"  now: {_WORDS[change.before]}{owed}"))  # fmt: skip
    if change.outlook is not None:
        page.folded(4, "    ", plain(f"{change.outlook.why} (from {change.outlook.source})", 300))
        if change.after == "follows":
            return
    elif change.because:
        page.folded(4, "    ", plain(change.because[-1], 300))
    findings(page, change.findings)


# --- JSON -----------------------------------------------------------------------------------------------------------


def write_json(comparison: Comparison, out: TextIO, *, assumed: dict[str, str] | None = None) -> None:
    """For scripts (``docs/schema/whatif-v1.json``): the counts, then a line for each change."""
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
        "certificates": None if comparison.certificates is None else _rotations_row(comparison.certificates),
        "findings": {
            "failing": comparison.failing,
            "undecided": comparison.undecided,
            "mended": comparison.mended,
        },
        "changes": (dumps(_change_row(change)) for change in comparison.changes),
    }
    write_document(out, members)


def _rotations_row(told: Rotations) -> dict[str, object]:
    return {
        "pending": told.pending,
        "first": told.first,
        "last": told.last,
        "forced": told.forced,
        "rows": list(told.rows),
    }


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
