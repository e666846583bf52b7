"""``labelSelector`` and ``fieldSelector`` of a list (Kubernetes documentation, "Labels and Selectors")."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from scanner.demo.api.status import bad_request

Test = Callable[[dict[str, Any]], bool]

_KEY = r"(?P<key>[A-Za-z0-9./_-]+)"
_SETS = re.compile(rf"{_KEY}\s+(?P<not>not)?in\s*\((?P<values>[^()]*)\)")
_EQUALS = re.compile(rf"{_KEY}\s*(?P<operator>==|!=|=)\s*(?P<value>[A-Za-z0-9._-]*)")
_EXISTS = re.compile(rf"(?P<not>!)?\s*{_KEY}")
_COMMA = re.compile(r",(?![^()]*\))")
"""A comma that is not in the parentheses of a set."""

_FIELDS: dict[str, tuple[str, ...]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}
_OWN_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "pods": {"spec.nodeName": ("spec", "nodeName"), "status.phase": ("status", "phase")},
    "events": {"type": ("type",), "reason": ("reason",)},
}


def by_labels(text: str) -> Test:
    """A test of an object's labels. Raises ``Failure``, 400."""
    tests = [_label_test(each.strip()) for each in _COMMA.split(text) if each.strip()]

    def passes(found: dict[str, Any]) -> bool:
        labels = found["metadata"].get("labels") or {}
        return all(test(labels) for test in tests)

    return passes


def _label_test(text: str) -> Callable[[dict[str, str]], bool]:
    if sets := _SETS.fullmatch(text):
        values = {each.strip() for each in sets["values"].split(",")}
        return lambda labels: (labels.get(sets["key"]) in values) is not bool(sets["not"])
    if equals := _EQUALS.fullmatch(text):
        wanted = equals["operator"] != "!="
        return lambda labels: (labels.get(equals["key"]) == equals["value"]) is wanted
    if exists := _EXISTS.fullmatch(text):
        return lambda labels: (exists["key"] in labels) is not bool(exists["not"])
    raise bad_request(f"unable to parse requirement: {text!r}")


def by_fields(text: str, plural: str) -> Test:
    """A test of an object's fields, those that every resource knows and some of its own. Raises ``Failure``, 400."""
    known = _FIELDS | _OWN_FIELDS.get(plural, {})
    wanted: list[tuple[tuple[str, ...], bool, str]] = []
    for each in filter(None, text.split(",")):
        match = re.fullmatch(r"([A-Za-z.]+)(==|!=|=)(.*)", each)
        if match is None:
            raise bad_request(f"invalid field selector: {each!r}")
        if match[1] not in known:
            raise bad_request(f"field label not supported: {match[1]}")
        wanted.append((known[match[1]], match[2] != "!=", match[3]))
    return lambda found: all((_at(found, steps) == value) is equal for steps, equal, value in wanted)


def _at(found: dict[str, Any], steps: tuple[str, ...]) -> object:
    value: Any = found
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value or ""
