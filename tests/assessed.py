"""A snapshot that was assessed."""

from __future__ import annotations

from scanner.assessment import Assessment, Viewpoint, assess
from scanner.values import replace
from tests.expect.stories import load


def looked_at(story: str, name: str) -> Assessment:
    found = assess(load(story).snapshot, Viewpoint())
    return replace(found, facts=replace(found.facts, name=name))
