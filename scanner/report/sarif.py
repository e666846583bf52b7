"""SARIF 2.1.0 (OASIS), for GitHub code scanning and other viewers.

An undecided finding is ``open`` (section 3.27.9), which is no pass. GitHub takes 25,000 results a run and shows 5,000:
the worst come first, and a notification has the number of those left out.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from typing import TextIO
from urllib.parse import quote

from scanner.model.lint_report import LintFindingRow, LintReport, PlaceRow
from scanner.model.report import NEVER_FAILS, RuleRow
from scanner.report.escape import plain
from scanner.report.headline import importance
from scanner.report.lint_text import ranked
from scanner.report.stream import dumps

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST = 25_000
_NOTES = 100
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""``security-severity`` for GitHub: above 9 critical, 7 high, 4 medium."""


def write(report: LintReport, out: TextIO) -> None:
    """Write the log, with one run."""
    found = sorted(ranked(report), key=importance)
    index = {each["id"]: number for number, each in enumerate(report.rules)}
    driver = {
        "name": report.scanner["name"],
        "version": report.scanner["version"],
        "rules": [_rule(each) for each in report.rules],
    }
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, len(found))],
        "results": [_result(each, index) for each in found[:MOST]],
    }
    out.write(dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n")


def _invocation(report: LintReport, count: int) -> dict[str, object]:
    """Return the ``invocation``: whether all inputs were read, and which were not (section 3.20.21)."""
    texts = [f"{count - MOST} of {count} results are left out, the least severe"] if count > MOST else []
    texts += [f"not looked at: {each['path']}: {each['reason']}" for each in report.skipped[:_NOTES]]
    texts += [f"not read: {each['resource']}: {each['reason']}" for each in report.unreadable[:_NOTES]]
    texts += ["there was no object to judge"] if not report.objects else []
    whole = not (report.unread() or report.skipped or any(not each["accepted"] for each in report.unreadable))
    notes = [{"level": "warning", "message": {"text": plain(text, 1000)}} for text in texts]
    return {"executionSuccessful": whole, **({"toolExecutionNotifications": notes} if notes else {})}


def _rule(rule: RuleRow) -> dict[str, object]:
    return {
        "id": rule["id"],
        "shortDescription": {"text": rule["title"]},
        "fullDescription": {"text": rule["title"]},
        "help": {"text": rule["page"], "markdown": rule["page"]},
        "defaultConfiguration": {"level": _LEVELS.get(rule["severity"], "warning")},
        "properties": {"tags": ["security", "tls"], "security-severity": _SCORES.get(rule["severity"], "5.0")},
    }


def _result(finding: LintFindingRow, index: dict[str, int]) -> dict[str, object]:
    about = finding["about"] or ""
    text = plain(_sentences(finding["message"], finding["fix"] or ""), 1000)
    location: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": plain(about, 500)}]} if about else {}
    if finding["place"]:
        location["physicalLocation"] = _physical(finding["place"])
    stable = "\0".join((finding["rule"], about, finding["place"]["file"] if finding["place"] else ""))
    return {
        "ruleId": finding["rule"],
        **({"ruleIndex": index[finding["rule"]]} if finding["rule"] in index else {}),
        **_level(finding),
        "message": {"text": text},
        "locations": [location] if location else [],
        "partialFingerprints": {"adhere/v1": hashlib.sha256(stable.encode("utf-8", "replace")).hexdigest()[:32]},
    }


def _sentences(message: str, fix: str) -> str:
    return f"{message}{'' if message.endswith(('.', '?', '!')) else '.'} {fix}" if fix else message


def _level(finding: LintFindingRow) -> dict[str, str]:
    """Return kind and level; only the kind ``fail`` has a level (section 3.27.10)."""
    if finding["verdict"] != "fail":
        return {"kind": "open", "level": "none"}
    if finding["status"] in NEVER_FAILS:
        return {"kind": "informational", "level": "none"}
    return {"kind": "fail", "level": _LEVELS.get(finding["severity"], "warning")}


def _physical(place: PlaceRow) -> dict[str, object]:
    return {
        "artifactLocation": {"uri": _uri(place["file"])},
        "region": {"startLine": place["line"], "startColumn": place["column"]},
    }


def _uri(file: str) -> str:
    """Return a path as a URI reference, relative for a relative path (RFC 3986, section 4.2)."""
    if file == "<stdin>":
        return "stdin"
    path = PurePath(file)
    text = quote(re.sub(r"\A(\./)+", "", path.as_posix()), safe="/-._~", errors="replace")
    return f"file://{text}" if path.is_absolute() else text
