"""Issues of a report for CI systems: what failed or is inconclusive, once for each rule and listener.

Replicas of a listener share an issue, so that its fingerprint stays the same when addresses change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePath
from typing import Literal

from msgspec import Struct

from scanner.model.finding import SEVERITIES
from scanner.model.fingerprint import fingerprint
from scanner.model.lint_report import LintReport, PlaceRow
from scanner.model.report import EXIT_NOTHING, NEVER_FAILS, EndpointRow, FindingRow, Report, exit_code
from scanner.report import headline
from scanner.report.coverage import exit_line, missing, shortfalls
from scanner.report.formats import lint_text
from scanner.values import replace

Level = Literal["error", "warning", "notice"]
_STDIN = ("<stdin>", "standard input")
_LONGEST = 500
"""Characters of the path of an issue without a file."""
VERDICT = "verdict"
"""Rule of an endpoint whose findings do not have its verdict; JUnit names a case so."""
_LEVELS: dict[str, Level] = {"critical": "error", "high": "error", "medium": "warning"}
_LINE = re.compile(r"(.+):([1-9]\d{0,8})", re.DOTALL)
"""A line of a file with targets, in the origin of an endpoint."""


class Issue(Struct, frozen=True, kw_only=True):
    """A finding that failed or is inconclusive, with its subject."""

    finding: FindingRow
    about: str
    """Id of the endpoint, or the object."""
    kind: str = ""
    """Kind of the object that owns it."""
    place: PlaceRow | None = None
    within: str = ""
    """File of a manifest: the same object in another file is another issue."""
    more: int = 0
    """Findings of the same rule and subject that are left out: those of replicas."""

    @property
    def level(self) -> Level:
        """Level of the annotation: an inconclusive finding is a warning, one that never counts is a notice."""
        finding = self.finding
        if finding["verdict"] != "fail":
            return "notice" if finding["severity"] == SEVERITIES[0] else "warning"
        return "notice" if finding["status"] in NEVER_FAILS else _LEVELS.get(finding["severity"], "notice")

    @property
    def file(self) -> str:
        """Path of its file, relative to the working directory if possible. An issue without a file has a path made of
        its subject, because systems that show files refuse issues without one."""
        if not self.place:
            parts = [part if part.strip(".") else "_" for part in self._subject.split("/")]
            return "/".join(("adhere", *parts))
        name = self.place["file"]
        return "stdin" if name in _STDIN else re.sub(r"\A(\./)+", "", PurePath(name).as_posix())

    @property
    def _subject(self) -> str:
        """The endpoint or object, without a field."""
        return self.about.partition(" ")[0][:_LONGEST]

    @property
    def fingerprint(self) -> str:
        """The identity of the finding."""
        return fingerprint(self.finding, self.about, self.within)

    @property
    def title(self) -> str:
        """``shop.example:443: high: accepts versions below the minimum``."""
        where = f"{self.about}: " if self.about else ""
        more = f" (+{self.more} more)" if self.more else ""
        word = headline.label(self.finding)
        return f"{where}{word}: {headline.kind(self.finding['status'])}{self.finding['message']}{more}"

    @property
    def sentences(self) -> str:
        """The title, what was observed, and the fix, in one line."""
        parts = [self.title]
        parts += [text if label == "fix" else f"{label}: {text}" for label, text in headline.brief(self.finding)]
        return " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in parts)


class Issues:
    """The issues of a report, found by reading its rows once. They are read again, because there may be many."""

    def __init__(self, report: Report | LintReport) -> None:
        self._report = report
        best: dict[object, tuple[tuple[int, int], int, Level]] = {}
        self._count: dict[object, int] = {}
        for number, each in enumerate(_every(report)):
            key = self._key(number, each)
            found = (headline.badness(each.finding), number, each.level)
            best[key] = min(found, best.get(key, found))
            self._count[key] = self._count.get(key, 0) + 1
        worst = sorted(best.values())
        self.ranked: list[int] = [number for _, number, _ in worst]
        """Numbers of the issues, the most important first."""
        self.levels: dict[int, Level] = {number: level for _, number, level in worst}

    def _key(self, number: int, issue: Issue) -> object:
        return number if isinstance(self._report, LintReport) else (issue.finding["rule"], issue.about)

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, Issue]]:
        """Yield these issues by number, in the order of the report."""
        for number, each in enumerate(_every(self._report)):
            if number in numbers:
                yield number, replace(each, more=self._count[self._key(number, each)] - 1)


def _every(report: Report | LintReport) -> Iterator[Issue]:
    if isinstance(report, LintReport):
        kinds = {id(finding): each["object"]["kind"] for each in report.objects for finding in each["findings"]}
        for one in lint_text.ranked(report):
            place, kind = one["place"], kinds.get(id(one), "")
            within = place["file"] if place else ""
            yield Issue(finding=one, about=one["about"] or "", kind=kind, place=place, within=within)
        return
    for finding in filter(headline.open_question, report.findings):
        yield Issue(finding=finding, about=finding["about"] or "objects")
    for row in report.rows():
        place = _place(row)
        for finding in _open(row):
            yield Issue(finding=finding, about=row["id"], kind=row["owner"]["kind"], place=place)


def _open(row: EndpointRow) -> list[FindingRow]:
    found = [each for each in row["findings"] if headline.open_question(each)]
    if row["verdict"] not in ("fail", "inconclusive") or any(each["verdict"] == row["verdict"] for each in found):
        return found
    return [*found, stated(VERDICT, row["verdict"], row["status"], headline.reason(row))]


def stated(rule: str, verdict: str, status: str, message: str) -> FindingRow:
    """Return a finding for what no rule has: the verdict of an endpoint, a gap of the coverage."""
    return FindingRow(
        rule=rule,
        severity="medium",
        verdict=verdict,
        status=status,
        message=message,
        expected=[],
        observed=[],
        fix=None,
        reproduce=None,
        evidence=[],
        second_opinion=None,
        waiver=None,
        about=None,
    )


def _place(row: EndpointRow) -> PlaceRow | None:
    """Return the line of the file that names the target."""
    line = _LINE.fullmatch(row["origins"][0]) if row["standing"] == "listed" and row["origins"] else None
    return PlaceRow(file=line[1], line=int(line[2]), column=1) if line else None


_GAPS = 100
"""Inputs that were not read, in a report; the JSON document has all."""


def gaps(report: Report | LintReport) -> list[str]:
    """Return what was not read or not judged, beside the inconclusive findings."""
    if isinstance(report, LintReport):
        texts = [f"not looked at: {each['path']}: {each['reason']}" for each in report.skipped[:_GAPS]]
        texts += [f"not read: {each['resource']}: {each['reason']}" for each in report.unreadable[:_GAPS]]
        return [*texts, *([] if report.objects else ["there was no object to judge"])]
    discovery, short = report.coverage.get("discovery"), shortfalls(report)
    texts = [f"not complete: {short}"] if short else []
    if exit_code(report, report.fail_on) == EXIT_NOTHING:
        texts.append("nothing was judged")
    for each in missing(discovery)[:_GAPS] if discovery else ():
        if not each.accepted and each.gap != "not-asked":
            texts.append(f"not read: {', '.join(each.resources)}: {each.reason}; {each.remedy}")
    return texts


def ending(report: Report | LintReport) -> tuple[int | None, str]:
    """Return the exit code, if it is known, and the line that explains it."""
    if isinstance(report, LintReport):
        return report.code, lint_text.exit_line(report)
    return exit_code(report, report.fail_on), exit_line(report)
