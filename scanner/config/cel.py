"""Expressions in CEL (Common Expression Language) of custom rules, checked and bounded by ``cel-expr-python``.

It checks the types of an expression before it is evaluated, evaluates at most 10,000 iterations, nests at most 32 deep
and uses RE2, so a value cannot make a pattern slow. Null counts as missing: what is missing is an error, never false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints, is_typeddict

from scanner.errors import UsageError
from scanner.files.source_positions import shown
from scanner.model.scan_policy import Result

Holds: TypeAlias = Callable[[Mapping[str, object]], Result]
"""Evaluates an expression with the values of its variables."""

MOST_VALUES: Final = 100_000
MOST_TEXT: Final = 1 << 18
"""Values and characters of the input of one evaluation."""
_ERROR: Final = re.compile(r"<input>:(\d+):(\d+): ([^\n]*)")
_LONGEST = 200


class WrongExpressionError(ValueError):
    """An expression that cannot be evaluated for any value."""


def compiled(expression: str, variables: Mapping[str, Any]) -> Holds:
    """Check an expression, and return what evaluates it. ``variables``: their types, as annotations have them.

    Raises ``WrongExpressionError`` for a mistake in it, and ``UsageError`` if the library is not installed.
    """
    try:
        from cel_expr_python import cel  # noqa: PLC0415 - an extra, which few users need
    except ImportError:
        hint = "install it: pip install 'adhere[rules]'; it exists for x86_64 and arm64"
        raise UsageError("custom rules need cel-expr-python, which is not installed", hint=hint) from None
    types = cel.Type
    env = cel.NewEnv(variables={name: _type(types, kind) for name, kind in variables.items()})
    try:
        program = env.compile(expression)
    except (RuntimeError, ValueError) as error:
        raise WrongExpressionError(_mistake(str(error))) from None
    if program.return_type() not in (types.BOOL, types.DYN):
        raise WrongExpressionError(f"the result must be true or false, not {program.return_type().name().lower()}")

    def holds(values: Mapping[str, object]) -> Result:
        left = _Budget()
        try:
            data = {
                name: left.known(value) for name, value in values.items() if name in variables and value is not None
            }
            result = program.eval(data=data).value()
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            return _cut(str(error))
        return result if isinstance(result, bool) else _cut(str(result))

    return holds


def _type(types: Any, kind: Any) -> Any:  # noqa: ANN401 - a type, as annotations have it
    """The type of CEL. Fields of mappings are not checked before the evaluation."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is list:
        return types.List(_type(types, get_args(kind)[0]))
    if is_typeddict(kind) or get_origin(kind) is dict:
        return types.Map(types.STRING, types.DYN)
    return {str: types.STRING, int: types.INT, bool: types.BOOL}[kind]


@cache
def variables_of(row: type) -> Mapping[str, Any]:
    """The fields of a row of a report, with their types."""
    return get_type_hints(row)


class _Budget:
    """Copies values without null, up to a size."""

    def __init__(self) -> None:
        self._values, self._text = MOST_VALUES, MOST_TEXT

    def known(self, value: object) -> object:
        """The value without fields that are null. Raises ``ValueError`` if it is too large."""
        self._values -= 1
        self._text -= len(value) if isinstance(value, str) else 0
        if self._values < 0 or self._text < 0:
            raise ValueError("the values are too large for an expression")
        if isinstance(value, Mapping):
            return {self.known(key): self.known(each) for key, each in value.items() if each is not None}
        if isinstance(value, list | tuple):
            return [self.known(each) for each in value]
        return value


def _mistake(text: str) -> str:
    match = _ERROR.search(text)
    return f"line {match[1]}, column {match[2]}: {_cut(match[3])}" if match else _cut(text)


def _cut(text: str) -> str:
    line = text.partition("\n")[0].removesuffix(" [INTERNAL]").removesuffix(" [INVALID_ARGUMENT]")
    return shown(line, _LONGEST)[1:-1] if len(line) > _LONGEST or not line.isprintable() else line
