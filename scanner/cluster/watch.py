"""Watch kinds of objects for changes, by their metadata only: no content of an object is requested.

Source: kubernetes.io, "Kubernetes API Concepts", "Efficient detection of changes", "Watch bookmarks" and "Receiving
resources as Tables" (the same page has PartialObjectMetadata).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Literal

import trio
from msgspec import Struct, field

from scanner.cluster.api_connection import Access
from scanner.cluster.api_discovery import Served, served
from scanner.cluster.client import METADATA, METADATA_LIST, ApiError, Client, Limits, TooLarge, clean
from scanner.cluster.decoding import decoded
from scanner.cluster.listing import MOST
from scanner.errors import ClusterError, ScannerError
from scanner.kube.kinds import SECRET, Kind
from scanner.kube.objects import Fields, Reference

State = Literal["starting", "watching", "forbidden", "not_served", "failed"]

_SELECTED: Mapping[Kind, Mapping[str, str]] = {SECRET: {"fieldSelector": "type=kubernetes.io/tls"}}
"""Secrets with a certificate."""
_LASTS = 30
"""Seconds of one watch, after which the next continues where it ended. 2 seconds before, the API server sends a
bookmark (k8s.io/apiserver ``pkg/storage/cacher/cache_watcher.go``, ``nextBookmarkTime``)."""
_LIMITS = Limits(timeout=_LASTS + 10.0, largest=4 << 20, overall=float("inf"), tries=2)
"""A server that disappears without closing the connection, as its machine does without power, is noticed after this
time."""
_BACKOFF = 1.0
_LONGEST = 10.0
"""Seconds before the next try after an error: first and longest; doubled from try to try."""


class Watcher(Struct):
    """Watches ``kinds`` of one cluster until it is cancelled. No error ends it: it tries again, and says in ``states``
    which kinds are not watched."""

    access: Access
    kinds: tuple[Kind, ...]
    changed: Callable[[Reference], None]
    """Called with each object that was created, changed or deleted since the first list of its kind."""
    listed: Callable[[], None] = lambda: None
    """Called after the first list of a kind: changes before it are not reported."""
    retry: float = 600.0
    """Seconds before a kind is tried again that is not served or may not be watched."""
    backoff: float = _BACKOFF
    limits: Limits = _LIMITS
    states: dict[Kind, State] = field(default_factory=dict)
    started: trio.Event = field(default_factory=trio.Event)
    """Set when each kind was listed, or could not be listed."""

    async def run(self) -> None:
        """Watch, each kind in a task of its own: one that fails does not delay the others."""
        self.states.update(dict.fromkeys(self.kinds, "starting"))
        async with trio.open_nursery() as nursery:
            for kind in self.kinds:
                nursery.start_soon(self._keep, _Watched(kind, self))

    async def _keep(self, watched: _Watched) -> None:
        wait = self.backoff
        while True:
            try:
                await watched.follow()
                state: State = "not_served"
            except ScannerError as error:
                status = error.status if isinstance(error, ApiError) else 0
                state = "forbidden" if status == 403 else "failed"
            if self.states[watched.kind] == "watching":
                wait = self.backoff  # it worked in between
            self.enter(watched.kind, state)
            if state == "failed":
                await trio.sleep(wait * (0.5 + random.random()))  # noqa: S311 - only spreads the load
                wait = min(2 * wait, _LONGEST)
            else:
                await trio.sleep(self.retry)

    def enter(self, kind: Kind, state: State) -> None:
        """Set the state of a kind."""
        self.states[kind] = state
        if "starting" not in self.states.values():
            self.started.set()


class _Watched(Struct):
    """One kind."""

    kind: Kind
    watcher: Watcher
    known: dict[Reference, str] | None = None
    """The version of each object; None before the first list."""

    async def follow(self) -> None:
        """Report changes. Returns if the kind is not served. Raises ``ScannerError``."""
        while True:
            async with Client(self.watcher.access, self.watcher.limits) as client:
                found = await served(client, [self.kind])
                if self.kind in found.failed:
                    raise ClusterError(found.failed[self.kind])
                if self.kind not in found.versions:
                    self._compare({})
                    return
                try:
                    since = await self._list(client, found)
                    while True:
                        since = await self._events(client, found, since)
                except ApiError as error:
                    if error.status != 410:  # 410: the version is too old, so list again
                        raise
            await trio.sleep(self.watcher.backoff)

    async def _list(self, client: Client, found: Served) -> str:
        """List all objects, and report those that differ from the last list. Returns its version."""
        now, token, limit = dict[Reference, str](), "", client.limits.page
        while True:
            params = {**_SELECTED.get(self.kind, {}), "limit": str(limit)}
            params |= {"continue": token} if token else {}
            try:
                answer = await client.get(found.path(self.kind), params, accept=METADATA_LIST)
            except TooLarge:  # annotations, such as that of kubectl apply, may have the whole object
                if limit == 1:
                    raise
                limit = max(1, limit // 8)
                continue
            page = Fields(answer if isinstance(answer, dict) else {})
            if not page.text("kind").endswith("List"):
                raise ClusterError(f"{client.access.name}: GET {found.path(self.kind)}: the answer is not a list")
            now.update((self._reference(each), each.text("metadata", "resourceVersion")) for each in page.each("items"))
            version = page.text("metadata", "resourceVersion")
            before, token = token, page.text("metadata", "continue")
            if not token:
                self._compare(now)
                return version
            if token == before or len(now) > MOST:
                raise ClusterError(f"{client.access.name}: GET {found.path(self.kind)}: the list does not end")

    def _compare(self, now: dict[Reference, str]) -> None:
        before, self.known = self.known, now
        if before is None:
            self.watcher.listed()
        else:
            for each in dict.fromkeys((*before, *now)):
                if before.get(each) != now.get(each):
                    self.watcher.changed(each)

    async def _events(self, client: Client, found: Served, since: str) -> str:
        """Report changes until the server ends the watch. Returns the version to continue at. Raises ``ApiError`` 410
        if there is none."""
        params = {
            **_SELECTED.get(self.kind, {}),
            "watch": "1",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_LASTS),
        }
        path, start = found.path(self.kind), trio.current_time()

        def began() -> None:
            self.watcher.enter(self.kind, "watching")

        def use(line: bytes) -> None:
            nonlocal since
            event = _event(line, path)
            item = event.fields("object")
            since = item.text("metadata", "resourceVersion") or since
            if event.text("type") != "BOOKMARK":
                self._note(self._reference(item), since, deleted=event.text("type") == "DELETED")

        await client.follow(path, params, accept=METADATA, began=began, use=use)
        if trio.current_time() - start < 1:
            await trio.sleep(self.watcher.backoff)  # a server that ends every watch at once
        return since

    def _note(self, changed: Reference, version: str, *, deleted: bool) -> None:
        known = self.known if self.known is not None else {}
        if deleted:
            known.pop(changed, None)
        elif known.get(changed) == version:
            return
        elif len(known) < MOST:
            known[changed] = version
        self.watcher.changed(changed)

    def _reference(self, item: Fields) -> Reference:
        name, namespace = item.text("metadata", "name"), item.text("metadata", "namespace")
        return Reference(kind=self.kind.name, name=name[:_NAME], namespace=namespace[:_NAME] or None)


_NAME = 253
"""Characters of a name (RFC 1123)."""


def _event(line: bytes, path: str) -> Fields:
    """Decode an event (``metav1.WatchEvent``). Raises ``ApiError`` if it is the error that ends the watch."""
    try:
        value = decoded(line)
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"GET {path}: an event of the watch is not JSON: {clean(str(error))}") from None
    event = Fields(value if isinstance(value, dict) else {})
    if event.text("type") in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
        return event
    status = event.fields("object")
    reason, message = clean(status.text("reason"), 60), clean(status.text("message"))
    raise ApiError(status.number("code") or 0, reason, f"GET {path}: the watch ended: {message or reason or 'unknown'}")
