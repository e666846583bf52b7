"""In which order findings are told, and where they are said to be."""

from __future__ import annotations

from scanner.model.finding import SEVERITIES
from scanner.model.lint_report import LintFindingRow, LintReport


def place(finding: LintFindingRow) -> str:
    """``file:line:column``, or the object and field."""
    where = finding["place"]
    return f"{where['file']}:{where['line']}:{where['column']}" if where else finding["about"] or "objects"


def ranked(report: LintReport) -> list[LintFindingRow]:
    """All findings by where they are; of one place, the worst first."""
    return sorted(report.every(), key=_by_place)


def _by_place(finding: LintFindingRow) -> tuple[str, int, int, int, str, str]:
    where, unseen = finding["place"], finding["unseen"]
    file, line, column = (where["file"], where["line"], where["column"]) if where else (finding["about"] or "", 0, 0)
    return file, line, column, -weight(finding), unseen["object"] if unseen else "", finding["rule"]


def weight(finding: LintFindingRow) -> int:
    """The more, the worse; what could not be decided is no worse than what is informational."""
    return SEVERITIES.index(finding["severity"]) + 1 if finding["verdict"] == "fail" else 0
