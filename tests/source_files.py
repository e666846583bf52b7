"""The sources and documents of the repository, each read and parsed once in a process."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCANNER = ROOT / "scanner"
DOCS = ROOT / "docs"


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(path for path in SCANNER.rglob("*.py") if "_data" not in path.parts))


@cache
def pages() -> tuple[Path, ...]:
    """The pages below docs/."""
    return tuple(sorted(DOCS.rglob("*.md")))


@cache
def read(path: Path) -> str:
    return path.read_text()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module's syntax tree."""
    return tuple(ast.walk(ast.parse(read(path))))


def place(path: Path, line: int) -> str:
    """``scanner/scan.py:12``"""
    return f"{path.relative_to(ROOT)}:{line}"


def line_of(match: re.Match[str]) -> int:
    return match.string.count("\n", 0, match.start()) + 1
