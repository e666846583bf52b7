"""No field of an object is too odd: every value in every example that fails, one after another, of another type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from scanner.files.source_positions import Steps
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.lint import READS, lint
from scanner.lint.gateway import GATEWAY_RULES
from scanner.model.declared import Declared, LintSubject
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import authority, examples, manifests

ODD: tuple[object, ...] = (None, -1, "x", [[]], {"a": 1})
NAMING = ("apiVersion", "kind", "metadata")
"""Without these no object gets so far."""


def places(value: object, at: Steps = ()) -> Iterator[Steps]:
    """The way to every value inside."""
    items: Iterable[tuple[str | int, object]]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        if at or step not in NAMING:
            yield (*at, step)
            yield from places(inner, (*at, step))


def changed(raw: object, place: Steps, odd: object) -> object:
    """A copy with something odd in one place."""
    if not place:
        return odd
    step, *rest = place
    if isinstance(raw, dict):
        return {**raw, step: changed(raw[step], tuple(rest), odd)}
    assert isinstance(raw, list)
    return [changed(each, tuple(rest), odd) if index == step else each for index, each in enumerate(raw)]


def known(objects: list[KubeObject]) -> Declared:
    """A cluster with these and nothing else."""
    found = {kind: tuple(each for each in objects if each.kind == kind) for kind in READS}
    snapshot = Snapshot(taken_at=authority().now, origin=Origin(name="odd"), objects=found)
    return Declared(subjects=tuple(LintSubject(object=each) for each in objects), known=snapshot)


@pytest.mark.parametrize("rule", GATEWAY_RULES, ids=lambda rule: rule.id)
def test_every_field_may_be_anything(rule: ObjectRule, tmp_path: Path) -> None:
    objects = [each.object for each in manifests(tmp_path, examples(rule, "fails")[0]).objects]
    count = 0
    for index, each in enumerate(objects):
        for place in places(each.raw):
            for odd in ODD:
                raw = changed(each.raw, place, odd)
                assert isinstance(raw, dict)
                one = KubeObject(raw, each.kind)
                found = list(lint(known([*objects[:index], one, *objects[index + 1 :]]), [rule]))
                assert all(flaw.finding.message for linted in found for flaw in linted.findings)
                count += 1
    assert count
