"""The documents for contributors name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
