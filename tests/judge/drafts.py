"""What an example on a rule's page changes of a listener without fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scanner.model.observation import Opinion


@dataclass(slots=True)
class Draft:
    """The parts of a case, as ``cases.case`` takes them."""

    observation: dict[str, Any] = field(default_factory=dict)
    expectation: dict[str, Any] = field(default_factory=dict)
    endpoint: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    opinion: Opinion | None = None
    """What the second witness saw."""


Word: TypeAlias = Callable[[Draft, Any], None]
"""Takes what stands behind a word of an example."""
