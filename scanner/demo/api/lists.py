"""Lists and watches: pages (``limit``, ``continue``), selectors, and the events of a plain watch.

A page shows the objects as they are now. The token is the one of apiserver ``pkg/storage/continue.go``: base64 of
``{"v": "meta.k8s.io/v1", "rv", "start"}``; clients must not read it, tests may. Selectors: Kubernetes documentation,
"Labels and Selectors". Events: ``meta/v1 WatchEvent``, without bookmarks.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any

from scanner.demo.api.messages import Watch, bad_request
from scanner.demo.api.store import Event, Key, Object, Resource, Store, Test

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


Query = dict[str, str]

_VERSION = "meta.k8s.io/v1"


def object_list(store: Store, resource: Resource, version: str, namespace: str, query: Query) -> dict[str, Any]:
    """Return one page. Raises ``Failure``, 400."""
    limit = _limit(query)
    after = _after(query)
    test = selected(resource, namespace, query)
    found = [(key, each) for key, each in store.every(resource.kind) if test(each) and key > after]
    page = found[:limit] if limit else found
    metadata: dict[str, Any] = {"resourceVersion": str(store.revision)}
    if len(page) < len(found):
        metadata["continue"] = _token(store.revision, page[-1][0])
        if not (query.get("labelSelector") or query.get("fieldSelector")):  # with one the real server cannot count
            metadata["remainingItemCount"] = len(found) - len(page)
    items = [listed(resource, version, each) for _, each in page]
    head = {"kind": f"{resource.kind.name}List", "apiVersion": resource.group_version(version)}
    return {**head, "metadata": metadata, "items": items}


def selected(resource: Resource, namespace: str, query: Query) -> Test:
    """Whether an object is in the namespace (empty: all) and among what the selectors ask for. Raises ``Failure``."""
    labels = by_labels(query.get("labelSelector", ""))
    fields = by_fields(query.get("fieldSelector", ""), resource.kind.plural)

    def test(found: Object) -> bool:
        here = not namespace or found["metadata"].get("namespace") == namespace
        return here and labels(found) and fields(found)

    return test


def whole(resource: Resource, version: str, found: Object) -> Object:
    """An object with its kind and version, as ``get`` and ``watch`` answer."""
    return {"kind": resource.kind.name, "apiVersion": resource.group_version(version), **found}


def listed(resource: Resource, version: str, found: Object) -> Object:
    """An item of a list: only custom resources say their kind and version there."""
    return whole(resource, version, found) if resource.server == "crd" else found


def _limit(query: Query) -> int:
    text = query.get("limit", "")
    try:
        return max(int(text or "0"), 0)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _after(query: Query) -> Key:
    """Return the key of the last object of the page before; a key before all others for the first page."""
    token = query.get("continue", "")
    if not token:
        return "", ""
    if query.get("resourceVersion", "") not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        said = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = said["start"].rstrip("\0").removeprefix("/").rpartition("/")
        if said["v"] != _VERSION:
            raise ValueError
        return namespace, name
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
        raise bad_request("invalid continue token: continue key is not valid: it could not be read") from None


def _token(revision: int, after: Key) -> str:
    said = {"v": _VERSION, "rv": revision, "start": "".join(f"/{each}" for each in after if each) + "\0"}
    return base64.urlsafe_b64encode(json.dumps(said, separators=(",", ":")).encode()).decode().rstrip("=")


Line = dict[str, Any]


def first(store: Store, watch: Watch) -> list[Line]:
    """Return the lines with which a new watch starts: the writes since its revision, or every object as added."""
    if watch.since is not None:
        events = store.events(watch.resource.kind, watch.since)
        return [line for each in events if (line := change(watch, each)) is not None]
    return [
        {"type": "ADDED", "object": whole(watch.resource, watch.version, each)}
        for _, each in store.every(watch.resource.kind)
        if watch.test(each)
    ]


def change(watch: Watch, event: Event) -> Line | None:
    """Return a write as this watch reports it: an object that leaves its selector counts as deleted."""
    if event.kind != watch.resource.kind:
        return None
    was = event.before is not None and watch.test(event.before)
    now = event.change != "DELETED" and watch.test(event.object)
    if not (was or now):
        return None
    kind = "DELETED" if not now else "MODIFIED" if was else "ADDED"
    return {"type": kind, "object": whole(watch.resource, watch.version, event.object)}
