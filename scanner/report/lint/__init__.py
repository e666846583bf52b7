"""Lint's report -> text: pure; one file per format."""

from __future__ import annotations

from scanner.model.lint_report import LintReport
from scanner.report import Format

_ALL: tuple[Format[LintReport], ...] = (
    Format(name="text", file_name="lint.txt", module="scanner.report.lint.text"),
    Format(name="json", file_name="lint.json", module="scanner.report.lint.json_document"),
    Format(name="junit", file_name="lint.xml", module="scanner.report.lint.junit"),
    Format(name="sarif", file_name="lint.sarif", module="scanner.report.lint.sarif"),
)
FORMATS = {one.name: one for one in _ALL}
"""Every format, in the order in which help texts name them."""
