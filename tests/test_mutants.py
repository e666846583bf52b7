"""The changes that ``make mutants`` makes."""

from __future__ import annotations

import pytest

from tests.mutants import EQUIVALENT, ROOT, draw, equivalent, files, groups, key, mutations, mutations_of, naming


def changed(text: str) -> set[str]:
    source = text.encode()
    return {each.applied(source).decode() for each in mutations_of("scanner/judge/x.py", source)}


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("x = a == b", {"x = a != b"}),
        ("x = a <= b", {"x = a < b", "x = a > b"}),
        ("x = a  not  in b", {"x = a  in b"}),
        ("x = a is b", {"x = a is not b"}),
        ("x = f(a and b)", {"x = f((a or b))", "x = f((a))", "x = f((b))"}),
        ("x = f(not a)", {"x = f((a))"}),
        ("x = 0x10", {"x = 0x11", "x = 0xf"}),
        ("x = True", {"x = False"}),
        ("x = f(a | b)", {"x = f(a)", "x = f(b)"}),
        ("x = f(a - b)", {"x = f(a)", "x = f(b)"}),
        ("x = (a, b)", {"x = (a,)", "x = (b,)"}),
        ("x = [a]", {"x = []"}),
        ("x = {'é', b}", {"x = {b}", "x = {'é'}"}),
        ("x = {a: b, c: d}", {"x = { c: d}", "x = {a: b, }"}),
        ("x = any(a)", {"x = all(a)"}),
        ("x = max(a)", {"x = min(a)"}),
        ("x = a if b else c", {"x = a if True else c", "x = a if False else c", "x = a if not (b) else c"}),
        ("x = {a for a in b if a}", {"x = {a for a in b if True}"}),
        ("f(a)", {"pass"}),
        ("a[b] = c", {"pass"}),
        ("def f() -> A | None: return a", {"def f() -> A | None: return None"}),
        ("def f() -> bool: return a", {"def f() -> bool: return True", "def f() -> bool: return False"}),
        ("def f() -> list[A]: return a", {"def f() -> list[A]: return []"}),
        ("def f(a: int = 1) -> str: return a", {f"def f(a: int = {each}) -> str: return a" for each in (0, 2)}),
    ],
)
def test_a_line_has_these_changes(line: str, others: set[str]) -> None:
    assert changed(line) == others


@pytest.mark.parametrize(
    "text",
    [
        '"""A text."""',
        "x: A | B",
        "X: TypeAlias = A | B",
        "def f(a: Literal[1]) -> A | B: ...",
        "def __repr__(self) -> str: return self.a == 1",
        "class A(Struct, frozen=True): ...",
        "x = f'{a == 1}'",
        "x = 'a' + b",
        "if TYPE_CHECKING: import a",
    ],
)
def test_texts_and_types_stay(text: str) -> None:
    assert not changed(text)


def test_a_seed_always_draws_the_same() -> None:
    assert draw(3, 1) == draw(3, 1) != draw(3, 2)


def test_the_tests_of_a_module_come_first() -> None:
    assert "tests/judge/test_reach.py" in naming("scanner/judge/reach.py")
    assert all((ROOT / path).exists() for file in files() for path in groups(file))


def test_every_equivalent_change_is_one_that_can_be_drawn() -> None:
    """A line that was changed since loses its excuse: look at it again."""
    excuses = equivalent()
    possible = {key(each) for file in {each[0] for each in excuses} for each in mutations(file)}
    assert not [each for each in excuses if each not in possible], f"remove from {EQUIVALENT.name}"
    assert all(excuses.values()), "a reason is missing"
