"""SARIF 2.1.0 (OASIS), for GitHub code scanning and other viewers.

An inconclusive finding is ``open`` (section 3.27.9): the rule was evaluated, and what was seen does not decide it.
``pass`` and ``notApplicable`` would hide it, and ``review`` asks a person for a judgement that only another scan gives.

GitHub takes 20 runs with 25,000 results each and shows 5,000 of each run. So a run has 5,000 results, the first run has
the most important ones, and a notification counts those left out. GitHub shows only results with a file: a listener has
a path of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import PurePath
from typing import TextIO
from urllib.parse import quote

from scanner.model.finding import KNOWN
from scanner.model.lint_report import LintReport
from scanner.model.report import EXIT_NOTHING, NEVER_FAILS, FindingRow, Report, RuleRow
from scanner.report.escape import plain
from scanner.report.issues import Issue, Issues, ending, gaps
from scanner.report.stream import dumps

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST = 5_000
"""Results of a run."""
RUNS = 20
_LONGEST = 1000
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""``security-severity`` for GitHub: above 9 critical, 7 high, 4 medium."""
_RFC = re.compile(r"RFC (\d+)|(https://\S+)")


def write(report: Report | LintReport, out: TextIO) -> None:
    """Write the log, run by run."""
    issues, index = Issues(report), {each["id"]: number for number, each in enumerate(report.rules)}
    ranked = issues.ranked[: MOST * RUNS]
    parts = [ranked[start : start + MOST] for start in range(0, len(ranked), MOST)] or [[]]
    out.write(f'{{"$schema":{dumps(SCHEMA)},"version":"2.1.0","runs":[\n')
    for number, part in enumerate(parts, start=1):
        run = dumps(_run(report, number, len(issues.ranked) - len(ranked))).removesuffix("}")
        out.write(f'{run},"results":[')
        before = "\n"
        for _, each in issues.read(set(part)):
            out.write(before + dumps(_result(each, index, compared=report.baseline is not None)))
            before = ",\n"
        out.write("]}" + (",\n" if number < len(parts) else "\n"))
    out.write("]}\n")


def _run(report: Report | LintReport, number: int, left_out: int) -> dict[str, object]:
    """Return a run without its results. GitHub refuses two runs of one category: the others are numbered, so that the
    first one has the category of the upload."""
    driver = {
        "name": report.scanner["name"],
        "version": report.scanner["version"],
        **({"informationUri": address} if (address := _address()) else {}),
        "rules": [_rule(each) for each in report.rules],
    }
    of = "lint" if isinstance(report, LintReport) else "scan"
    return {
        "tool": {"driver": driver},
        **({"automationDetails": {"id": f"adhere-{of}-{number}/"}} if number > 1 else {}),
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, left_out)],
    }


def _address() -> str:
    """Return the web address of the documentation in the package's metadata, or else of the project; "" without one."""
    try:
        urls = metadata("adhere").get_all("Project-URL") or []
    except PackageNotFoundError:  # it runs from a checkout
        urls = []
    named = {name.strip().lower(): address.strip() for name, _, address in (each.partition(",") for each in urls)}
    found = named.get("documentation") or named.get("homepage") or ""
    return found if found.startswith("https://") else ""


def _invocation(report: Report | LintReport, left_out: int) -> dict[str, object]:
    """Return the ``invocation``: whether everything was read and judged, and what was not (section 3.20.21)."""
    texts = [f"{left_out} results are left out, the least severe"] if left_out else []
    notes = [{"level": "warning", "message": {"text": plain(text, _LONGEST)}} for text in (*texts, *gaps(report))]
    code, line = ending(report)
    if isinstance(report, LintReport):
        unread = any(not each["accepted"] for each in report.unreadable)
        complete = not (report.unread() or report.skipped or unread)
    else:
        complete = report.coverage["complete"] and code != EXIT_NOTHING
    return {
        "executionSuccessful": complete,
        **({} if code is None else {"exitCode": code, "exitCodeDescription": plain(line, _LONGEST)}),
        **({"toolExecutionNotifications": notes} if notes else {}),
    }


def _rule(rule: RuleRow) -> dict[str, object]:
    about = _help_uri(rule["references"])
    return {
        "id": rule["id"],
        "shortDescription": {"text": rule["title"]},
        "fullDescription": {"text": rule["title"]},
        **({"helpUri": about} if about else {}),
        "help": {"text": rule["page"], "markdown": rule["page"]},
        "defaultConfiguration": {"level": _LEVELS.get(rule["severity"], "warning")},
        "properties": {
            "tags": ["security", "tls"],
            "security-severity": _SCORES.get(rule["severity"], "5.0"),
            **({"controls": rule["controls"]} if rule.get("controls") else {}),
        },
    }


def _help_uri(references: Iterable[str]) -> str:
    """Return the address of the first reference that has one; ``help`` has the rule's own page."""
    for found in filter(None, map(_RFC.search, references)):
        return found[2] or f"https://www.rfc-editor.org/rfc/rfc{found[1]}"
    return ""


def _result(issue: Issue, index: dict[str, int], *, compared: bool) -> dict[str, object]:
    finding, place = issue.finding, issue.place
    region = {"startLine": place["line"], "startColumn": place["column"]} if place else {"startLine": 1}
    physical = {"artifactLocation": {"uri": _uri(issue.file)}, "region": region}
    kind = {"kind": plain(issue.kind, _LONGEST)} if issue.kind else {}
    logical = [{"fullyQualifiedName": plain(issue.about, 500), **kind}] if issue.about else []
    waiver = plain(finding["waiver"] or "", _LONGEST)
    return {
        "ruleId": finding["rule"],
        **({"ruleIndex": index[finding["rule"]]} if finding["rule"] in index else {}),
        **_level(finding),
        "message": {"text": plain(issue.sentences, _LONGEST)},
        "locations": [{**({"logicalLocations": logical} if logical else {}), "physicalLocation": physical}],
        "partialFingerprints": {"adhere/v1": issue.fingerprint},
        **({"baselineState": "unchanged" if finding["status"] == KNOWN else "new"} if compared else {}),
        **({"suppressions": [{"kind": "external", "justification": waiver}]} if waiver else {}),
    }


def _level(finding: FindingRow) -> dict[str, str]:
    """Return kind and level; only the kind ``fail`` has a level (section 3.27.10)."""
    if finding["verdict"] != "fail":
        return {"kind": "open", "level": "none"}
    if finding["status"] in NEVER_FAILS - {KNOWN}:
        return {"kind": "informational", "level": "none"}
    return {"kind": "fail", "level": _LEVELS.get(finding["severity"], "warning")}


def _uri(file: str) -> str:
    """Return a path as a URI reference, relative for a relative path (RFC 3986, section 4.2)."""
    path = PurePath(file)
    text = quote(path.as_posix(), safe="/-._~", errors="replace")
    return f"file://{text}" if path.is_absolute() else text
