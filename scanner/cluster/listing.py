"""All objects of a kind, page by page (kubernetes.io, "Kubernetes API Concepts", "Retrieving large results sets in
chunks")."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType

from scanner.cluster.client import PER_OBJECT, ApiError, Client, TooLarge
from scanner.cluster.decoding import collector_paused
from scanner.cluster.keeping import keeper, kept
from scanner.cluster.projection import Decode, page_decoder
from scanner.cluster.prune import Pruner
from scanner.cluster.served import Served
from scanner.errors import ClusterError
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields, KubeObject

RESTARTS = 2
"""How often a list is begun again whose continuation has expired, before it is asked for in one piece."""
_NONE: Mapping[str, str] = MappingProxyType({})
MOST = 1_000_000
"""Objects of one kind; a server that never ends its list is asked no more."""
EMPTY = 100
"""Pages without any object, one after the other, after which a list is taken to have no end."""


class Short(Exception):
    """A list that ended early: what had been read of it, and why it ended."""

    def __init__(self, objects: tuple[KubeObject, ...], error: ClusterError) -> None:
        super().__init__(error.message)
        self.objects = objects
        self.error = error


@dataclass(slots=True)
class Lister:
    """Lists and gets the objects of one cluster."""

    client: Client
    served: Served
    pruner: Pruner = field(default_factory=Pruner)

    async def every(
        self, kind: Kind, namespace: str | None = None, params: Mapping[str, str] = _NONE
    ) -> tuple[KubeObject, ...]:
        """All objects of a kind, or those of one namespace, or those that ``params`` select. Raises ``Short``."""
        objects: dict[tuple[str | None, str], KubeObject] = {}
        path = self.served.path(kind, namespace)
        for attempt in range(RESTARTS + 2):
            paged = attempt <= RESTARTS
            objects.clear()  # a list that is begun again is another list
            try:
                async with aclosing(self._pages(path, page_decoder(kind), params, paged=paged)) as pages:
                    async for page in pages:
                        objects.update(self._kept(kind, page, path))
                        page.clear()  # while the next one is on its way, this one would take its memory twice
            except ApiError as error:
                if error.status == 410 and paged:
                    continue
                raise Short(tuple(objects.values()), error) from None
            except ClusterError as error:
                raise Short(tuple(objects.values()), error) from None
            break
        return tuple(objects.values())

    async def named(self, kind: Kind, namespace: str, name: str) -> KubeObject | None:
        """One object, or None where the API server says that there is no such. Raises ``ClusterError``."""
        path = self.served.path(kind, namespace, name)
        try:
            answer = await self.client.get(path)
        except ApiError as error:
            if error.status == 404 and error.reason == "NotFound":  # not that of a proxy in between
                return None
            raise
        found = kept(kind, answer, self.pruner, self.served.api_version(kind))
        if found is None or (found.namespace, found.name) != (namespace, name):
            raise self._odd(path, "the answer is not that object")
        return found

    def _kept(self, kind: Kind, page: list[object], path: str) -> dict[tuple[str | None, str], KubeObject]:
        version = self.served.api_version(kind)
        with collector_paused():
            try:
                found = list(map(keeper(kind, self.pruner, version), page))
            except (ValueError, RecursionError):  # what a page's decoder left as text is decoded here
                raise self._odd(path, "the answer is no JSON") from None
            return {(each.namespace, each.name): each for each in found if each is not None}

    async def _pages(
        self, path: str, decode: Decode, select: Mapping[str, str], *, paged: bool
    ) -> AsyncGenerator[list[object]]:
        """The items of every page. Without pages they come from the API server's cache, which never expires."""
        following, count, empty, limit = "", 0, 0, self.client.manners.page
        while True:
            paging = {"limit": str(limit)} if paged else {"resourceVersion": "0"}
            params = {**select, **paging}
            asked = params | ({"continue": following} if following else {})
            try:
                answer = await self.client.get(path, asked, decode=decode)
            except TooLarge:
                if not paged or limit == 1:
                    raise
                limit = max(1, limit // 8)
                continue
            page = Fields(answer if isinstance(answer, dict) else {})
            items = page.at("items") or []  # Go's nil slices are null
            # Whatever else says 200, such as a proxy's login page, must not read as "there are none".
            if not ("items" in page.raw and isinstance(items, list) and page.text("kind").endswith("List")):
                raise self._odd(path, "the answer is no list of objects")
            count += len(items)
            empty = 0 if items else empty + 1
            self.client.spend(PER_OBJECT * len(items), path)
            yield items
            before, following = following, page.text("metadata", "continue")
            if not following:
                return
            if following == before or count > MOST or empty > EMPTY:
                raise self._odd(path, "the list does not end")

    def _odd(self, path: str, what: str) -> ClusterError:
        return ClusterError(
            f"{self.client.access.name}: GET {path}: {what}", hint="is what answers there a Kubernetes API server?"
        )
