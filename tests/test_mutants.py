"""The changes that ``make mutants`` makes."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import EQUIVALENT, ROOT, Module, draw, equivalent, files, groups, module, naming

CHANGES = {
    "x = a <= b": {"x = a < b", "x = a > b"},
    "x = a is b not in c": {"x = a is not b not in c", "x = a is b in c"},
    "x = f(a and b)": {"x = f(a or b)", "x = f(a)", "x = f(b)"},
    "x = f(not a)": {"x = f(a)"},
    "x = 0x10": {"x = 17", "x = 15"},
    "x = True": {"x = False"},
    "x = f(a | b)": {"x = f(a)", "x = f(b)"},
    "x = (a, b)": {"x = (a,)", "x = (b,)"},
    "X = [1]": {"X = []", "X = [0]", "X = [2]"},
    "x = {'é', b}": {"x = {b}", "x = {'é'}"},
    "x = {a: b, **c}": {"x = {**c}"},
    "x = max(any(a))": {"x = min(any(a))", "x = max(all(a))"},
    "x = Finding(fix=a, rule=b, evidence=c)": {"x = Finding(fix=a, rule=b)"},
    "x = a if b else c": {"x = a if True else c", "x = a if False else c", "x = a if not b else c"},
    "x = {a for a in b if a}": {"x = {a for a in b}"},
    "f(a)": {"pass"},
    "def f(a: int=1) -> A | None:\n    return a": {
        "def f(a: int=0) -> A | None:\n    return a",
        "def f(a: int=2) -> A | None:\n    return a",
        "def f(a: int=1) -> A | None:\n    return None",
    },
}
UNCHANGED = '''
"""A text."""
x: A | B
Names: TypeAlias = A | B
def f(a: Literal[1]) -> A | B: ...
def empty() -> list[int]: return []
def __repr__(self) -> str: return self.a == 1
class A(Struct, frozen=True): ...
x = f'{a == 1}' if a > 1 else ''
x = 'a' + b
x = f(fix=a == 1)
_MOST: Final = 64 * 1024
'''


@pytest.mark.parametrize("line", CHANGES)
def test_a_line_has_these_changes(line: str) -> None:
    found = {each.text for each in Module("scanner/judge/x.py", line).mutations()}
    assert found == CHANGES[line]
    assert all(map(ast.parse, found))


def test_texts_types_and_limits_stay() -> None:
    assert not [*map(str, Module("scanner/judge/x.py", UNCHANGED).mutations())]


def test_a_seed_always_draws_the_same() -> None:
    assert draw(3, 1) == draw(3, 1) != draw(3, 2)


def test_the_tests_of_a_module_come_first() -> None:
    assert "tests/judge/test_reach.py" in naming("scanner/judge/reach.py")
    assert all((ROOT / path).exists() for file in files() for path in groups(file))


def test_every_equivalent_change_is_one_that_can_be_drawn() -> None:
    """A line that was changed since loses its excuse: look at it again."""
    for (file, function, old, new), reason in equivalent().items():
        possible = {(each.old, each.new) for each in module(file).mutations(function)}
        assert (old, new) in possible, f"{file} {function}: remove it from {EQUIVALENT}"
        assert reason
