"""Compare two results: findings and endpoints that are new, fixed, changed or newly inconclusive.

Only a rule that passes has fixed a finding. A listener that is gone, or that could not be judged, has fixed nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, Literal, TextIO, TypedDict, TypeVar

from msgspec import Struct

from scanner.model.fingerprint import covers
from scanner.model.lint_report import SCHEMA as LINT
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_OK,
    FailOn,
    FindingRow,
    OwnerRow,
    counted_severities,
)
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.page import Page, counted, exit_text
from scanner.report.page import findings as write_findings
from scanner.report.results import Entry, Results
from scanner.report.stream import dumps, write_document
from scanner.report.whatif import STYLES, WORDS, Outcome, owner_heading

SCHEMA: Final = "adhere.diff/v1"
_SHARED: Final = frozenset({"pki-key-reuse", "passthrough-backend", "replicas-differ", "tls-shared-connections"})
"""Rules on several endpoints together, which may pass because one of them is gone."""
_MOST = 200
"""Entries of one section of the text."""

FindingKind = Literal["new", "undetermined", "changed", "fixed"]
EndpointKind = Literal["new", "undetermined", "gone", "changed"]
FINDINGS: dict[FindingKind, str] = {
    "new": "NEW FINDINGS",
    "undetermined": "NEWLY INCONCLUSIVE",
    "changed": "CHANGED FINDINGS",
    "fixed": "FIXED FINDINGS",
}
ENDPOINTS: dict[EndpointKind, str] = {
    "new": "NEW {}",
    "undetermined": "{} NEWLY INCONCLUSIVE",
    "gone": "{} THAT ARE GONE",
    "changed": "{} WITH ANOTHER RESULT",
}


class FindingChange(TypedDict):
    """One finding that differs."""

    change: FindingKind
    fingerprint: str
    subject: str
    component: str | None
    owner: OwnerRow | None
    """Null if it is about no endpoint and no object of the results."""
    before: Outcome | None
    """Null if it was not judged, or not found."""
    after: Outcome | None
    worse: bool
    """True if it fails in both, and is now more severe, more frequent, or has another version, suite or group."""
    finding: FindingRow
    """As it is now; if it is no longer there, as it was."""


class EndpointChange(TypedDict):
    """One endpoint or object that differs."""

    change: EndpointKind
    subject: str
    """Id of the endpoint, or name and file of the object."""
    component: str | None
    owner: OwnerRow
    before: Outcome | None
    after: Outcome | None
    findings: int
    """Findings of one that is gone: they are not fixed."""


C = TypeVar("C", FindingChange, EndpointChange)


class Difference(Struct, frozen=True, kw_only=True):
    """The difference of two results."""

    old: Results
    new: Results
    findings: list[FindingChange]
    """By kind; within a kind by owner."""
    endpoints: list[EndpointChange]
    unchanged: int
    """Number of findings that are the same."""
    gaps: list[str]
    """The kinds and files that only the old results have read."""
    fail_on: FailOn = "never"
    """Lowest severity of a new failure that makes the exit code 1."""

    @property
    def gated(self) -> list[FindingChange]:
        """Failures that are new or worse, and that the exit code counts."""
        severities = counted_severities(self.fail_on)
        return [
            each
            for each in self.findings
            if each["after"] == "fails"
            and (each["change"] == "new" or each["worse"])
            and each["finding"]["severity"] in severities
        ]

    @property
    def undetermined(self) -> int:
        """Number of findings and endpoints that are newly inconclusive."""
        return sum(each["change"] == "undetermined" for each in (*self.findings, *self.endpoints))


def compare(old: Results, new: Results, fail_on: FailOn = "never") -> Difference:
    """Compare two results of the same kind."""
    gaps = [reason for reason, count in new.gaps.items() if count > old.gaps[reason]]
    names = [*new.entries, *(name for name in old.entries if name not in new.entries)]
    fewer = bool(old.subjects.keys() - new.subjects.keys())
    found = {name: _finding(name, old, new, partial=bool(gaps), fewer=fewer) for name in names}
    endpoints = _endpoints(old, new, partial=bool(gaps))
    return Difference(
        old=old,
        new=new,
        findings=sorted(
            (each for each in found.values() if each),
            key=lambda one: (list(FINDINGS).index(one["change"]), _place(one), headline.importance(one["finding"])),
        ),
        endpoints=sorted(
            endpoints, key=lambda one: (list(ENDPOINTS).index(one["change"]), _place(one), one["subject"])
        ),
        unchanged=sum(name in old.entries and name in new.entries and each is None for name, each in found.items()),
        gaps=gaps,
        fail_on=fail_on,
    )


def _finding(name: str, old: Results, new: Results, *, partial: bool, fewer: bool) -> FindingChange | None:
    """Return the change of one finding, or None. ``fewer``: an endpoint is gone."""
    was, now = old.entries.get(name), new.entries.get(name)
    entry = now or was
    assert entry is not None  # noqa: S101 - the name is of one of them
    before = was.outcome if was else _without(entry, old)
    after = now.outcome if now else _without(entry, new)
    if now is None and entry.subject in old.subjects and entry.subject not in new.subjects:
        return None  # the endpoint's own entry counts it
    if now is None and (entry.wide or entry.subject not in old.subjects):
        seen = new.subjects.get(entry.subject)
        unknown = partial or (
            fewer and entry.finding["rule"] in _SHARED if seen is None else seen.outcome == "inconclusive"
        )
        after = None if unknown else "passes"
    kind = _kind(was, now, after)
    if kind is None:
        return None
    subject = new.subjects.get(entry.subject) or old.subjects.get(entry.subject)
    return FindingChange(
        change=kind,
        fingerprint=name,
        subject=entry.subject,
        component=subject.component if subject else None,
        owner=subject.owner if subject else None,
        before=before,
        after=after,
        worse=bool(was and now and before == after == "fails" and not covers(was.row(name), now.row(name))),
        finding=entry.finding,
    )


def _without(entry: Entry, results: Results) -> Outcome | None:
    """Return the outcome of a rule in results without its finding: it passed, or was not judged."""
    subject = results.subjects.get(entry.subject)
    return "passes" if subject and entry.finding["rule"] in (subject.passed or ()) else None


def _kind(was: Entry | None, now: Entry | None, after: Outcome | None) -> FindingKind | None:
    if now is None:
        if was is not None and was.outcome == "inconclusive":
            return "changed" if after == "passes" else None
        return "fixed" if after == "passes" else "undetermined"
    if was is None or was.outcome != now.outcome:
        if now.outcome == "inconclusive":
            return "undetermined"
        return "changed" if was and was.outcome == "fails" else "new"
    return "changed" if now.outcome != "inconclusive" and now.state != was.state else None


def _endpoints(old: Results, new: Results, *, partial: bool) -> Iterator[EndpointChange]:
    """Yield the endpoints that differ. What is missing in partial results is not gone."""
    lost = Counter(each.subject for each in old.entries.values() if each.subject not in new.subjects)
    for name in {**old.subjects, **new.subjects}:
        was, now = old.subjects.get(name), new.subjects.get(name)
        before, after = was.outcome if was else None, now.outcome if now else None
        if before == after:
            continue
        kind: EndpointKind = "gone" if now is None else "new" if was is None else "changed"
        if (now is None and partial) or (after == "inconclusive" and was is not None):
            kind = "undetermined"
        subject = now or was
        assert subject is not None  # noqa: S101 - the name is of one of them
        owner, component = subject.owner, subject.component
        yield EndpointChange(
            change=kind, subject=name, component=component, owner=owner, before=before, after=after, findings=lost[name]
        )


def _place(change: FindingChange | EndpointChange) -> tuple[bool, str, str]:
    """Sort key: known components first, by name, then by owner."""
    component, owner = change["component"], change["owner"]
    return (component is None, component or "", owner_heading(None, owner) if owner else "")


# --- text -----------------------------------------------------------------------------------------------------------


def write_text(diff: Difference, out: TextIO, *, color: bool = False, width: int | None = None) -> None:
    """Write the difference as text."""
    page = Page(out, color, None if width is None else max(width, 40))
    old, new = (f"{plain(each.source, 200)} ({plain(each.started, 40)})" for each in (diff.old, diff.new))
    page.line(page.paint("title", "diff"), f"  {old} -> {new}")
    page.line()
    for kind, title in FINDINGS.items():
        _section(page, title, [each for each in diff.findings if each["change"] == kind], _write_findings)
    what = "OBJECTS" if diff.new.of == LINT else "ENDPOINTS"
    for place, title in ENDPOINTS.items():
        found = [each for each in diff.endpoints if each["change"] == place]
        _section(page, title.format(what), found, _write_endpoints)
    page.title("SUMMARY")
    findings, endpoints = counts(diff)
    page.line(f"  {'findings':<10} ", _said(findings), f", {diff.unchanged} unchanged")
    page.line(f"  {what.lower():<10} ", _said(endpoints))
    for results in (diff.old, diff.new):
        if results.shortfall or results.undecided:
            why = "; ".join(filter(None, (results.shortfall, results.undecided)))
            page.folded(13, f"  {'incomplete':<10} ", f"{plain(results.source, 200)}: {plain(why, 300)}")
    for each in diff.gaps:
        page.folded(13, f"  {'not seen':<10} ", f"only in the new results: {plain(each, 300)}")
    page.folded(8, "", exit_line(diff))


def _section(page: Page, title: str, found: Sequence[C], write: Callable[[Page, list[C]], None]) -> None:
    """Write the changes of one kind by owner."""
    if not found:
        return
    page.title(f"{title}  ({len(found)})")
    page.line()
    for heading, group in groupby(found[:_MOST], key=_heading):
        page.title(heading)
        for (line, style), changes in groupby(group, key=_line):
            page.line(page.paint(style, line))
            write(page, list(changes))
        page.line()
    if len(found) > _MOST:
        page.line(f"and {len(found) - _MOST} more (--format json has them)")
        page.line()


def _heading(change: FindingChange | EndpointChange) -> str:
    return owner_heading(change["component"], change["owner"]) if change["owner"] else "cluster-wide"


def _line(change: FindingChange | EndpointChange) -> tuple[str, str]:
    """Return the line of an endpoint or object, and its style."""
    now = change["after"] or ("inconclusive" if change["change"] == "undetermined" else change["before"])
    symbol, style = STYLES[now or "not_applicable"]
    states = (("before", change["before"]), ("now", change["after"]))
    said = ", ".join(f"{when}: {WORDS[each]}" for when, each in states if each)
    return f"{symbol} {plain(change['subject'], 120)}  {said}", style


def _write_findings(page: Page, changes: list[FindingChange]) -> None:
    write_findings(page, [_shown(each) for each in changes])


def _shown(change: FindingChange) -> FindingRow:
    """Return the finding, without details if it is not there any more."""
    if change["after"] in ("fails", "excused", "inconclusive"):
        return change["finding"]
    return {**change["finding"], "expected": [], "observed": [], "fix": None, "reproduce": None, "evidence": []}


def _write_endpoints(page: Page, changes: list[EndpointChange]) -> None:
    for each in changes:
        if each["findings"]:
            page.line(f"    its {counted(each['findings'], 'finding')} cannot be compared")


def _said(counts: dict[str, int]) -> str:
    words = {"undetermined": "newly inconclusive"}
    return ", ".join(f"{count} {words.get(kind, kind)}" for kind, count in counts.items())


def counts(diff: Difference) -> tuple[dict[str, int], dict[str, int]]:
    """Count the changes of findings and of endpoints, by kind."""
    findings, endpoints = (Counter[str](one["change"] for one in some) for some in (diff.findings, diff.endpoints))
    return {kind: findings[kind] for kind in FINDINGS}, {kind: endpoints[kind] for kind in ENDPOINTS}


def exit_code(diff: Difference) -> int:
    """Return 1 for new failures, else 3 if something is newly inconclusive, else 0. Without a gate the code is 0."""
    if diff.gated:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if diff.fail_on != "never" and (diff.undetermined or diff.gaps) else EXIT_OK


def exit_line(diff: Difference) -> str:
    """Return the exit line."""
    if diff.fail_on == "never":
        return exit_text(EXIT_OK, ["compared; only --fail-on-new makes the exit code another one"])
    reasons = [
        f"{counted(len(diff.gated), 'new or worse finding')} at or above {diff.fail_on}" if diff.gated else "",
        f"{diff.undetermined} newly inconclusive" if diff.undetermined else "",
        "the new results are not complete" if diff.gaps else "",
    ]
    return exit_text(exit_code(diff), reasons if any(reasons) else [f"no new finding at or above {diff.fail_on}"])


# --- JSON -----------------------------------------------------------------------------------------------------------


def write_json(diff: Difference, out: TextIO) -> None:
    """Write the difference as JSON (``docs/schema/diff-v1.json``), a line for each change."""
    findings, endpoints = counts(diff)
    members: dict[str, object] = {
        "schema": SCHEMA,
        "of": diff.new.of,
        "old": _results_row(diff.old),
        "new": _results_row(diff.new),
        "gaps": diff.gaps,
        "summary": {"findings": {**findings, "unchanged": diff.unchanged}, "endpoints": endpoints},
        "exit": {"code": exit_code(diff), "fail_on_new": diff.fail_on, "reasons": exit_line(diff)},
        "findings": map(dumps, diff.findings),
        "endpoints": map(dumps, diff.endpoints),
    }
    write_document(out, members)


def _results_row(results: Results) -> dict[str, object]:
    why = "; ".join(filter(None, (results.shortfall, results.undecided)))
    return {"source": results.source, "started": results.started, "incomplete": why or None}
