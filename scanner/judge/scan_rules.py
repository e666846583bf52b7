"""Every rule on a scan as a whole, and which rules' findings can be waived."""

from __future__ import annotations

from scanner.judge import RULES
from scanner.judge.connection_coalescing import SHARING
from scanner.judge.custom_profiles import OBJECT_RULES
from scanner.judge.passthrough import PASSAGE
from scanner.judge.replicas import REPLICAS
from scanner.judge.require import REQUIRE_RULES
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.judge.waivers import WAIVER_RULES
from scanner.model.rule import ScanRule

ACROSS: tuple[ScanRule, ...] = (REPLICAS, PASSAGE, SHARING)
"""In the order in which a report has their findings."""


SCAN_RULES: tuple[ScanRule, ...] = (*ACROSS, *OBJECT_RULES, *REQUIRE_RULES, *WAIVER_RULES)
"""In the order in which ``adhere rules`` lists them."""

WAIVABLE: tuple[str, ...] = (
    *(each.id for each in RULES),
    *(each.id for each in DEEP_RULES),
    *(each.id for each in ACROSS),
)
"""Ids of the rules that a waiver may name. What is required of a scan is waived by not requiring it."""
