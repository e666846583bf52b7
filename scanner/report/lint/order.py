"""The order of lint findings, and their places as text."""

from __future__ import annotations

from scanner.model.lint_report import LintFindingRow, LintReport
from scanner.report.headline import importance


def place(finding: LintFindingRow) -> str:
    """``file:line:column``, or the object and field."""
    where = finding["place"]
    return f"{where['file']}:{where['line']}:{where['column']}" if where else finding["about"] or "objects"


def ranked(report: LintReport) -> list[LintFindingRow]:
    """All findings by where they are; of one place, the worst first."""
    return sorted(report.every(), key=_by_place)


def _by_place(finding: LintFindingRow) -> tuple[object, ...]:
    """Sort key: of one place, what depends on an absent object comes last, one absent object after the other."""
    where, unseen = finding["place"], finding["unseen"]
    position = (where["file"], where["line"], where["column"]) if where else (finding["about"] or "", 0, 0)
    return *position, unseen["object"] if unseen else "", importance(finding), finding["rule"]
