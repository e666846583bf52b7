"""The objects of the demo's cluster by key, each with its revision, and the writes that a watch reports."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from scanner.kube.kinds import Kind

Object = dict[str, Any]
"""JSON, without ``kind`` and ``apiVersion``: those are the resource's."""
Key = tuple[str, str]
"""Namespace (empty for an object of the cluster) and name: sorted as etcd sorts them."""
Test = Callable[[Object], bool]
"""A selector of objects."""
Change = Literal["ADDED", "MODIFIED", "DELETED"]
Server = Literal["built-in", "crd", "aggregated"]
"""Who serves a resource. Lists of custom resources name kind and version in each item, the others do not."""

_IDENTITY = uuid.UUID("6f5d1a2e-0b3c-4d1e-9f80-adeb0e000000")
"""Any namespace for version 5 ids: the same object has the same uid in each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource that the server serves."""

    kind: Kind
    versions: tuple[str, ...] = ("v1",)
    """The preferred one first."""
    server: Server = "built-in"
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    def group_version(self, version: str) -> str:
        """``apiVersion`` of its objects."""
        return f"{self.kind.group}/{version}" if self.kind.group else version


@dataclass(frozen=True, slots=True)
class Event:
    """One write."""

    revision: int
    change: Change
    kind: Kind
    object: Object
    """As it is after the write; of a deletion, as it was before, with the deletion's revision."""
    before: Object | None


class Store:
    """Objects by kind. Written by the demo and by tests only; the API is read-only."""

    def __init__(
        self, resources: Iterable[Resource], objects: Mapping[Kind, Iterable[Object]], *, now: datetime, revision: int
    ) -> None:
        self.resources = tuple(resources)
        self.revision = revision
        self._now = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._objects: dict[Kind, dict[Key, Object]] = {each.kind: {} for each in self.resources}
        self._events: list[Event] = []
        self._watchers: list[Callable[[Event], None]] = []
        for kind, several in objects.items():
            for each in several:
                self.put(kind, each)
        self._events.clear()

    def put(self, kind: Kind, wanted: Object) -> Object:
        """Create or replace. Raises ``KeyError`` for a kind without a resource."""
        metadata = wanted["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._objects[kind].get(key)
        self.revision += 1
        kept = {
            "uid": str(uuid.uuid5(_IDENTITY, f"{kind.resource}/{key[0]}/{key[1]}")),
            "creationTimestamp": self._now,
            **metadata,
            "resourceVersion": str(self.revision),
        }
        after = {**wanted, "metadata": kept}
        self._objects[kind][key] = after
        self._tell(Event(self.revision, "MODIFIED" if before else "ADDED", kind, after, before))
        return after

    def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Raises ``KeyError`` where there is none."""
        before = self._objects[kind].pop((namespace, name))
        self.revision += 1
        after = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.revision)}}
        self._tell(Event(self.revision, "DELETED", kind, after, before))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """The object of that name, or None."""
        return self._objects[kind].get((namespace, name))

    def every(self, kind: Kind) -> list[tuple[Key, Object]]:
        """Return the objects in the order of their keys."""
        return sorted(self._objects[kind].items(), key=lambda item: item[0])

    def events(self, kind: Kind, since: int) -> list[Event]:
        """Return the writes to a kind after that revision, oldest first."""
        return [event for event in self._events if event.kind == kind and event.revision > since]

    def watch(self, watcher: Callable[[Event], None]) -> Callable[[], None]:
        """Tell ``watcher`` of every write from now on; what is returned ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _tell(self, event: Event) -> None:
        self._events.append(event)
        for watcher in tuple(self._watchers):
            watcher(event)
