"""Results of an earlier run for comparisons: a JSON report of a scan or of lint, or the rows of a saved scan.

Replicas of a listener are one subject with the worst result. Passed findings are kept as names of rules only, so that
memory does not grow with what complies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypedDict

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.files.regular_file import content
from scanner.model.finding import SEVERITIES
from scanner.model.fingerprint import KnownRow, code_points, fingerprint, is_requirement
from scanner.model.lint_report import SCHEMA as LINT
from scanner.model.lint_report import LintFindingRow, ObjectRow, SkippedRow
from scanner.model.report import BRIEF_SCHEMA as BRIEF
from scanner.model.report import SCHEMA as SCAN
from scanner.model.report import (
    VERDICTS,
    Coverage,
    EndpointRow,
    FindingRow,
    OwnerRow,
    UnreadableRow,
)
from scanner.model.serialization import DecodeError, codec
from scanner.report import headline
from scanner.report.coverage import shortfall
from scanner.report.formats.lint_text import named
from scanner.report.page import counted
from scanner.report.whatif import OUTCOMES, Outcome, outcome

CLUSTER: Final = "objects"
"""Subject of a finding that names none."""
MOST_BYTES: Final = 1 << 30
_NOTHING = "nothing was judged"
_HINT = "use a file of --format json, or the directory of adhere scan --save"
_UNUSED = ({"attempts", "connections"}, {"sha256", "places"})
"""Members of large objects that no comparison reads: what was observed, and certificates."""

_VERDICTS: dict[str, Outcome] = {"pass": "passes", "fail": "fails"}


class _Scan(TypedDict):
    started: str
    coverage: Coverage
    findings: list[FindingRow]
    endpoints: list[EndpointRow]


class _Lint(TypedDict):
    started: str
    unreadable: list[UnreadableRow]
    skipped: list[SkippedRow]
    findings: list[LintFindingRow]
    objects: list[ObjectRow]


class Subject(Struct, kw_only=True):
    """A listener with its replicas, or an object."""

    id: str
    owner: OwnerRow
    component: str | None = None
    outcome: Outcome = "not_applicable"
    passed: frozenset[str] | None = None
    """Rules that passed on each judged replica; None if no replica was judged."""

    def add(self, result: Outcome, passed: frozenset[str]) -> None:
        """Add a replica. One that was not judged although it should be has passed nothing."""
        self.outcome = _worse(self.outcome, result)
        if result != "not_applicable":
            self.passed = passed if self.passed is None else _shared(self.passed & passed)


class Entry(Struct, kw_only=True):
    """A finding that has not passed, with its replicas."""

    subject: str
    """Id of the subject, or the text that the finding is about."""
    finding: FindingRow
    """The worst of the replicas."""
    outcome: Outcome
    codes: set[str]
    count: int = 1
    """Number of equal findings on one object of lint; replicas are not counted."""
    wide: bool = False
    """True for a cluster-wide finding: it passes by not being there."""

    @property
    def state(self) -> tuple[object, ...]:
        """Parts whose change is reported."""
        return self.outcome, self.finding["severity"], self.codes, self.count

    def row(self, name: str) -> KnownRow:
        """Return the finding for a baseline."""
        return KnownRow(
            fingerprint=name,
            rule=self.finding["rule"],
            subject=self.subject,
            severity=self.finding["severity"],
            code_points=sorted(self.codes),
            count=self.count,
        )


class Results(Struct, kw_only=True):
    """The results of one run."""

    source: str
    of: str
    """Schema of the report."""
    started: str
    shortfall: str = ""
    """Reason why the run is not complete; empty if it is."""
    undecided: str = ""
    """Findings and files that lint could not decide, which ``--accept-undecided`` accepts."""
    gaps: Counter[str] = field(default_factory=Counter)
    """Number of kinds, files and endpoints that were not read, by reason."""
    subjects: dict[str, Subject] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    """Findings by fingerprint."""

    def failing(self) -> Iterator[KnownRow]:
        """Yield the findings that the exit code counts."""
        return (each.row(name) for name, each in self.entries.items() if each.outcome == "fails")

    def add_endpoints(self, rows: Iterable[EndpointRow]) -> None:
        """Add the endpoints of a scan, in any order."""
        for row in rows:
            passed = frozenset(each["rule"] for each in row["findings"] if each["verdict"] == "pass")
            self._subject(row["id"], row["owner"], row["component"]).add(outcome(row), _shared(passed))
            for finding in row["findings"]:
                self._add(finding, row["id"])

    def add_findings(self, findings: Iterable[FindingRow]) -> None:
        """Add cluster-wide findings."""
        for finding in findings:
            self._add(finding, finding["about"] or CLUSTER, wide=True)

    def add_objects(self, objects: Iterable[ObjectRow], findings: Iterable[LintFindingRow]) -> None:
        """Add the objects of lint, and its findings without an object. At the other fields of an object a rule has
        passed, if it has no inconclusive finding there."""
        for each in objects:
            name = named(each["object"]) + (f" in {each['place']['file']}" if each["place"] else "")
            unknown = {one["rule"] for one in each["findings"] if one["verdict"] == "inconclusive"}
            judged = {*each["passed"], *(one["rule"] for one in each["findings"])}
            verdict = _VERDICTS.get(each["verdict"], "inconclusive")
            self._subject(name, each["object"]).add(verdict, frozenset(judged - unknown))
            for one in each["findings"]:
                self._add(one, name, file_of(one), repeated=True)
        for one in findings:
            self._add(one, one["about"] or CLUSTER, file_of(one), repeated=True)

    def _subject(self, name: str, owner: OwnerRow, component: str | None = None) -> Subject:
        return self.subjects.setdefault(name, Subject(id=name, owner=owner, component=component))

    def _add(
        self, finding: FindingRow, subject: str, file: str = "", *, repeated: bool = False, wide: bool = False
    ) -> None:
        """Add a finding, unless it is fine: passed, not applicable, or an open question that could not fail.
        ``repeated``: equal ones are counted, because they are no replicas."""
        if not headline.open_question(finding):
            return
        result, codes, name = outcome(finding), code_points(finding), fingerprint(finding, subject, file)
        entry = self.entries.get(name)
        if entry is None:
            self.entries[name] = Entry(subject=subject, finding=finding, outcome=result, codes=codes, wide=wide)
            return
        entry.codes |= codes
        if result == entry.outcome:
            entry.count += repeated
        if _weight(result, finding) < _weight(entry.outcome, entry.finding):
            entry.finding, entry.outcome = finding, result


def file_of(finding: LintFindingRow) -> str:
    """Return the file of a finding, or "" for an object of a cluster."""
    return finding["place"]["file"] if finding["place"] else ""


def _worse(one: Outcome, other: Outcome) -> Outcome:
    return min(one, other, key=OUTCOMES.index)


def _weight(result: Outcome, finding: FindingRow) -> tuple[int, int]:
    """Sort key: the worst first."""
    return OUTCOMES.index(result), headline.rank(finding)


@cache
def _shared(rules: frozenset[str]) -> frozenset[str]:
    """Return one set for all equal ones: thousands of listeners pass the same rules."""
    return rules


def of_scan(source: str, started: str, coverage: Coverage) -> Results:
    """Return the results of a scan without its endpoints and findings."""
    gaps = Counter[str]()
    if coverage["interrupted"]:
        gaps[f"stopped by {coverage['interrupted']}"] += 1
    discovery = coverage.get("discovery")
    if discovery is not None:
        gaps.update(f"{each['resource']} could not be read" for each in discovery["unreadable"])
        gaps.update({each["reason"]: each["count"] for each in discovery["left_out"]})
    if not coverage["judged"]:
        gaps[_NOTHING] += 1
    return Results(source=source, of=SCAN, started=started, shortfall=shortfall(coverage), gaps=gaps)


def read_report(path: Path) -> Results:
    """Read a JSON report. Raises ``InputError`` for anything else."""
    data = content(path, MOST_BYTES)
    if len(data) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES >> 20} MiB", hint="use the directory of adhere scan --save")
    try:
        document = json.loads(data, object_hook=_without_unused)
    except (ValueError, RecursionError) as error:
        place = (
            f":{error.lineno}:{error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ": not JSON"
        )
        raise InputError(f"{path}{place}", hint=_HINT) from None
    of = document.get("schema") if isinstance(document, dict) else None
    try:
        if of == SCAN:
            return _scan(str(path), codec(_Scan).decode(document))
        if of == LINT:
            return _lint(str(path), codec(_Lint).decode(document))
    except DecodeError as error:
        raise InputError(f"{path}: {error.path}: {error.problem}", hint=_HINT) from None
    if of == BRIEF:
        raise InputError(f"{path}: written with --brief, which leaves out what is needed here", hint=_HINT)
    raise InputError(f"{path}: not a JSON report of adhere scan or lint", hint=_HINT)


def _without_unused(value: dict[str, Any]) -> dict[str, Any]:
    return {} if any(value.keys() >= each for each in _UNUSED) else value


def _scan(source: str, document: _Scan) -> Results:
    _checked(chain(document["findings"], *(each["findings"] for each in document["endpoints"])))
    results = of_scan(source, document["started"], document["coverage"])
    results.add_endpoints(document["endpoints"])
    results.add_findings(document["findings"])
    return results


def _lint(source: str, document: _Lint) -> Results:
    every = [*document["findings"], *chain.from_iterable(each["findings"] for each in document["objects"])]
    _checked(every)
    results = Results(source=source, of=LINT, started=document["started"])
    results.gaps.update(f"{each['path']}: {each['reason']}" for each in document["skipped"])
    missing = [each for each in document["unreadable"] if not each["accepted"]]
    results.gaps.update(f"{each['resource']} could not be read" for each in missing)
    results.add_objects(document["objects"], document["findings"])
    inputs = (each for each in document["findings"] if not is_requirement(each["rule"]))
    unread = sum(each["severity"] != SEVERITIES[0] for each in inputs)
    results.shortfall = f"{counted(unread, 'file')} could not be read" if unread else ""
    if not document["objects"]:
        results.shortfall = results.shortfall or "there was no object to judge"
    open_ones = sum(headline.open_question(each) and each["verdict"] == "inconclusive" for each in every)
    reasons = [f"{counted(open_ones, 'finding')} undecided" if open_ones else "", *results.gaps]
    results.undecided = "; ".join(filter(None, reasons))
    if not document["objects"]:
        results.gaps[_NOTHING] += 1
    return results


def _checked(findings: Iterable[FindingRow]) -> None:
    for each in findings:
        if each["verdict"] not in VERDICTS or each["severity"] not in SEVERITIES:
            raise DecodeError(f"verdict {each['verdict']!r} or severity {each['severity']!r} is unknown", "findings")
