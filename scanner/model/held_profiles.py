"""Every ``tlsSecurityProfile`` in an object, whatever kind it is of and wherever it stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.objects import Fields

FIELD: Final = "tlsSecurityProfile"
_DEEPEST: Final = 8
_MOST: Final = 20_000
"""Values of one object that are looked through, and how deep."""


def held_profiles(each: Fields) -> Iterator[tuple[Steps, Fields]]:
    """Those below ``spec``, with the way to each, the outermost first."""
    waiting: deque[tuple[Steps, object]] = deque([(("spec",), each.at("spec"))])
    seen = 0
    while waiting and seen < _MOST:
        steps, value = waiting.popleft()
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, item in inner:
            seen += 1
            if step == FIELD and isinstance(item, dict):
                yield (*steps, FIELD), Fields(item)
            elif isinstance(item, dict | list) and len(steps) < _DEEPEST:
                waiting.append(((*steps, step), item))
