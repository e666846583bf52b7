"""Ids of rules that were merged into others. Reports, policies and scripts of earlier releases name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RETIRED: Final[Mapping[str, str]] = {
    "contour-delegation-impossible": "contour-delegation-target",
    "contour-delegation-star": "contour-delegation-target",
    "contour-delegation-unused": "contour-delegation-target",
    "gateway-certificate-overlap": "gateway-overlapping-tls-config",
    "gateway-hostname-overlap": "gateway-overlapping-tls-config",
}
"""By the former id, the rule that judges the same today. ``docs/rules/README.md`` lists them."""


def current(rule_id: str) -> str:
    """The id by which a rule is known today; ``rule_id`` itself where it is none that was retired."""
    return RETIRED.get(rule_id, rule_id)
