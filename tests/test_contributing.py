"""The documents for contributors name files that exist, and what they ask to list is listed."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from scanner.report import FORMATS, LINT_FORMATS, formats

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("CONTRIBUTING.md", "docs/architecture.md")


def paths(text: str) -> list[str]:
    """Return the paths in backticks; a placeholder such as ``<id>`` is none."""
    return re.findall(r"`((?:scanner|tests|docs|profiles|reports)/[\w./-]+)`", text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str) -> None:
    named = paths((ROOT / document).read_text())
    assert len(named) >= 10
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_format_is_in_the_table_of_formats() -> None:
    cells = re.findall(r"^\| ([a-z, ]+) \| (?:scan|lint)", (ROOT / "docs/formats.md").read_text(), re.MULTILINE)
    listed = {name for cell in cells for name in cell.split(", ")}
    assert {*FORMATS, *LINT_FORMATS} - listed == set(), "docs/formats.md: add a row to the first table"


def test_every_format_is_registered() -> None:
    modules = [import_module(f"{formats.__name__}.{each.name}") for each in iter_modules(formats.__path__)]
    registered = {each.module for each in FORMATS.values()} | {each.module for each in LINT_FORMATS.values()}
    left = [each.__name__ for each in modules if hasattr(each, "write") and each.__name__ not in registered]
    assert left == [], "add a Format in scanner/report/__init__.py"
