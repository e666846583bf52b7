"""OpenShift Templates: the objects in them, with what their parameters say.

``oc process`` puts a parameter's value where text has ``${NAME}``, and reads it as JSON where the whole text is
``${{NAME}}`` (OpenShift, "Using templates"; openshift/library-go ``pkg/template/templateprocessing``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from scanner.kube.objects import Fields

TEMPLATES: Final = frozenset({"template.openshift.io/v1", "v1"})
"""The latter until OpenShift 3."""
_TEXT = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")
_JSON = re.compile(r"\$\{\{([a-zA-Z0-9_]+)\}\}\Z")
MOST = 16 << 20
"""Characters that parameters may add to one template's objects: a hostile one multiplies them."""


class Processed(NamedTuple):
    """One object of a template."""

    at: int
    value: object
    unknown: tuple[str, ...]
    """Parameters that stand in it and whose values nobody knows."""


def is_template(raw: Fields, version: str, kind: str) -> bool:
    """Whether it is a Template with objects."""
    return kind == "Template" and version in TEMPLATES and isinstance(raw.at("objects"), list)


def processed(raw: Fields) -> Iterator[Processed]:
    """The objects, each with the values that parameters have by default. What names no parameter stays as it stands,
    as ``oc process`` leaves it."""
    filling = _Filling({each.text("name"): _default(each) for each in raw.each("parameters")})
    objects = raw.at("objects")
    for index, each in enumerate(objects if isinstance(objects, list) else ()):
        value = filling.filled(each)
        yield Processed(index, value, filling.unknown())


def _default(parameter: Fields) -> str | None:
    """None where it is made, or given, when the template is used."""
    value = parameter.at("value")
    return value if isinstance(value, str) and not parameter.has("generate") else None


class _Filling:
    """Puts values into objects, and remembers which it did not have."""

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._values = values
        self._left = MOST
        self._unknown: list[str] = []

    def unknown(self) -> tuple[str, ...]:
        """What was missing since this was asked last."""
        told, self._unknown = tuple(dict.fromkeys(self._unknown)), []
        return told

    def filled(self, value: object) -> object:
        """The value with its parameters replaced, wherever text stands: in keys, too."""
        if isinstance(value, dict):
            return {self._text(str(key)): self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return self._parsed(value) if isinstance(value, str) else value

    def _parsed(self, text: str) -> object:
        whole = _JSON.match(text)
        return self._text(text) if whole is None else self._scalar(self._value(whole))

    def _scalar(self, text: str) -> object:
        """A number, true or false; lists and mappings are beyond what a template's reader should have to think of."""
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):
            return text  # as oc process leaves it
        if isinstance(found, dict | list) or (isinstance(found, float) and not math.isfinite(found)):
            self._unknown.append(text)
        return text if isinstance(found, dict | list) else found

    def _text(self, text: str) -> str:
        return _TEXT.sub(self._value, text) if "${" in text else text

    def _value(self, match: re.Match[str]) -> str:
        if match[1] not in self._values:
            return match[0]
        value = self._values[match[1]]
        self._left -= len(value or "")
        if value is None or self._left < 0:
            self._unknown.append(match[0])
            return match[0]
        return value
