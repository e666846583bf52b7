"""The objects of the demo's cluster by key, lists of them by pages (``limit``, ``continue``), and watches of writes.

A page shows the objects as they are now. The token is the one of apiserver ``pkg/storage/continue.go``: base64 of
``{"v": "meta.k8s.io/v1", "rv", "start"}``; clients must not read it, tests may.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from scanner.demo.api.messages import bad_request
from scanner.kube.kinds import Kind

Object = dict[str, Any]
"""JSON, without ``kind`` and ``apiVersion``: those are the resource's."""
Key = tuple[str, str]
"""Namespace (empty for an object of the cluster) and name: sorted as etcd sorts them."""
Query = dict[str, str]
Server = Literal["built-in", "crd", "aggregated"]
"""The server of a resource. Items in lists of custom resources have kind and version, others do not."""

_IDENTITY = uuid.UUID("6f5d1a2e-0b3c-4d1e-9f80-adeb0e000000")
"""Namespace for version 5 ids, chosen freely: the same object has the same uid in each run."""
_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - not a secret


class Resource(Struct, frozen=True, kw_only=True):
    """One resource that the server serves."""

    kind: Kind
    versions: tuple[str, ...] = ("v1",)
    """The preferred one first."""
    server: Server = "built-in"
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    def with_type(self, version: str, found: Object) -> Object:
        """An object with its kind and version, as ``get`` answers."""
        group_version = f"{self.kind.group}/{version}" if self.kind.group else version
        return {"kind": self.kind.name, "apiVersion": group_version, **found}


class Event(Struct, frozen=True):
    """One write to an object, as a watch reports it (``meta/v1 WatchEvent``)."""

    revision: int
    change: Literal["ADDED", "MODIFIED", "DELETED"]
    kind: Kind
    object: Object
    """After the write; a deleted object as it was before, with the revision of its deletion."""


class Store:
    """Objects by kind. The demo and tests write to it; for clients it is read-only."""

    def __init__(
        self, resources: Iterable[Resource], objects: Mapping[Kind, Iterable[Object]], *, now: datetime, revision: int
    ) -> None:
        self.resources = tuple(resources)
        self.revision = revision
        self._created = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._objects: dict[Kind, dict[Key, Object]] = {each.kind: {} for each in self.resources}
        self._events: list[Event] = []
        self._watchers: list[Callable[[Event], None]] = []
        for kind, several in objects.items():
            for each in several:
                self.put(kind, each)
        self._events.clear()
        self.oldest = self.revision  # a watch cannot start before it

    def put(self, kind: Kind, written: Object) -> None:
        """Create or replace an object. Raises ``KeyError`` for a kind without a resource."""
        metadata = written["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        exists = (namespace, name) in self._objects[kind]
        self.revision += 1
        filled = {
            "uid": str(uuid.uuid5(_IDENTITY, f"{kind.resource}/{namespace}/{name}")),
            "creationTimestamp": self._created,
            **metadata,
            "resourceVersion": str(self.revision),
        }
        self._objects[kind][namespace, name] = {**written, "metadata": filled}
        self._report("MODIFIED" if exists else "ADDED", kind, self._objects[kind][namespace, name])

    def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Delete an object. Raises ``KeyError`` where there is none."""
        before = self._objects[kind].pop((namespace, name))
        self.revision += 1
        metadata = {**before["metadata"], "resourceVersion": str(self.revision)}
        self._report("DELETED", kind, {**before, "metadata": metadata})

    def _report(self, change: Literal["ADDED", "MODIFIED", "DELETED"], kind: Kind, written: Object) -> None:
        event = Event(self.revision, change, kind, written)
        self._events.append(event)
        for watcher in tuple(self._watchers):
            watcher(event)

    def watch(self, kind: Kind, since: int | None, watcher: Callable[[Event], None]) -> Callable[[], None]:
        """Call ``watcher`` with each write after revision ``since`` (None: with every object first), and from now on
        with every write to any kind, until the returned function is called."""
        if since is None:
            for _, each in sorted(self._objects[kind].items()):
                watcher(Event(self.revision, "ADDED", kind, each))
        for event in self._events:
            if since is not None and event.revision > since:
                watcher(event)
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """The object with that name, or None."""
        return self._objects[kind].get((namespace, name))

    def page(self, resource: Resource, version: str, namespace: str, query: Query) -> Object:
        """One page of a list. Raises ``Failure``, 400."""
        limit = _limit(query)
        after = _after(query)
        selected = selector(query, resource.kind.plural)
        found = [
            (key, each)
            for key, each in sorted(self._objects[resource.kind].items())
            if key > after and namespace in ("", key[0]) and selected(each)
        ]
        page = found[:limit] if limit else found
        metadata: Object = {"resourceVersion": str(self.revision)}
        if len(page) < len(found):
            metadata["continue"] = _token(self.revision, page[-1][0])
            if not query.get("fieldSelector"):  # with one, the real server cannot count
                metadata["remainingItemCount"] = len(found) - len(page)
        custom = resource.server == "crd"
        items = [resource.with_type(version, each) if custom else each for _, each in page]
        answer = resource.with_type(version, {"metadata": metadata, "items": items})
        return {**answer, "kind": f"{resource.kind.name}List"}


_FIELDS: dict[str, tuple[str, ...]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}
_OWN_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "pods": {"spec.nodeName": ("spec", "nodeName"), "status.phase": ("status", "phase")},
    "events": {"type": ("type",), "reason": ("reason",)},
}


def selector(query: Query, plural: str) -> Callable[[Object], bool]:
    """A test for objects, from ``fieldSelector`` (Kubernetes documentation, "Field Selectors"). Raises ``Failure``."""
    if query.get("labelSelector"):
        raise bad_request("the demo does not support label selectors")
    known = _FIELDS | _OWN_FIELDS.get(plural, {})
    terms: list[tuple[tuple[str, ...], bool, str]] = []
    for each in filter(None, query.get("fieldSelector", "").split(",")):
        match = re.fullmatch(r"([A-Za-z.]+)(==|!=|=)(.*)", each)
        if match is None:
            raise bad_request(f"invalid field selector: {each!r}")
        if match[1] not in known:
            raise bad_request(f"field label not supported: {match[1]}")
        terms.append((known[match[1]], match[2] != "!=", match[3]))
    return lambda found: all((_at(found, steps) == value) is equal for steps, equal, value in terms)


def _at(found: Object, steps: tuple[str, ...]) -> object:
    value: Any = found
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value or ""


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
    try:
        found = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = found["start"].rstrip("\0").removeprefix("/").rpartition("/")
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
        raise bad_request("continue key is not valid") from None
    return namespace, name


def _token(revision: int, after: Key) -> str:
    start = "".join(f"/{each}" for each in after if each) + "\0"
    content = {"v": _TOKEN_VERSION, "rv": revision, "start": start}
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode().rstrip("=")
