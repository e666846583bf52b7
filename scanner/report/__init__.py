"""Report -> text: pure; one file per format.

A format reads the header of a report and its rows, in one or more passes, and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar

from msgspec import Struct

from scanner.model.report import Report

if TYPE_CHECKING:
    from scanner.model.lint_report import LintReport

R = TypeVar("R")


class Format(Struct, Generic[R], frozen=True, kw_only=True):
    """A format of the report of a scan, or of lint."""

    name: str
    """The name in ``--format NAME``."""
    file_name: str
    """Name of the file, where the user gives a directory."""
    module: str
    """Imported when it is used; few runs need more than one."""
    function: str = "write"
    mode: int | None = None
    """Permissions of a new file; None: what the umask leaves."""
    every_endpoint: bool = True
    """False for a format of a scan that leaves out endpoints, such as those that could not be scanned."""

    def write(self, report: R, out: TextIO, **options: object) -> None:
        """Write the whole report, row by row. Text and JSON take ``options``."""
        getattr(import_module(self.module), self.function)(report, out, **options)


_SCAN: tuple[Format[Report], ...] = (
    Format(name="text", file_name="report.txt", module="scanner.report.formats.text"),
    Format(name="json", file_name="report.json", module="scanner.report.formats.json_document"),
    Format(name="junit", file_name="report.xml", module="scanner.report.formats.junit"),
    Format(name="html", file_name="report.html", module="scanner.report.formats.html"),
    Format(name="sarif", file_name="report.sarif", module="scanner.report.formats.sarif"),
    Format(name="github", file_name="annotations.txt", module="scanner.report.formats.github"),
    Format(name="gitlab", file_name="code-quality.json", module="scanner.report.formats.gitlab"),
    Format(name="markdown", file_name="report.md", module="scanner.report.formats.markdown"),
    Format(name="csv", file_name="report.csv", module="scanner.report.formats.csv_table"),
    Format(name="openreports", file_name="openreports.json", module="scanner.report.formats.policy_reports"),
    Format(
        name="policyreport",
        file_name="policyreports.json",
        module="scanner.report.formats.policy_reports",
        function="write_policy_reports",
    ),
    Format(
        name="cyclonedx",
        file_name="cbom.cdx.json",
        module="scanner.report.formats.cyclonedx",
        every_endpoint=False,
    ),
    Format(name="controls", file_name="controls.md", module="scanner.report.formats.control_results"),
)
_TLS_SCANNER: tuple[Format[Report], ...] = tuple(
    Format(
        name=f"tls-scanner-{kind}",
        file_name=name,
        module="scanner.report.formats.tls_scanner_files",
        function=f"write_{kind}",
    )
    for kind, name in (("json", "results.json"), ("csv", "results.csv"), ("junit", "junit_tls_scan.xml"))
)
_LINT: tuple[Format[LintReport], ...] = (
    Format(name="text", file_name="lint.txt", module="scanner.report.formats.lint_text"),
    Format(name="json", file_name="lint.json", module="scanner.report.formats.json_document", function="write_lint"),
    Format(name="junit", file_name="lint.xml", module="scanner.report.formats.junit", function="write_lint"),
    Format(name="sarif", file_name="lint.sarif", module="scanner.report.formats.sarif"),
    Format(name="github", file_name="lint-annotations.txt", module="scanner.report.formats.github"),
    Format(name="gitlab", file_name="lint-code-quality.json", module="scanner.report.formats.gitlab"),
    Format(name="markdown", file_name="lint.md", module="scanner.report.formats.markdown"),
    Format(name="csv", file_name="lint.csv", module="scanner.report.formats.csv_table"),
)
_DIFF: tuple[Format[Any], ...] = (
    Format(name="text", file_name="diff.txt", module="scanner.report.comparison", function="write_text"),
    Format(name="json", file_name="diff.json", module="scanner.report.comparison", function="write_json"),
)
FORMATS = {each.name: each for each in _SCAN}
"""Formats of a scan, in the order of help texts."""
COMPATIBLE_FORMATS = {"tls-scanner": {each.name: each for each in _TLS_SCANNER}}
"""Formats of ``--compat``: the files of another scanner."""
LINT_FORMATS = {each.name: each for each in _LINT}
"""Formats of lint."""
DIFF_FORMATS = {each.name: each for each in _DIFF}
"""Formats of a comparison."""
