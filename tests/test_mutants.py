"""The changes that ``make mutants`` makes."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import EQUIVALENT, ROOT, Module, draw, equivalent, files, groups, module, naming


def changed(text: str) -> set[str]:
    """The text after each change, which compiles."""
    texts = {each.text for each in Module("scanner/judge/x.py", text).mutations()}
    assert all(map(ast.parse, texts))
    return texts


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("x = a == b", {"x = a != b"}),
        ("x = a <= b", {"x = a < b", "x = a > b"}),
        ("x = a is b not in c", {"x = a is not b not in c", "x = a is b in c"}),
        ("x = f(a and b)", {"x = f(a or b)", "x = f(a)", "x = f(b)"}),
        ("x = f(not a)", {"x = f(a)"}),
        ("x = 0x10", {"x = 17", "x = 15"}),
        ("x = True", {"x = False"}),
        ("x = f(a | b)", {"x = f(a)", "x = f(b)"}),
        ("x = (a, b)", {"x = (a,)", "x = (b,)"}),
        ("X = [1]", {"X = []", "X = [0]", "X = [2]"}),
        ("x = {'é', b}", {"x = {b}", "x = {'é'}"}),
        ("x = {a: b, **c}", {"x = {**c}"}),
        ("x = max(any(a))", {"x = min(any(a))", "x = max(all(a))"}),
        ("x = Finding(fix=a, rule=b, evidence=c)", {"x = Finding(fix=a, rule=b)"}),
        ("x = a if b else c", {"x = a if True else c", "x = a if False else c", "x = a if not b else c"}),
        ("x = {a for a in b if a}", {"x = {a for a in b}"}),
        ("f(a)", {"pass"}),
        ("a[b] = c", {"pass"}),
        ("def f() -> A | None:\n    return a", {"def f() -> A | None:\n    return None"}),
        ("def f(a: int=1) -> bool:\n    return a", {
            "def f(a: int=0) -> bool:\n    return a",
            "def f(a: int=2) -> bool:\n    return a",
            "def f(a: int=1) -> bool:\n    return True",
            "def f(a: int=1) -> bool:\n    return False",
        }),
    ],
)  # fmt: skip
def test_a_line_has_these_changes(line: str, others: set[str]) -> None:
    assert changed(line) == others


@pytest.mark.parametrize(
    "text",
    [
        '"""A text."""',
        "x: A | B",
        "Ab: TypeAlias = A | B",
        "def f(a: Literal[1]) -> A | B: ...",
        "def __repr__(self) -> str: return self.a == 1",
        "class A(Struct, frozen=True): ...",
        "x = f'{a == 1}' if a > 1 else ''",
        "x = 'a' + b",
        "x = f(fix=a == 1)",
        "_MOST: Final = 64 * 1024",
    ],
)
def test_texts_types_and_limits_stay(text: str) -> None:
    assert not changed(text)


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
