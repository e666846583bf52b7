"""No field of any object of the rules' examples can stop a rule by being of another type."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cluster.manifest_documents import Manifests
from scanner.kube.objects import KubeObject, Steps
from scanner.lint import RULES, lint
from scanner.linting import declared
from scanner.values import replace
from tests.cluster.odd_values import JSON
from tests.lint.examples import WHOLE, empty, examples, manifests
from tests.properties import at_most

ODD: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [{}],
    ["x"],
    [None, []],
    {},
    {"x": {}},
    {"x": ["y"]},
)


@cache
def read() -> tuple[tuple[bool, Manifests], ...]:
    """Every example, and whether it is all that there is in a cluster."""
    texts = dict.fromkeys(text for rule in RULES for which in ("fails", "passes") for text in examples(rule, which))
    with TemporaryDirectory() as directory:
        return tuple((text.startswith(WHOLE), manifests(Path(directory), text)) for text in texts)


def fields(value: object, above: Steps = ()) -> Iterator[Steps]:
    """The ways to everything in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*above, key)
        yield from fields(each, (*above, key))


@cache
def places() -> tuple[tuple[int, int, Steps], ...]:
    """Every field: the number of its example, and of its object there."""
    return tuple(
        (number, item, steps)
        for number, (_, example) in enumerate(read())
        for item, each in enumerate(example.objects)
        for steps in fields(each.object.raw)
    )


def check(place: tuple[int, int, Steps], value: object) -> None:
    """Lint an example with another value in one field."""
    number, item, (*above, last) = place
    whole, example = read()[number]
    raw: Any = deepcopy(example.objects[item].object.raw)
    parent = raw
    for step in above:
        parent = parent[step]
    parent[last] = value
    given = list(example.objects)
    given[item] = replace(given[item], object=KubeObject(raw, given[item].object.kind))
    for one in lint(declared(replace(example, objects=given), empty() if whole else None, "eve")):
        assert all(each.finding.message for each in one.findings)


@pytest.mark.slow
def test_no_field_is_a_key_before_its_type_is_known() -> None:
    """A mapping or list has no hash, so ``value in TABLE`` raises where the value may be one."""
    for place in places():
        check(place, [{}])


@at_most(400)
@given(st.data(), st.sampled_from(ODD) | JSON)
def test_no_field_of_an_object_is_too_odd(data: st.DataObject, value: object) -> None:
    check(data.draw(st.sampled_from(places())), value)
