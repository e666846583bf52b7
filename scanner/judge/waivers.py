"""Waivers: accepted failures with an owner and an expiry date. Reports count them, ``--fail-on`` ignores them.

A waiver accepts a failure that its owner knows. It never covers an inconclusive finding, because unknown is never a
pass. Endpoints that cannot be reached are excluded with the policy's ``scope`` instead, which reports show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import date
from fnmatch import fnmatchcase

from msgspec import Struct, field

from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import Waiver
from scanner.values import replace


class Waived(Struct, frozen=True, kw_only=True):
    """Findings after the waivers, and the waivers that matched."""

    findings: tuple[Finding, ...]
    matched: frozenset[Waiver] = frozenset()
    """Waivers that match a failed or inconclusive finding, so that they are still needed."""
    overdue: frozenset[Waiver] = frozenset()
    """Expired waivers that would otherwise have waived a failure."""


def waive(findings: Iterable[Finding], waivers: Iterable[Waiver], today: date) -> Waived:
    """Apply the waivers that select the endpoint of ``findings``.

    A failure that counts for the exit code becomes ``waived``; its verdict stays ``fail``. Failures that do not count
    (readiness, converging) and inconclusive findings do not change. ``today`` is the day in UTC.
    """
    every = tuple(waivers)
    if not every:
        return Waived(findings=tuple(findings))
    results = [
        _result(finding, tuple(each for each in every if fnmatchcase(finding.rule, each.rule)), today)
        for finding in findings
    ]
    return Waived(
        findings=tuple(finding for each in results for finding in each.findings),
        matched=frozenset[Waiver]().union(*(each.matched for each in results)),
        overdue=frozenset[Waiver]().union(*(each.overdue for each in results)),
    )


def _result(finding: Finding, waivers: tuple[Waiver, ...], today: date) -> Waived:
    if not waivers or finding.verdict not in ("fail", "inconclusive"):
        return Waived(findings=(finding,))
    matched = frozenset(waivers)
    if finding.verdict == "inconclusive":
        note = f"the {_word(waivers[0])} in {waivers[0].source} waives failures only; this finding is inconclusive"
        return Waived(findings=(_with(finding, note),), matched=matched)
    if finding.status in NEVER_FAILS:
        return Waived(findings=(finding,), matched=matched)
    valid = [each for each in waivers if not expired(each, today)]
    if valid:
        done = replace(finding, status="waived", waiver=waiver_text(max(valid, key=lambda each: each.expires)))
        return Waived(findings=(done,), matched=matched)
    latest = max(waivers, key=lambda each: each.expires)
    note = f"the {_word(latest)} has expired: {waiver_text(latest)}"
    return Waived(findings=(_with(finding, note),), matched=matched, overdue=matched)


def _with(finding: Finding, evidence: str) -> Finding:
    return replace(finding, evidence=(*finding.evidence, evidence))


def names_one(waiver: Waiver, rules: Iterable[str]) -> bool:
    """True if the waiver names one of ``rules``."""
    return any(fnmatchcase(rule, waiver.rule) for rule in rules)


def expired(waiver: Waiver, today: date) -> bool:
    """True after the waiver's last day."""
    return today > waiver.expires


def waiver_text(waiver: Waiver) -> str:
    """The waiver's owner, expiry date, reason and source."""
    return f"{waiver.owner or 'ignored'} until {waiver.expires.isoformat()}: {waiver.reason} ({waiver.source})"


class _Use(Struct):
    """Counters of one waiver."""

    selected: int = 0
    """Endpoints or objects that it selects."""
    matched: int = 0
    """Selected ones with a failed or inconclusive finding of its rule."""
    overdue: int = 0
    ids: set[str] = field(default_factory=set)
    """Ids of the selected endpoints, if its rule may be one across endpoints."""


class WaiverLedger:
    """The waivers of one scan or lint: applies them and counts their uses."""

    def __init__(
        self, waivers: Iterable[Waiver], today: date, *, across: Collection[str] = (), noun: str = "endpoint"
    ) -> None:
        """``across``: ids of the rules across endpoints, where ``Finding.about`` is the endpoints' common id."""
        self._today, self._noun = today, noun
        self._uses: dict[Waiver, _Use] = {each: _Use() for each in waivers}
        self._across = frozenset(each for each in self._uses if names_one(each, across))

    def waive(self, findings: Iterable[Finding], endpoint: Endpoint) -> tuple[Finding, ...]:
        """Apply the waivers to one endpoint's findings."""
        selected = [each for each in self._uses if each.selector.matches(endpoint)]
        for each in selected:
            if each in self._across:
                self._uses[each].ids.add(endpoint.id)
        return self.waive_by(selected, findings)

    def waive_by(self, selected: Iterable[Waiver], findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Apply the waivers that select the subject of ``findings``."""
        several = tuple(selected)
        for each in several:
            self._uses[each].selected += 1
        return self._note(waive(findings, several, self._today))

    def waive_across(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Apply the waivers to findings across endpoints, after every endpoint went through ``waive``: a waiver
        applies if it selected an endpoint with the finding's id."""
        done: list[Finding] = []
        for finding in findings:
            selected = [each for each in self._across if finding.about in self._uses[each].ids]
            done.extend(self._note(waive((finding,), selected, self._today)))
        return tuple(done)

    def _note(self, waived: Waived) -> tuple[Finding, ...]:
        for each in waived.matched:
            self._uses[each].matched += 1
        for each in waived.overdue:
            self._uses[each].overdue += 1
        return waived.findings

    def findings(
        self, *, rules: Collection[str], complete: bool = True, elsewhere: Collection[str] = ()
    ) -> tuple[Finding, ...]:
        """Findings on unused and expired waivers, in the order of the policy file.

        ``rules`` are the ids of the rules that were applied in this scan; ``complete`` is False if endpoints were left
        out. A waiver that could have matched otherwise is inconclusive. ``elsewhere``: ids of the rules of another
        command that has the same waivers.
        """
        found: list[Finding] = []
        for each, use in self._uses.items():
            doubt = "" if complete else "the scan ended early"
            if not names_one(each, rules):
                doubt = f"its rule was not applied in this {_RUN[self._noun]}"
            if not names_one(each, elsewhere):
                found += check_unused(UNUSED, each, use, doubt, self._noun)
            found += check_expired(EXPIRED, each, use, self._noun)
        return tuple(found)


_RUN = {"endpoint": "scan", "object": "run"}


def check_unused(
    rule: ScanRule, waiver: Waiver, use: _Use, doubt: str = "", noun: str = "endpoint"
) -> Iterator[Finding]:
    """Every waiver of the policy file matches a finding."""
    if use.matched:
        return
    unmatched = f"selects no {noun} of this {_RUN[noun]}"
    if use.selected:
        unmatched = f"selects {_counted(use.selected, noun)}, but the rule does not fail there"
    text = f"the waiver of {waiver.rule} {unmatched}"
    if waiver.ignore:
        text = f"the ignore of {waiver.rule} matches no finding"
    partial = noun == "object" and not use.selected and not waiver.ignore  # the object may be in another file
    yield Finding(
        rule=rule.id,
        severity="info" if partial else rule.severity,
        verdict="inconclusive" if doubt else "fail",
        status="not-tested" if doubt else "informational" if partial else "violation",
        message=f"{text}: {doubt}" if doubt else text,
        expected=(f"a finding that matches the {_word(waiver)}",),
        observed=("no finding",),
        fix=f"remove the {_word(waiver)} from {waiver.source}, or correct its rule or {_where(waiver)}",
        evidence=(waiver_text(waiver),),
        about=waiver.source,
    )


def check_expired(rule: ScanRule, waiver: Waiver, use: _Use, noun: str = "endpoint") -> Iterator[Finding]:
    """No waiver has expired while its rule still fails."""
    if not use.overdue:
        return
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"the {_word(waiver)} of {waiver.rule} has expired, but the rule still fails on "
        f"{_counted(use.overdue, noun)}",
        expected=(f"the failure corrected, or the {_word(waiver)} renewed, before it expires",),
        observed=(f"expired after {waiver.expires.isoformat()}",),
        fix=f"correct what fails, or set a later {'date' if waiver.ignore else 'expires'} in {waiver.source}",
        evidence=(waiver_text(waiver),),
        about=waiver.source,
    )


def _word(waiver: Waiver) -> str:
    return "ignore" if waiver.ignore else "waiver"


def _where(waiver: Waiver) -> str:
    return "place" if waiver.ignore else "select"


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


UNUSED = ScanRule(id="waiver-unused", check=check_unused)
EXPIRED = ScanRule(id="waiver-expired", check=check_expired)

WAIVER_RULES: tuple[ScanRule, ...] = (UNUSED, EXPIRED)
