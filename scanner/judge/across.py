"""Every rule that looks at several endpoints at once."""

from __future__ import annotations

from scanner.judge.passages import PASSAGE
from scanner.judge.replicas import REPLICAS
from scanner.judge.sharing import SHARING
from scanner.model.rule import ScanRule

ACROSS: tuple[ScanRule, ...] = (REPLICAS, PASSAGE, SHARING)
"""In the order in which a report has their findings."""
