"""Lint's report -> text: pure; one file per format."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TextIO

from scanner.model.lint_report import LintReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFormat:
    """One way to write a report of lint."""

    name: str
    """As one asks for it: ``--format NAME``."""
    file_name: str
    """Where it goes when a directory is given and no file."""
    module: str

    def write(self, report: LintReport, out: TextIO) -> None:
        """Write the whole report. ``text.write`` also takes ``color`` and ``hints``."""
        import_module(self.module).write(report, out)


FORMATS: dict[str, LintFormat] = {
    one.name: one
    for one in (
        LintFormat(name="text", file_name="lint.txt", module="scanner.report.lint.text"),
        LintFormat(name="json", file_name="lint.json", module="scanner.report.lint.json_document"),
        LintFormat(name="junit", file_name="lint.xml", module="scanner.report.lint.junit"),
        LintFormat(name="sarif", file_name="lint.sarif", module="scanner.report.lint.sarif"),
    )
}
"""Every format, in the order in which help texts name them."""
