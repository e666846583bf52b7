"""What an HTTPProxy includes: routes of other objects, which are served by the root's virtual host (Contour
``internal/dag/httpproxy_processor.go``, computeRoutes)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.kube.objects import Fields, KubeObject


@dataclass(frozen=True, slots=True)
class Include:
    """One item of ``spec.includes``."""

    index: int
    namespace: str | None
    """The object's own where none is named."""
    name: str
    conditions: tuple[Fields, ...]
    """In front of those of the included routes."""


def includes(proxy: KubeObject) -> Iterator[Include]:
    """Every object that ``proxy`` includes, in its order; what names none is left out."""
    value = proxy.at("spec", "includes")
    for index, item in enumerate(value if isinstance(value, list) else ()):
        each = Fields(item if isinstance(item, dict) else {})
        if name := each.text("name"):
            yield Include(index, each.text("namespace") or proxy.namespace, name, tuple(each.each("conditions")))
