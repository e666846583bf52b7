"""Whole documents, compared with what a person has looked at.

After a change that is meant: ``ADHERE_GOLDEN=write pytest tests/report``, then read the difference before it is
committed.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def assert_golden(name: str, text: str) -> None:
    """Fails when ``text`` is not ``tests/golden/NAME`` to the letter."""
    path = GOLDEN / name
    if os.environ.get("ADHERE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
