"""The file of ``adhere scan --config FILE``: any of scan's options, and what else decides about pass and fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, Steps, shown
from scanner.model.config import Config
from scanner.model.policy import MOST_DAYS, Policy

_CONFIG = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
_Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
_Days: TypeAlias = Annotated[int, Field(ge=0, le=MOST_DAYS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundedPolicy(Policy):
    """The section ``policy``, with the limits within which its numbers make sense."""

    __pydantic_config__ = _CONFIG

    expires_within_days: _Days = Policy().expires_within_days
    expires_within_days_medium: _Days = Policy().expires_within_days_medium
    expires_within_days_high: _Days = Policy().expires_within_days_high
    min_rsa_bits: Annotated[int, Field(ge=512, le=16_384)] = Policy().min_rsa_bits


def _policy_schema(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    def plain(bounded: _BoundedPolicy) -> Policy:
        return Policy(**asdict(bounded))

    return core_schema.no_info_after_validator_function(plain, handler(_BoundedPolicy))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundedConfig(Config):
    """The whole file, with the limits within which its values make sense."""

    __pydantic_config__ = _CONFIG

    profile: _Text | None = None
    timeout: _Seconds | None = None
    deadline: _Seconds | None = None
    concurrency: _Count | None = None
    per_host: _Count | None = None
    rate: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    sni: _Text | None = None
    targets: tuple[_Text, ...] | None = None
    formats: tuple[_Text, ...] | None = None
    policy: Annotated[Policy, GetPydanticSchema(_policy_schema)] | None = None


_SECTION = "policy"


def _camel(name: str) -> str:
    """``expiresWithinDays``, as ``--policy`` has it."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_SPELT = {_camel(each.name): each.name for each in fields(Policy)}
"""The spelling of the section ``policy``, to the field that it sets; a field's own name will do, too."""


def _fields(value: object) -> tuple[object, dict[str, str]]:
    """The file with the fields of its policy by our names, and how its author spells each of them."""
    section = value.get(_SECTION) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(section, dict):
        return value, {}
    spelt = {_SPELT[key]: key for key in section if _SPELT.get(key, key) != key and _SPELT[key] not in section}
    theirs = {key: field for field, key in spelt.items()}
    return {**value, _SECTION: {theirs.get(key, key): each for key, each in section.items()}}, spelt


_ADAPTER: TypeAdapter[_BoundedConfig] = TypeAdapter(_BoundedConfig)
_KNOWN: dict[Steps, tuple[str, ...]] = {
    (): tuple(each.name for each in fields(Config)),
    (_SECTION,): tuple(_SPELT),
}
_SAYINGS = {
    "bool_type": "must be true or false",
    "dataclass_type": "must be a mapping",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "string_too_short": "must be some text",
    "string_type": "must be text",
    "tuple_type": "must be a list",
}
"""Pydantic's kinds of errors in the words of the file's author; for the others its own words do."""


def load_config(path: str) -> Config:
    """Read the file. Raises ``InputError`` with everything that is wrong in it, each with file, line and column."""
    return parse(yaml_values.read(path))


def parse(document: Located) -> Config:
    """``load_config`` of a file that was read already; an empty one sets nothing."""
    if document.value is None:
        return Config()
    value, spelt = _fields(document.value)
    try:
        # By way of JSON, because strict validation of Python values would ask for tuples and dataclasses.
        bounded = _ADAPTER.validate_json(json.dumps(value))
    except ValidationError as error:
        problems = Problems(document)
        for detail in error.errors(include_url=False, include_context=False):
            _complain(problems, detail, spelt)
        problems.raise_any()
        raise  # not reached: an error has at least one detail
    return Config(**{each.name: getattr(bounded, each.name) for each in fields(Config)})


def _complain(problems: Problems, detail: ErrorDetails, spelt: Mapping[str, str]) -> None:
    steps: Steps = detail["loc"]
    if steps[:1] == (_SECTION,) and len(steps) > 1:
        steps = (_SECTION, spelt.get(str(steps[1]), steps[1]), *steps[2:])
    if detail["type"] == "unexpected_keyword_argument":
        name = str(steps[-1])
        known = _KNOWN.get(steps[:-1], ())
        problems.add(steps, f"unknown field {shown(name)}", did_you_mean(name, known), key=True)
    else:
        problems.add(
            steps, _said(detail["type"], detail["msg"], detail["input"]), _hint(detail["type"], detail["input"])
        )


def _said(type_: str, message: str, value: object) -> str:
    what = _SAYINGS.get(type_) or message.replace("Input should", "must", 1)
    return f"{what}, not {shown(value)}"


def _hint(type_: str, value: object) -> str:
    return "put it in quotes" if type_ == "string_type" and isinstance(value, int | float) else ""
