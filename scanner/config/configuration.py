"""Read the file of ``adhere scan --config FILE``: any of scan's options, and what else decides about pass and fail.

Fields are written as in a policy file (``failOn``), or as the options are (``fail_on``).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from scanner.config.file_reader import FileSection, Several, parse_file
from scanner.config.scan_policy import Plaintext, ThresholdsSection
from scanner.files import yaml_values
from scanner.files.source_positions import Located
from scanner.model.report import FailOn
from scanner.model.scan_policy import Config, Policy

_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
_Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
_BY_NAME = ConfigDict(validate_by_name=True, validate_by_alias=True)


class _Policy(ThresholdsSection):
    model_config = _BY_NAME

    plaintext_candidate: Plaintext = Policy().plaintext_candidate


class ConfigurationFile(FileSection):
    """The whole file: the fields of ``Config``."""

    model_config = _BY_NAME

    profile: _Text | None = None
    mode: Literal["inventory", "verdict"] | None = None
    fail_on: FailOn | None = None
    timeout: _Seconds | None = None
    deadline: _Seconds | None = None
    concurrency: _Count | None = None
    per_host: _Count | None = None
    rate: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    confirm: bool | None = None
    deep: bool | None = None
    active_http: bool | None = None
    sni: _Text | None = None
    targets: Several[_Text] | None = None
    formats: Several[_Text] | None = None
    policy: _Policy | None = None


def load_config(path: str) -> Config:
    """Read the file. Raises ``InputError`` with everything that is wrong in it, each with file, line and column."""
    return parse(yaml_values.read(path))


def parse(document: Located) -> Config:
    """``load_config`` of a file that was read already; an empty one sets nothing."""
    if document.value is None:
        return Config()
    file = parse_file(document, ConfigurationFile, "configuration")
    policy = None if file.policy is None else Policy(**file.policy.given())
    return Config(**{**file.given(), "policy": policy})
