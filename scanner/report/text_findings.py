"""Findings as text: what was seen, what would be right, how to mend it, how to see it again."""

from __future__ import annotations

from collections.abc import Callable

from scanner.model.report import FindingRow
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.page import Page, pad

LABEL = 12
"""Columns of the severity before a finding."""
_ITEMS = 8
"""Offending items shown per finding; the JSON document has them all."""
_RIGHT = 3
"""Items shown of what would have been right."""


def findings(page: Page, found: list[FindingRow]) -> None:
    """Each finding with what was seen, what would be right, how to mend it and how to see it again."""
    for finding in sorted(found, key=headline.importance):
        severity = finding["severity"] if finding["verdict"] == "fail" else finding["verdict"]
        kind = plain(headline.kind(finding["status"]))
        label = page.paint(severity, pad(plain(severity), LABEL))
        page.folded(LABEL + 3, f"  {label} ", f"{plain(finding['rule'])}: {kind}{plain(finding['message'], 600)}")
        for name, say in _FIELDS.items():
            say(page, name, finding)


def _items(page: Page, name: str, items: list[str]) -> None:
    shown = items[:_ITEMS] if len(items) > _ITEMS + 1 else items
    for item in shown:
        page.line(_label(page, name), plain(item, 160))
        name = ""
    if len(items) > len(shown):
        page.line(_label(page, ""), f"and {len(items) - len(shown)} more (all of them are in the JSON report)")


def _label(page: Page, name: str) -> str:
    return " " * (LABEL + 3) + page.paint("quiet", f"{name:<11}")


def _observed(page: Page, name: str, finding: FindingRow) -> None:
    _items(page, name, finding["observed"])


def _expected(page: Page, name: str, finding: FindingRow) -> None:
    """Joined and short: what would be right matters less to the eye than what is wrong."""
    items = finding["expected"]
    if items and finding["verdict"] == "fail":
        shown = items[:_RIGHT] if len(items) > _RIGHT + 1 else items
        more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
        page.folded(LABEL + 14, _label(page, name), ", ".join(plain(item, 160) for item in shown) + more)


def _fix(page: Page, name: str, finding: FindingRow) -> None:
    if finding["fix"]:
        page.folded(LABEL + 14, _label(page, name), plain(finding["fix"], 600))


def _reproduce(page: Page, name: str, finding: FindingRow) -> None:
    """Never folded: it is there to be copied."""
    if finding["reproduce"]:
        page.line(_label(page, name), plain(finding["reproduce"]))


def _waived(page: Page, name: str, finding: FindingRow) -> None:
    if finding["waiver"]:
        page.folded(LABEL + 14, _label(page, name), plain(finding["waiver"], 600))


def _explained(page: Page, name: str, finding: FindingRow) -> None:
    """Evidence of what nobody could ask is what the reader needs next; of a failure it is in the JSON report."""
    if finding["verdict"] == "inconclusive" or finding["about"]:
        _items(page, name, list(map(headline.status_line, finding["evidence"])))


def _confirmed(page: Page, name: str, finding: FindingRow) -> None:
    if finding["second_opinion"]:
        page.line(_label(page, name), plain(finding["second_opinion"]))


_FIELDS: dict[str, Callable[[Page, str, FindingRow], None]] = {
    "observed": _observed,
    "expected": _expected,
    "fix": _fix,
    "evidence": _explained,
    "reproduce": _reproduce,
    "waived by": _waived,
    "sslyze": _confirmed,
}
