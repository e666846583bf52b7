"""Whole documents, compared with what a person has looked at.

After a change that is meant: ``ADHERE_GOLDEN=write pytest tests/report``, then read the difference before it is
committed.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
_LINES = 60


def assert_golden(name: str, text: str) -> None:
    """Fails when ``text`` is not ``tests/golden/NAME`` to the letter."""
    path = GOLDEN / name
    if os.environ.get("ADHERE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != before:
        test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
        difference = unified_diff(before.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm="")
        hint = f"if it is meant: ADHERE_GOLDEN=write .venv/bin/pytest {test}, then read the difference"
        pytest.fail("\n".join((*islice(difference, _LINES), hint)), pytrace=False)
