"""Lists of all objects of a kind, page by page.

Source: kubernetes.io, "Kubernetes API Concepts", "Retrieving large results sets in chunks".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import lru_cache
from types import GenericAlias, MappingProxyType
from typing import Any, TypeAlias, TypedDict, cast

import msgspec
from msgspec import Struct, field

from scanner.cluster.api_discovery import Served
from scanner.cluster.client import JSON, PER_OBJECT, ApiError, Client, TooLarge
from scanner.cluster.decoding import Raw, collector_paused, decoded
from scanner.cluster.retention import OTHERS, SHAPES, Only, Pruner, Shape, Shared
from scanner.cluster.snapshot_objects import keeper, kept
from scanner.errors import ClusterError
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields, KubeObject

Decode: TypeAlias = Callable[[bytes], object]


@lru_cache(maxsize=128)
def page_decoder(kind: Kind) -> Decode:
    """The decoder of a page of a list of ``kind``. It raises as ``decoded`` does."""
    shape = SHAPES.get(kind, OTHERS)
    if not isinstance(shape, Only):
        return decoded
    page = {"kind": Any, "metadata": Any, "items": GenericAlias(list, (_mapping(shape),)) | None}
    projected = msgspec.json.Decoder(_typed_dict("Page", page)).decode

    def decode(data: bytes) -> object:
        with collector_paused():
            try:
                return cast("object", projected(data))
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return decoded(data)  # types that no API server sends; pruning handles them

    return decode


def _mapping(shape: Only) -> Any:  # noqa: ANN401 - a type that is made here
    return _typed_dict("Kept", {name: _type(each) for name, each in shape.fields.items()})


def _type(shape: Shape) -> Any:  # noqa: ANN401 - a type that is made here
    """The type of a value in ``shape``, as the API server sends it; ``Only`` may be a mapping or a list of them."""
    if isinstance(shape, Shared):
        return _type(shape.shape) if shape.pruned else Raw
    if isinstance(shape, Only):
        mapping: Any = _mapping(shape)
        return mapping | GenericAlias(list, (mapping,)) | str | int | float | bool | None
    return Any


def _typed_dict(name: str, fields: dict[str, Any]) -> Any:  # noqa: ANN401
    return cast("Any", TypedDict)(name, fields, total=False)


RESTARTS = 2
"""Restarts of a list after its continuation expires, before it is requested without pages."""
_NONE: Mapping[str, str] = MappingProxyType({})
MOST = 1_000_000
"""Objects of one kind, after which a list counts as endless."""
EMPTY = 100
"""Consecutive pages without an object, after which a list counts as endless."""


class Short(Exception):
    """A list that ended early: its objects so far, and the error."""

    def __init__(self, objects: tuple[KubeObject, ...], error: ClusterError) -> None:
        super().__init__(error.message)
        self.objects = objects
        self.error = error


class Lister(Struct):
    """Lists and gets the objects of one cluster."""

    client: Client
    served: Served
    pruner: Pruner = field(default_factory=Pruner)
    accept: str = JSON
    """Media type of lists."""

    async def every(
        self, kind: Kind, namespace: str | None = None, params: Mapping[str, str] = _NONE
    ) -> tuple[KubeObject, ...]:
        """All objects of a kind, of one namespace, or selected by ``params``. Raises ``Short``."""
        objects: dict[tuple[str | None, str], KubeObject] = {}
        path = self.served.path(kind, namespace)
        for attempt in range(RESTARTS + 2):
            paged = attempt <= RESTARTS
            objects.clear()  # a restarted list may differ
            try:
                async with aclosing(self._pages(path, page_decoder(kind), params, paged=paged)) as pages:
                    async for page in pages:
                        objects.update(self._kept(kind, page, path))
                        page.clear()  # frees its memory before the next one arrives
            except ApiError as error:
                if error.status == 410 and paged:
                    continue
                raise Short(tuple(objects.values()), error) from None
            except ClusterError as error:
                raise Short(tuple(objects.values()), error) from None
            break
        return tuple(objects.values())

    async def named(self, kind: Kind, namespace: str, name: str) -> KubeObject | None:
        """One object, or None if the API server says that it does not exist. Raises ``ClusterError``."""
        path = self.served.path(kind, namespace, name)
        try:
            answer = await self.client.get(path)
        except ApiError as error:
            if error.status == 404 and error.reason == "NotFound":  # not the 404 of a proxy
                return None
            raise
        found = kept(kind, answer, self.pruner, self.served.api_version(kind))
        if found is None or (found.namespace, found.name) != (namespace, name):
            raise self._invalid(path, "the answer is another object")
        return found

    def _kept(self, kind: Kind, page: list[object], path: str) -> dict[tuple[str | None, str], KubeObject]:
        version = self.served.api_version(kind)
        with collector_paused():
            try:
                found = list(map(keeper(kind, self.pruner, version), page))
            except (ValueError, RecursionError):  # texts that the page's decoder left are decoded here
                raise self._invalid(path, "the answer is not JSON") from None
            return {(each.namespace, each.name): each for each in found if each is not None}

    async def _pages(
        self, path: str, decode: Decode, select: Mapping[str, str], *, paged: bool
    ) -> AsyncGenerator[list[object]]:
        """The items of every page. Without pages they come from the cache of the API server, which does not expire."""
        token, count, empty, limit = "", 0, 0, self.client.limits.page
        while True:
            paging = {"limit": str(limit)} if paged else {"resourceVersion": "0"}
            params = {**select, **paging}
            asked = params | ({"continue": token} if token else {})
            try:
                answer = await self.client.get(path, asked, accept=self.accept, decode=decode)
            except TooLarge:
                if not paged or limit == 1:
                    raise
                limit = max(1, limit // 8)
                continue
            page = Fields(answer if isinstance(answer, dict) else {})
            items = page.at("items") or []  # Go's nil slices are null
            # Another answer with status 200, such as a proxy's login page, must not count as an empty list.
            if not ("items" in page.raw and isinstance(items, list) and page.text("kind").endswith("List")):
                raise self._invalid(path, "the answer is not a list of objects")
            count += len(items)
            empty = 0 if items else empty + 1
            self.client.spend(PER_OBJECT * len(items), path)
            yield items
            before, token = token, page.text("metadata", "continue")
            if not token:
                return
            if token == before or count > MOST or empty > EMPTY:
                raise self._invalid(path, "the list does not end")

    def _invalid(self, path: str, what: str) -> ClusterError:
        return ClusterError(
            f"{self.client.access.name}: GET {path}: {what}",
            hint="check that this is a Kubernetes API server",
        )
