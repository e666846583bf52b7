"""Report -> text: pure; one file per format.

A format reads the header of a ``Report`` and its rows, one by one and as often as it likes, and knows nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from scanner.model.report import Report
from scanner.report import html, json_document, junit, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write a report."""

    name: str
    """As one asks for it: ``--format NAME``."""
    file_name: str
    """Where it goes when a directory is given and no file."""
    write: Callable[[Report, TextIO], None]
    """Writes the whole report, row by row. ``text.write`` also takes ``color`` and ``width``."""


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format(name="text", file_name="report.txt", write=text.write),
        Format(name="json", file_name="report.json", write=json_document.write),
        Format(name="junit", file_name="report.xml", write=junit.write),
        Format(name="html", file_name="report.html", write=html.write),
    )
}
"""Every format, in the order in which help texts name them."""
