"""Waivers: failures that somebody answers for, for some time. They are kept, counted, and never reach ``--fail-on``.

A waiver is about a failure, which someone has seen and decided to live with. It never covers an unknown:
nobody knows yet what they would be answering for, and unknown is never a pass. What cannot be reached at all is left
out of the scan by the policy's ``scope``, where everyone sees it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase

from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Waived:
    """Findings after the waivers, and which of these had something to do with them."""

    findings: tuple[Finding, ...]
    matched: frozenset[Waiver] = frozenset()
    """About a finding that failed or could not be determined: still needed."""
    overdue: frozenset[Waiver] = frozenset()
    """Would have waived a failure, had they not expired."""


def waive(findings: Iterable[Finding], waivers: Iterable[Waiver], today: date) -> Waived:
    """Apply waivers whose selector holds for what ``findings`` are about.

    A failure that counts becomes ``waived``: its verdict stays ``fail``. One that does not count anyway (readiness,
    converging) stays what it is, and so does everything that is inconclusive. ``today`` is the day in UTC.
    """
    mine = tuple(waivers)
    results = [_result(finding, _about(finding, mine), today) for finding in findings] if mine else None
    if results is None:
        return Waived(findings=tuple(findings))
    return Waived(
        findings=tuple(each.findings[0] for each in results),
        matched=frozenset[Waiver]().union(*(each.matched for each in results)),
        overdue=frozenset[Waiver]().union(*(each.overdue for each in results)),
    )


def _about(finding: Finding, waivers: Iterable[Waiver]) -> tuple[Waiver, ...]:
    return tuple(each for each in waivers if fnmatchcase(finding.rule, each.rule))


def _result(finding: Finding, waivers: tuple[Waiver, ...], today: date) -> Waived:
    if not waivers or finding.verdict not in ("fail", "inconclusive"):
        return Waived(findings=(finding,))
    matched = frozenset(waivers)
    if finding.verdict == "inconclusive":
        said = f"the waiver in {waivers[0].source} is about failures, and this could not be determined"
        return Waived(findings=(_with(finding, said),), matched=matched)
    if finding.status in NEVER_FAILS:
        return Waived(findings=(finding,), matched=matched)
    valid = [each for each in waivers if not expired(each, today)]
    if valid:
        done = replace(finding, status="waived", waiver=said_by(max(valid, key=lambda each: each.expires)))
        return Waived(findings=(done,), matched=matched)
    latest = max(waivers, key=lambda each: each.expires)
    return Waived(findings=(_with(finding, f"no longer waived: {said_by(latest)}"),), matched=matched, overdue=matched)


def _with(finding: Finding, evidence: str) -> Finding:
    return replace(finding, evidence=(*finding.evidence, evidence))


def expired(waiver: Waiver, today: date) -> bool:
    """Whether its last day is over."""
    return today > waiver.expires


def said_by(waiver: Waiver) -> str:
    """Who answers for it, until when, why, and where that is written."""
    return f"{waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason} ({waiver.source})"


@dataclass(slots=True)
class _Use:
    """What became of one waiver."""

    endpoints: int = 0
    """Endpoints that its selector meant."""
    matched: int = 0
    """Those of which a finding is of its rule, and not in order."""
    overdue: int = 0
    ids: set[str] = field(default_factory=set)
    """Of these endpoints, where its rule may be one across endpoints."""


class WaiverLedger:
    """A run's waivers: applies them, and remembers which were of any use."""

    def __init__(self, waivers: Iterable[Waiver], today: date, *, across: Collection[str] = ()) -> None:
        """``across`` are the ids of rules whose findings are about several endpoints (``Finding.about`` is the id that
        they share)."""
        self._today = today
        self._uses: dict[Waiver, _Use] = {each: _Use() for each in waivers}
        self._across = frozenset(each for each in self._uses if any(fnmatchcase(rule, each.rule) for rule in across))

    def waive(self, findings: Iterable[Finding], endpoint: Endpoint) -> tuple[Finding, ...]:
        """An endpoint's findings, as its waivers leave them."""
        meant = [each for each in self._uses if each.selector.matches(endpoint)]
        for each in meant:
            self._uses[each].endpoints += 1
            if each in self._across:
                self._uses[each].ids.add(endpoint.id)
        return self._note(waive(findings, meant, self._today))

    def waive_across(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings about several endpoints: a waiver holds for those that share an id which its selector has meant.
        Call it after every endpoint was seen."""
        done: list[Finding] = []
        for finding in findings:
            meant = [each for each in self._across if finding.about in self._uses[each].ids]
            done.extend(self._note(waive((finding,), meant, self._today)))
        return tuple(done)

    def _note(self, waived: Waived) -> tuple[Finding, ...]:
        for each in waived.matched:
            self._uses[each].matched += 1
        for each in waived.overdue:
            self._uses[each].overdue += 1
        return waived.findings

    def findings(self, *, rules: Collection[str], complete: bool = True) -> tuple[Finding, ...]:
        """What is wrong with the waivers themselves, in the order of the policy file.

        ``rules`` are the ids of the rules that were applied in this run; ``complete`` says whether every endpoint was
        seen. Of a waiver that may have been of use otherwise nobody can tell.
        """
        return tuple(self._findings(rules, complete=complete))

    def _findings(self, rules: Collection[str], *, complete: bool) -> Iterator[Finding]:
        for each, use in self._uses.items():
            asked = any(fnmatchcase(rule, each.rule) for rule in rules)
            told = "" if complete else "the scan ended early"
            yield from check_unused(UNUSED, each, use, told if asked else "its rule was not applied in this scan")
            yield from check_expired(EXPIRED, each, use)


def check_unused(rule: ScanRule, waiver: Waiver, use: _Use, doubt: str = "") -> Iterator[Finding]:
    """Every waiver of the policy file has something to waive."""
    if use.matched:
        return
    seen = f"selects {_counted(use.endpoints)}, and {waiver.rule} finds nothing wrong there"
    text = f"the waiver of {waiver.rule} {seen if use.endpoints else 'selects no endpoint of this scan'}"
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="inconclusive" if doubt else "fail",
        status="not-tested" if doubt else "violation",
        message=f"{text}: {doubt}" if doubt else text,
        expected=("a finding that it waives",),
        observed=("none",),
        fix=f"remove it from {waiver.source}, or correct its rule or select",
        evidence=(said_by(waiver),),
        about=waiver.source,
    )


def check_expired(rule: ScanRule, waiver: Waiver, use: _Use) -> Iterator[Finding]:
    """No waiver has expired while what it waived is still there."""
    if not use.overdue:
        return
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"the waiver of {waiver.rule} has expired and is still needed on {_counted(use.overdue)}",
        expected=("corrected, or renewed, in time",),
        observed=(f"expired after {waiver.expires.isoformat()}",),
        fix=f"correct what it waived, or change expires in {waiver.source}",
        evidence=(said_by(waiver),),
        about=waiver.source,
    )


def _counted(endpoints: int) -> str:
    return "1 endpoint" if endpoints == 1 else f"{endpoints} endpoints"


UNUSED = ScanRule(id="waiver-unused", check=check_unused)
EXPIRED = ScanRule(id="waiver-expired", check=check_expired)

WAIVER_RULES: tuple[ScanRule, ...] = (UNUSED, EXPIRED)
