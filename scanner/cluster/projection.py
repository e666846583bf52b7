"""Pages of lists, of which only what is kept is decoded.

A page of 500 pods has 4 MB, a tenth of which is kept. msgspec skips the rest at a tenth of the price of decoding it,
and hands over as bytes what replicas have alike, so that it is decoded for the first of them only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import GenericAlias
from typing import Any, TypeAlias, TypedDict, cast

from scanner.cluster.decoding import Raw, collector_paused, decoded
from scanner.cluster.prune import Only, Shape, Shared
from scanner.cluster.shapes import OTHERS, SHAPES
from scanner.kube.kinds import Kind

try:
    import msgspec
except ImportError:  # no wheel for s390x and ppc64le: there, all of a page is decoded
    msgspec = None  # type: ignore[assignment]

Decode: TypeAlias = Callable[[bytes], object]


@lru_cache(maxsize=128)
def page_decoder(kind: Kind) -> Decode:
    """What decodes a page of a list of ``kind``. It raises as ``decoded`` does."""
    shape = SHAPES.get(kind, OTHERS)
    if msgspec is None or not isinstance(shape, Only):
        return decoded
    page = {"kind": Any, "metadata": Any, "items": GenericAlias(list, (_mapping(shape),)) | None}
    projected = msgspec.json.Decoder(_typed_dict("Page", page)).decode

    def decode(data: bytes) -> object:
        with collector_paused():
            try:
                return cast("object", projected(data))
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return decoded(data)  # what is of another type than any API server sends; pruning copes with it

    return decode


def _mapping(shape: Only) -> Any:  # noqa: ANN401 - a type that is made here
    return _typed_dict("Kept", {name: _type(each) for name, each in shape.fields.items()})


def _type(shape: Shape) -> Any:  # noqa: ANN401 - a type that is made here
    """The type of a value in ``shape``, as the API server sends it; ``Only`` does not say whether it is a list."""
    if isinstance(shape, Shared):
        return _type(shape.shape) if shape.pruned else Raw
    if isinstance(shape, Only):
        mapping: Any = _mapping(shape)
        return mapping | GenericAlias(list, (mapping,)) | str | int | float | bool | None
    return Any


def _typed_dict(name: str, fields: dict[str, Any]) -> Any:  # noqa: ANN401
    return cast("Any", TypedDict)(name, fields, total=False)
