"""Everything that the endpoints of all stories are expected to do, with each step of the reasoning.

``tests/golden/expectations.txt`` has what ``expected.yaml`` of a story leaves out: the objects that were consulted,
what each overrode, who sets the value, and the other names and neighbours to ask for. After a change that is meant:
``ADHERE_GOLDEN=write .venv/bin/pytest tests/expect/test_expectations_of_stories.py``; then read the difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from scanner import expect
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Profile
from scanner.model.expectation import Expectation
from tests.expect import stories
from tests.report.golden import assert_golden


def brief(value: object) -> str:
    if isinstance(value, Profile):
        return value.name
    if isinstance(value, Unknown):
        return f"unknown, {value.reason}"
    if isinstance(value, msgspec.Struct):
        return "(" + ", ".join(f"{name}={brief(each)}" for name, each in changed(value)) + ")"
    if isinstance(value, tuple | list):
        return ", ".join(map(brief, value[:6]))
    if isinstance(value, frozenset | set):
        return ", ".join(sorted(map(brief, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{brief(key)}: {brief(each)}" for key, each in value.items())
    return str(value)


def changed(value: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """The fields that differ from their default."""
    for field in msgspec.structs.fields(value):
        found = getattr(value, field.name)
        if field.default is msgspec.NODEFAULT or found != field.default:
            yield field.name, found


def described(expectation: Expectation) -> Iterator[str]:
    for name, value in changed(expectation):
        if name == "because":
            for each in expectation.because:
                over = f" over {each.beat}" if each.beat else ""
                yield f"    {'* ' if each.decides else ''}{each.source} {each.field}: {each.said}{over}"
        elif value not in (None, (), ""):
            yield f"  {name}: {brief(value)[:300]}"


BY_OPTION = {
    *(kinds.KUBELET_CONFIGZ, kinds.MICROSHIFT_CONFIG, kinds.SECRET),
    *(kinds.DEPLOYMENT, kinds.DAEMON_SET, kinds.STATEFUL_SET),
}
"""Kinds that are read only where an option or a directory has them."""


def used(module: Path) -> Iterator[Kind]:
    """The kinds that a module imports."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == kinds.__name__:
            yield from (found for each in node.names if isinstance(found := getattr(kinds, each.name), Kind))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[Kind]:
    """The kinds that are read of a snapshot."""
    found, every = set[Kind](), Snapshot.every

    def noted(own: Snapshot, kind: Kind) -> tuple[KubeObject, ...]:
        found.add(kind)
        return every(own, kind)

    monkeypatch.setattr(Snapshot, "every", noted)  # also called by ``get``
    return found


def test_these_are_the_expectations_and_their_reasons(read: set[Kind]) -> None:
    lines = []
    for name in stories.names():
        story, alike = stories.load(name), dict[tuple[str, ...], list[str]]()
        for endpoint in story.endpoints:
            alike.setdefault(tuple(described(story.owed(endpoint))), []).append(endpoint)
        for text, endpoints in alike.items():
            lines += [*(f"{name}, {each}" for each in endpoints), *text]
    for module in Path(expect.__file__).parent.glob("*.py"):
        read.update(used(module))
    assert read - BY_OPTION == set(expect.READS)
    found = "\n".join(lines) + "\n"
    assert_golden("expectations.txt", found)
