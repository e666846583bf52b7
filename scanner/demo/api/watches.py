"""What a watch says: ``meta/v1 WatchEvent``, with bookmarks (KEP-956) and initial events (KEP-3157)."""

from __future__ import annotations

from typing import Any

from scanner.demo.api.lists import whole
from scanner.demo.api.messages import Watch
from scanner.demo.api.status import expired_watch
from scanner.demo.api.store import Compacted, Event, Store

_END_OF_FIRST = {"k8s.io/initial-events-end": "true"}

Line = dict[str, Any]


def first(store: Store, watch: Watch) -> list[Line]:
    """What a new watch is told at once. Raises ``Compacted`` where it asks for a past that is forgotten."""
    if watch.since is not None:
        events = store.events(watch.resource.kind, watch.since)
        return [line for each in events if (line := change(watch, each)) is not None]
    lines = [
        {"type": "ADDED", "object": whole(watch.resource, watch.version, each)}
        for _, each in store.every(watch.resource.kind)
        if watch.test(each)
    ]
    if watch.initial_end and watch.bookmarks:
        lines.append(bookmark(watch, store.revision, end_of_first=True))
    return lines


def change(watch: Watch, event: Event) -> Line | None:
    """A write as this watch sees it: an object that leaves its selector is deleted, for this watch."""
    if event.kind != watch.resource.kind:
        return None
    was = event.before is not None and watch.test(event.before)
    now = event.change != "DELETED" and watch.test(event.object)
    if not (was or now):
        return None
    said = "DELETED" if not now else "MODIFIED" if was else "ADDED"
    return {"type": said, "object": whole(watch.resource, watch.version, event.object)}


def bookmark(watch: Watch, revision: int, *, end_of_first: bool = False) -> Line:
    """Nothing happened up to ``revision``: go on from there."""
    metadata: Line = {"resourceVersion": str(revision), "creationTimestamp": None}
    if end_of_first:
        metadata["annotations"] = _END_OF_FIRST
    return {"type": "BOOKMARK", "object": whole(watch.resource, watch.version, {"metadata": metadata})}


def too_old(store: Store, watch: Watch) -> Line:
    """The end of a watch that asks for a past that is forgotten: the status is 200 by then, the error is an event."""
    return {"type": "ERROR", "object": expired_watch(watch.since or 0, store.compacted).document()}


__all__ = ["Compacted", "bookmark", "change", "first", "too_old"]
