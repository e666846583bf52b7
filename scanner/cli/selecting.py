"""``--include`` and ``--exclude``: a selector on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from scanner.errors import UsageError
from scanner.model.selector import Selector
from scanner.report.escape import plain

_FIELDS: Mapping[str, str] = {
    "namespace": "namespaces",
    "kind": "kinds",
    "name": "names",
    "component": "components",
    "label": "labels",
    "port": "ports",
    "endpoint": "endpoints",
}
"""What a user writes -> the selector's field."""

_HINT = "write it as in --exclude 'namespace=test-*,port=8443'; known: " + ", ".join(_FIELDS)


def parse_selector(text: str, option: str) -> Selector:
    """``namespace=openshift-*,label=app=web,port=8443`` as a selector; a field that is there twice has alternatives.

    Raises ``UsageError``.
    """
    found: dict[str, list[object]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not value or key not in _FIELDS:
            raise UsageError(f"{option}: '{plain(part, 60)}' is no selector", hint=_HINT)
        field = _FIELDS[key]
        found.setdefault(field, []).append(_VALUES.get(field, _text)(value, option))
    if not found:
        raise UsageError(f"{option} is empty", hint=_HINT)
    known = {each.name for each in fields(Selector)}
    return Selector(**{name: tuple(values) for name, values in found.items() if name in known})  # type: ignore[arg-type]


def _text(value: str, _: str) -> object:
    return value


def _port(value: str, option: str) -> object:
    if not value.isdecimal() or not 0 < int(value) < 65536:
        raise UsageError(f"{option}: '{plain(value, 20)}' is no port", hint="a number from 1 to 65535")
    return int(value)


def _label(value: str, option: str) -> object:
    name, equals, text = value.partition("=")
    if not name or not equals:
        raise UsageError(f"{option}: '{plain(value, 60)}' is no label", hint="label=NAME=VALUE")
    return name, text


_VALUES: Mapping[str, Callable[[str, str], object]] = {"ports": _port, "labels": _label}
