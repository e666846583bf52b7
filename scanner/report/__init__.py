"""Report -> text: pure; one file per format.

A format reads the header of a ``Report`` and its rows, one by one and as often as it likes, and knows nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Generic, TextIO, TypeVar

from scanner.model.report import Report

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(Generic[R]):
    """One way to write a report: of a scan, or of lint."""

    name: str
    """As one asks for it: ``--format NAME``."""
    file_name: str
    """Where it goes when a directory is given and no file."""
    module: str
    """Imported when it is used; a run seldom wants more than one."""
    mode: int | None = None
    """Permissions of a new file; None: what the umask leaves."""

    def write(self, report: R, out: TextIO) -> None:
        """Write the whole report, row by row. ``text.write`` also takes ``color``, and ``width`` or ``hints``."""
        import_module(self.module).write(report, out)


_ALL: tuple[Format[Report], ...] = (
    Format(name="text", file_name="report.txt", module="scanner.report.text"),
    Format(name="json", file_name="report.json", module="scanner.report.json_document"),
    Format(name="junit", file_name="report.xml", module="scanner.report.junit"),
    Format(name="html", file_name="report.html", module="scanner.report.html"),
)
FORMATS = {one.name: one for one in _ALL}
"""Every format, in the order in which help texts name them."""
