"""GitLab's Code Quality report: a JSON array, shown in merge requests.

GitLab compares the fingerprints of two branches, so each must be unique and the same in every pipeline. A scan that is
not complete has an issue that says so.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from scanner.model.finding import SEVERITIES
from scanner.model.lint_report import LintReport
from scanner.model.report import NEVER_FAILS, FindingRow, Report
from scanner.report.escape import plain
from scanner.report.issues import Issues, gaps
from scanner.report.stream import dumps

_LONGEST = 1000
_SEVERITIES = {"critical": "blocker", "high": "critical", "medium": "major", "low": "minor", "info": "info"}


def write(report: Report | LintReport, out: TextIO) -> None:
    """Write the array, an issue a line."""
    before = "[\n"
    for each in _issues(report):
        out.write(f"{before}{dumps(each)}")
        before = ",\n"
    out.write("[]\n" if before == "[\n" else "\n]\n")


def _issues(report: Report | LintReport) -> Iterator[dict[str, object]]:
    if missing := gaps(report):
        yield _issue("coverage", "; ".join(missing), "coverage", "major", "adhere/coverage", 1)
    issues, seen = Issues(report), Counter[str]()
    for _, each in issues.read(issues.levels):
        line = each.place["line"] if each.place else 1
        seen[each.fingerprint] += 1
        fingerprint = f"{each.fingerprint}{seen[each.fingerprint]}"
        yield _issue(each.finding["rule"], each.sentences, fingerprint, _severity(each.finding), each.file, line)


def _issue(rule: str, text: str, fingerprint: str, severity: str, path: str, line: int) -> dict[str, object]:
    return {
        "description": plain(text, _LONGEST),
        "check_name": plain(rule, _LONGEST),
        "fingerprint": hashlib.sha256(fingerprint.encode()).hexdigest()[:32],
        "severity": severity,
        "location": {"path": plain(path, _LONGEST), "lines": {"begin": line}},
    }


def _severity(finding: FindingRow) -> str:
    """Return GitLab's word. Inconclusive is ``major``: it is no pass, and how bad it is remains unknown."""
    if finding["verdict"] != "fail":
        return "info" if finding["severity"] == SEVERITIES[0] else "major"
    return "info" if finding["status"] in NEVER_FAILS else _SEVERITIES.get(finding["severity"], "major")
