"""Workflow commands of GitHub Actions: annotations beside the lines of a pull request and on the page of the run.

The runner reads ``::error file=F,line=N,col=N,title=T::MESSAGE`` from a step's output. It shows ten annotations of each
level for a step and drops the others, so the most important issues come first and the last notice counts the others.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, TextIO, get_args

from scanner.model.finding import SEVERITIES
from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.issues import Issue, Issues, Level, ending, gaps
from scanner.report.page import counted

MOST: Final = 10
"""Annotations of one level that GitHub shows for a step."""
_GAPS: Final = 3
"""Warnings about inputs that were not read, before the findings."""
_LONGEST: Final = 1000


def write(report: Report | LintReport, out: TextIO) -> None:
    """Write errors, warnings and notices, then the exit code and the number of issues left out."""
    issues, missing = Issues(report), gaps(report)
    code, line = ending(report)
    last: Level = "error" if code else "notice"
    commands: dict[Level, list[str]] = {level: [] for level in get_args(Level)}
    commands["warning"] = [_command("warning", plain(text, _LONGEST), title="adhere") for text in missing[:_GAPS]]
    room = {level: MOST - len(found) - (level == last) for level, found in commands.items()}
    room["notice"] -= last != "notice"  # the last one
    titles = {each["id"]: each["title"] for each in report.rules}
    chosen = {number for level in room for number in islice(_of_level(issues, level), room[level])}
    texts = {number: _annotation(each, titles) for number, each in issues.read(chosen)}
    for number in issues.ranked:
        if number in texts:
            commands[issues.levels[number]].append(texts[number])
    for found in commands.values():
        out.writelines(found)
    out.write(_command(last, plain(line, _LONGEST), title="adhere"))
    left = len(issues.ranked) - len(texts) + max(len(missing) - _GAPS, 0)
    if left:
        out.write(_command("notice", f"{counted(left, 'more result')} in the other reports", title="adhere"))


def _of_level(issues: Issues, level: Level) -> filter[int]:
    return filter(lambda number: issues.levels[number] == level, issues.ranked)


def _annotation(issue: Issue, titles: dict[str, str]) -> str:
    rule, place = issue.finding["rule"], issue.place
    word = headline.label(issue.finding)
    word = "fails" if word in SEVERITIES[1:] else word
    title = f"{word}: {titles[rule]} ({rule})" if rule in titles else rule  # a rule's title alone reads like a pass
    where = {"file": issue.file, "line": str(place["line"]), "col": str(place["column"])} if place else {}
    details = (f"{label}: {text}" for label, text in headline.brief(issue.finding))
    lines = [plain(text, _LONGEST) for text in (issue.title, *details)]
    return _command(issue.level, "\n".join(lines), **where, title=title)


def _command(level: Level, message: str, **properties: str) -> str:
    """Return a command. A percent sign, line ends, and in properties also colon and comma are percent-encoded."""
    found = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::{level} {found}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text, _LONGEST)).replace(":", "%3A").replace(",", "%2C")
