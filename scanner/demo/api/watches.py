"""What a watch says: ``meta/v1 WatchEvent``, without bookmarks."""

from __future__ import annotations

from typing import Any

from scanner.demo.api.lists import whole
from scanner.demo.api.messages import Watch
from scanner.demo.api.store import Event, Store

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
