"""Manifests that cannot be read, or are of no API that there is."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def check_unreadable(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every manifest can be read."""
    yield rule.finding(place, f"cannot be read: {message}", hint or None)


UNREADABLE = ScanRule(id="manifest-unreadable", check=check_unreadable)


def check_kind(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every object is of an API that there is."""
    yield rule.finding(place, f"was not looked at: {message}", hint or None)


KIND_UNKNOWN = ScanRule(id="kind-unknown", check=check_kind)
