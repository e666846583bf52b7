"""YAML of the tests, by libyaml: ten times as fast as PyYAML's own parser."""

from __future__ import annotations

from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def document(text: str) -> Any:  # noqa: ANN401 - YAML
    return yaml.load(text, LOADER)


def documents(text: str) -> list[Any]:
    """The documents of a stream that are not empty."""
    return [each for each in yaml.load_all(text, LOADER) if each]
