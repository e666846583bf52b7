"""Lint's findings as text for editors: ``file:line:column: severity: rule: message``, as compilers write them.

SARIF and JUnit use the same order and places.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TextIO

from scanner.model.finding import KNOWN, SEVERITIES, Status
from scanner.model.lint_report import NOT_GIVEN, LintFindingRow, LintReport, WaivedRow
from scanner.model.report import EXIT_OK, OwnerRow, fails
from scanner.report.escape import plain
from scanner.report.headline import brief, importance
from scanner.report.page import baseline_text, counted, exit_text


def place(finding: LintFindingRow) -> str:
    """Return ``file:line:column``, or the object and field."""
    where = finding["place"]
    return f"{where['file']}:{where['line']}:{where['column']}" if where else finding["about"] or "objects"


def ranked(report: LintReport) -> list[LintFindingRow]:
    """Return all findings by place; at one place, the worst first."""
    return sorted(report.every(), key=_by_place)


def _by_place(finding: LintFindingRow) -> tuple[object, ...]:
    """Sort key. At one place, findings that depend on a missing object come last, together by object."""
    where, unseen = finding["place"], finding["unseen"]
    position = (where["file"], where["line"], where["column"]) if where else (finding["about"] or "", 0, 0)
    return *position, unseen["object"] if unseen else "", importance(finding), finding["rule"]


_COLORS = {"critical": "1;31", "high": "31", "medium": "33", "low": "36", "info": "2", "undecided": "35"}
_UNDECIDED = "undecided"
_WAIVED: Status = "waived"
_ORDER = (*reversed(SEVERITIES[1:]), _UNDECIDED, KNOWN, _WAIVED, SEVERITIES[0])
"""Order in the last line."""
_GAPS = 10
_MISSING = 5


def write(report: LintReport, out: TextIO, *, color: bool = False, hints: bool = False) -> None:
    """Write the report: what makes the exit code 1, what is undecided, then the rest. ``hints``: add the correct
    YAML."""
    found = sorted(ranked(report), key=lambda one: (not fails(one, report.fail_on), _word(one) != _UNDECIDED))
    for _, group in groupby(found, key=_together):
        findings = list(group)
        _finding(_one(findings), out, color=color, hints=hints)
    _wanted(report, out)
    for gap in report.unreadable[:_GAPS]:
        out.write(f"not read: {plain(gap['resource'])}: {plain(gap['reason'], 300)}\n")
    if len(report.unreadable) > _GAPS:
        out.write(f"not read: and {len(report.unreadable) - _GAPS} more kinds\n")
    for skipped in report.skipped[:_GAPS]:
        remedy = f"; {skipped['remedy']}" if skipped["remedy"] else ""
        out.write(f"not looked at: {plain(skipped['path'], 300)}: {plain(skipped['reason'] + remedy, 300)}\n")
    if len(report.skipped) > _GAPS:
        out.write(f"not looked at: and {len(report.skipped) - _GAPS} more\n")
    out.write(f"{exit_line(report)}\n")


def exit_line(report: LintReport) -> str:
    """Return the last line: the exit code, if it is known, and the counts."""
    said = "; ".join(filter(None, (summary(report), _waived(report.waived), baseline_text(report.baseline))))
    return said if report.code is None else exit_text(report.code, [said])


def _waived(row: WaivedRow | None) -> str:
    if row is None or not (row["waivers"] or row["ignores"]):
        return ""
    return f"waived: {row['waivers']} by the policy file and {row['ignores']} by comments and annotations"


def summary(report: LintReport) -> str:
    """Count the findings and their objects."""
    every, objects = report.every(), len(report.objects)
    files = f" in {counted(report.files, 'file')}" if report.files else ""
    others = f" ({counted(report.others, 'other document')})" if report.others else ""
    if not every:
        what = f"no findings on {counted(objects, 'object')}" if objects else "nothing to judge"
        return f"{what}{files}{others}"
    words = Counter(map(_word, every))
    accepted = {_UNDECIDED: " accepted"} if report.code == EXIT_OK else {}
    told = ", ".join(f"{words[each]} {each}{accepted.get(each, '')}" for each in _ORDER if words[each])
    having = sum(bool(each["findings"]) for each in report.objects)
    where = f"{having} of {counted(objects, 'object')}" if having < objects else counted(objects, "object")
    return f"{counted(len(every), 'finding')} ({told}) on {where}{files}{others}"


def _word(finding: LintFindingRow) -> str:
    """Return the severity, ``undecided``, ``known`` or ``waived``."""
    if finding["status"] in (KNOWN, _WAIVED):
        return finding["status"]
    counts = finding["verdict"] != "fail" and finding["severity"] != SEVERITIES[0]
    return _UNDECIDED if counts else finding["severity"]


def _together(finding: LintFindingRow) -> tuple[object, ...]:
    """Key of an entry: findings at one place that depend on one missing object are one entry."""
    unseen = finding["unseen"]
    if not unseen:
        return (id(finding),)
    return place(finding), finding["about"], unseen["object"], unseen["reason"]


def _one(findings: list[LintFindingRow]) -> LintFindingRow:
    """Merge undecided findings that one object would decide."""
    first, unseen = findings[0], findings[0]["unseen"]
    if len(findings) == 1 or not unseen:
        return first
    rules = ", ".join(dict.fromkeys(each["rule"] for each in findings))
    asked = dict.fromkeys(each["unseen"]["question"] for each in findings if each["unseen"])
    message = f"{unseen['object']} was not read ({unseen['reason']}), so it is unknown {', '.join(asked)}"
    return {**first, "rule": rules, "message": message}


def _wanted(report: LintReport, out: TextIO) -> None:
    """Write the missing objects that would decide the most findings."""
    unseen = (each["unseen"] for each in report.every())
    counts = Counter(each["object"] for each in unseen if each and each["reason"] == NOT_GIVEN)
    if not counts:
        return
    missing = ", ".join(name for name, _ in counts.most_common(_MISSING))
    more = f" and {len(counts) - _MISSING} more" if len(counts) > _MISSING else ""
    out.write(f"missing objects: {plain(missing, 400)}{more}: add them to the files, or use --cluster or --snapshot\n")


def _finding(finding: LintFindingRow, out: TextIO, *, color: bool, hints: bool) -> None:
    word = _word(finding)
    shown = f"\x1b[{_COLORS.get(word, '2')}m{plain(word)}\x1b[0m" if color else plain(word)
    out.write(f"{plain(place(finding), 300)}: {shown}: {plain(finding['rule'])}: {plain(finding['message'], 600)}\n")
    lines = [("in", finding["about"])] if finding["about"] and finding["place"] and finding["field"] else []
    waiver = [("waiver", finding["waiver"])] if finding["waiver"] else []
    for label, text in (*lines, *brief(finding), *waiver):
        out.write(f"    {label:<10}{plain(text, 600)}\n")
    if hints and finding["correction"]:
        out.write("".join(f"    | {plain(line, 300)}\n" for line in finding["correction"].splitlines()))


def named(each: OwnerRow) -> str:
    """``Gateway/shop/edge``."""
    return "/".join(filter(None, (each["kind"], each["namespace"], each["name"])))
