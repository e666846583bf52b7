"""Expressions of custom rules: their types, their results, their limits, and what is unknown."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from scanner.config.cel import MOST_TEXT, MOST_VALUES, WrongExpressionError, compiled, variables_of
from scanner.errors import UsageError
from scanner.model.row import EndpointRow

pytest.importorskip("cel_expr_python")

TYPES: Mapping[str, Any] = variables_of(EndpointRow)
ROW = {"port": 443, "server_name": None, "origins": ["a", "b"], "observed": {"alpn": None, "groups": ["x25519"]}}
OBJECT: Mapping[str, Any] = {"object": dict[str, Any]}


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("port == 443", True),
        ("port != 443", False),
        ("observed.groups.all(each, each == 'x25519')", True),
        ("size(origins) > 2", False),
        ("has(observed.alpn)", False),
        ("port == 1 && observed.nothing", False),
        ("port == 443 || observed.nothing", True),
    ],
)
def test_a_result_is_true_or_false(expression: str, *, result: bool) -> None:
    assert compiled(expression, TYPES)(ROW) is result


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("observed.nothing == 1", 'Key not found in map : "nothing"'),
        ("observed.nothing != 1", 'Key not found in map : "nothing"'),
        ("observed.alpn != 'h2'", 'Key not found in map : "alpn"'),
        ("server_name != 'a'", 'No value with name "server_name"'),
        ("!(server_name == 'a')", 'No value with name "server_name"'),
        ("origins[2] == 'c'", "index=2 size=2"),
        ("1 / (port - 443) == 1", "divide by zero"),
        ("observed.groups", "['x25519']"),
        ("origins.all(each, each.matches('('))", "invalid regular expression"),
        ("id == 'a'", 'No value with name "id"'),
    ],
)
def test_what_is_missing_null_or_an_error_is_unknown(expression: str, reason: str) -> None:
    result = compiled(expression, TYPES)(ROW)
    assert isinstance(result, str)
    assert reason in result or "observed.groups" in expression
    assert "\n" not in result
    assert len(result) <= 200


@pytest.mark.parametrize(
    ("expression", "mistake"),
    [
        ("port == '443'", "line 1, column 6: found no matching overload for '_==_' applied to '(int, string)'"),
        ("\nport.x == 1", "line 2, column 5: expression of type 'int' cannot be the operand of a select operation"),
        ("prot == 443", "undeclared reference to 'prot'"),
        ("matchs(id)", "undeclared reference to 'matchs'"),
        ("port ==", "Syntax error"),
        ("port", "the result must be true or false, not int"),
        ("origins.map(each, each)", "the result must be true or false, not list"),
        ("(" * 400 + "true" + ")" * 400, "recursion"),
    ],
)
def test_a_mistake_is_found_before_the_scan(expression: str, mistake: str) -> None:
    with pytest.raises(WrongExpressionError) as caught:
        compiled(expression, TYPES)
    assert mistake in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "value",
    [
        list(range(2000)),
        list(range(MOST_VALUES + 1)),
        ["a" * (MOST_TEXT + 1)],
        ["a" * 100] * 20_000,
        "\ud800",
        2**70,
        [[[[]]]],
        "\0\x1b[31m\n",
    ],
    ids=lambda each: ascii(each)[:12],
)
def test_hostile_values_are_bounded(value: object) -> None:
    began = time.monotonic()
    nested = "object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))"
    result = compiled(nested, OBJECT)({"object": {"l": value}})
    assert isinstance(result, str)
    assert result.isprintable()
    assert compiled("object.l == 'x'", OBJECT)({"object": {"l": value}}) is not True
    assert time.monotonic() - began < 5


def test_without_the_library_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    with pytest.raises(UsageError, match="cel-expr-python, which is not installed") as caught:
        compiled("true", TYPES)
    assert "adhere[rules]" in (caught.value.hint or "")
