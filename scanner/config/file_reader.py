"""Reader of YAML files that adhere defines: a pydantic model has the fields, every error has its position.

Unknown fields are refused, so that a typing mistake is never silently without effect. A null field counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, Steps, shown
from scanner.model.scan_policy import Selector

MOST_ITEMS: Final = 1000
"""Items in one list."""
MOST_TEXT: Final = 1000
"""Characters of one text."""

_RANGE: Final = re.compile(r"([0-9]{1,5})-([0-9]{1,5})\Z")
_QUOTED: Final = re.compile(r"'([^']*)'")


class FileSection(BaseModel):
    """A mapping of a file, with the fields that it may have. Their descriptions are hints for one that is missing."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, alias_generator=to_camel, defer_build=True
    )
    HINTS: ClassVar[Mapping[str, str]] = {}
    """Hints for fields that it does not have, but users may write."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        known = {name for key, each in cls.model_fields.items() for name in (key, each.alias)}
        return {key: each for key, each in value.items() if each is not None or key not in known}

    def given(self) -> dict[str, Any]:
        """The values of the fields in the file, by our names."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


class AdhereFile(FileSection):
    """A file with a header of ours. A child says ``kind``."""

    api_version: Literal["adhere/v1"] = Field(description="write apiVersion: adhere/v1")


_A_LIST: Final = Field(max_length=MOST_ITEMS, strict=False)
"""YAML has lists, not tuples."""
Text: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_TEXT)]
Texts: TypeAlias = Annotated[tuple[Annotated[str, Field(max_length=MOST_TEXT, pattern=r"\S")], ...], _A_LIST]

_Section = TypeVar("_Section", bound=FileSection)
_Item = TypeVar("_Item")
Several: TypeAlias = Annotated[tuple[_Item, ...], _A_LIST]


def wrong(what: str, hint: str = "") -> PydanticCustomError:
    """The exception that a validator raises; ``what`` follows the position and the field."""
    return PydanticCustomError("adhere", "{what}", {"what": what, "hint": hint})


def one_of(known: Collection[str], otherwise: str | None = None) -> AfterValidator:
    """A check that a text is one of ``known``."""

    def check(value: str) -> str:
        if value not in known:
            raise wrong(f"unknown value {shown(value)}", did_you_mean(value, known, otherwise=otherwise))
        return value

    return AfterValidator(check)


def _name(value: str) -> str:
    if not re.match(r"[a-z0-9][a-z0-9.-]{0,62}\Z", value):
        raise wrong(f"invalid name {shown(value)}", "use lower case letters, digits, '-' and '.'")
    return value


Name: TypeAlias = Annotated[str, AfterValidator(_name)]
"""A key that names an entry."""


def _ports(item: object) -> tuple[int, ...]:
    """The ports of one item: a number, or a range as in ``9200-9219``."""
    first = last = 0
    if isinstance(item, int) and not isinstance(item, bool):
        first = last = item
    elif isinstance(item, str) and (match := _RANGE.match(item)):
        first, last = int(match[1]), int(match[2])
    if not 1 <= first <= last <= 65535:
        raise wrong(f"{shown(item)} is not a port", "a number from 1 to 65535, or a range 9200-9219")
    return tuple(range(first, last + 1))


def _joined(items: Any) -> tuple[int, ...]:  # noqa: ANN401 - pydantic has validated it
    return tuple(dict.fromkeys(port for item in items for port in item))


Ports: TypeAlias = Annotated[tuple[Annotated[int, PlainValidator(_ports)], ...], _A_LIST, AfterValidator(_joined)]


class SelectorSection(FileSection):
    """A selector of endpoints or objects. Without any condition it would match all, most often by mistake, and is
    refused."""

    HINTS: ClassVar = {
        "namespace": "write namespaces: [NAME]",
        "kind": "write kinds: [KIND]",
        "name": "write names: [NAME]",
        "component": "write components: [NAME]",
        "label": "write labels: {NAME: VALUE}",
        "port": "write ports: [NUMBER]",
        "endpoint": "write endpoints: [ID]",
        "file": "write files: [PATH]",
    }

    namespaces: Texts = ()
    kinds: Texts = ()
    names: Texts = ()
    components: Texts = ()
    labels: dict[str, str] = Field(default={})
    ports: Ports = ()
    endpoints: Texts = ()
    files: Texts = ()

    @model_validator(mode="after")
    def _selects(self) -> SelectorSection:
        if not any(self.given().values()):
            raise wrong("selects nothing in particular", 'for every endpoint write endpoints: ["*"]')
        return self

    def value(self) -> Selector:
        """The selector itself."""
        return Selector(**{**self.given(), "labels": tuple(self.labels.items())})


def parse_file(document: Located, model: type[_Section], what: str, **context: object) -> _Section:
    """Read a file as ``model``; ``what`` is what it is called, and ``context`` is for its validators.

    Raises ``InputError`` with everything that is wrong in it, each with file, line and column.
    """
    problems = Problems(document)
    if document.value is None:
        kind = model.model_fields["kind"].description or ""
        problems.add((), f"no {what} in this file", kind.replace("write", "it starts with"))
        problems.raise_any()
    try:
        return model.model_validate(document.value, context=context)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _complain(problems, detail, model)
        problems.raise_any()
        raise  # not reached: an error has at least one detail


def _complain(problems: Problems, detail: ErrorDetails, model: type[FileSection]) -> None:
    steps, kind, context = detail["loc"], detail["type"], detail.get("ctx", {})
    name = str(steps[-1]) if steps else ""
    if kind == "missing":
        section = _section(model, steps[:-1])
        hint = next((each.description for each in section.model_fields.values() if name == each.alias), None)
        problems.add(steps[:-1], f"{name} is missing", hint or "")
    elif kind == "extra_forbidden":
        section = _section(model, steps[:-1])
        known = [str(each.alias) for each in section.model_fields.values()]
        hint = section.HINTS.get(name) or did_you_mean(name, known)
        problems.add(steps, f"unknown field {shown(name)}", hint, key=True)
    else:
        what, hint = (context["what"], context["hint"]) if kind == "adhere" else (_said(detail), _hint(detail))
        key = name == "[key]"
        problems.add(steps[:-1] if key else steps, what, hint, key=key)


_SAYINGS: Final = {
    "bool_type": "must be true or false, not {value}",
    "dict_type": "must be a mapping, not {value}",
    "finite_number": "must be a number, not {value}",
    "float_type": "must be a number, not {value}",
    "greater_than": "must be more than {gt}, not {value}",
    "greater_than_equal": "must be at least {ge}, not {value}",
    "int_from_float": "must be a whole number, not {value}",
    "int_type": "must be a whole number, not {value}",
    "less_than_equal": "must be at most {le}, not {value}",
    "literal_error": "must be {expected}, not {value}",
    "model_type": "must be a mapping, not {value}",
    "string_pattern_mismatch": "must be some text, not {value}",
    "string_too_long": "is longer than {max_length} characters",
    "string_too_short": "must be some text, not {value}",
    "string_type": "must be text, not {value}",
    "too_long": "has more than {max_length} items",
    "too_short": "is empty",
    "tuple_type": "must be a list, not {value}",
}
"""Pydantic's kinds of errors in plain words."""


def _said(detail: ErrorDetails) -> str:
    saying = _SAYINGS.get(detail["type"])
    context = detail.get("ctx", {})
    values = {name: int(each) if isinstance(each, float) else each for name, each in context.items()}
    values["value"] = shown(detail["input"])
    return saying.format_map(values) if saying else detail["msg"]


def _hint(detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "string_type" and isinstance(value, int | float):
        return "put it in quotes"
    if kind == "literal_error" and isinstance(value, str):
        return did_you_mean(value, _QUOTED.findall(detail["ctx"]["expected"]), otherwise="")
    return ""


def _section(kind: Any, steps: Steps) -> type[FileSection]:  # noqa: ANN401 - a type, as annotations have it
    """The model of the mapping at ``steps``."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if not steps:
        found: type[FileSection] = kind
        return found
    if get_origin(kind) is None:
        inner = next(each.annotation for each in kind.model_fields.values() if steps[0] == each.alias)
    else:
        inner = get_args(kind)[-1 if get_origin(kind) is dict else 0]
    return _section(inner, steps[1:])
