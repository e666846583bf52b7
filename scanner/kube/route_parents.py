"""Parents of the Gateway API's routes: which listeners a route names, and which of them its status refuses (apis/v1
``CommonRouteSpec``, ``RouteParentStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.kube.kinds import GATEWAY, LISTENER_SET, X_LISTENER_SET, Kind
from scanner.kube.objects import Fields, KubeObject, Steps

HOLDERS: Final[Mapping[str, Kind]] = {each.name: each for each in (GATEWAY, LISTENER_SET, X_LISTENER_SET)}
"""What has listeners, by the kind's name."""
MOST: Final = 32
"""Parents of one route, and entries of its status (MaxItems)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """A reference to a Gateway or ListenerSet, with the API's defaults."""

    steps: Steps
    """The way to it from the route's top."""
    kind: Kind
    namespace: str
    name: str
    section: str
    """Name of the listener; empty: every one."""
    port: int | None

    def is_(self, holder: KubeObject) -> bool:
        """Whether this is the parent's object."""
        return (self.kind, self.namespace, self.name) == (holder.kind, holder.namespace or "", holder.name)

    def takes(self, listener: str, port: int | None) -> bool:
        """Whether it means a listener with this name and port."""
        return self.section in ("", listener) and self.port in (None, port)


def parents(route: KubeObject) -> Iterator[Parent]:
    """The Gateways and ListenerSets among the parents; others (Services of a mesh) have no listeners."""
    every = route.at("spec", "parentRefs")
    for index, each in enumerate(islice(every, MOST) if isinstance(every, list) else ()):
        found = _parent(route, ("spec", "parentRefs", index), Fields(each)) if isinstance(each, Mapping) else None
        if found is not None:
            yield found


def attached(route: KubeObject, holder: KubeObject, listener: Fields) -> bool:
    """Whether ``route`` names ``listener`` of ``holder``, and its status does not say that this was refused."""
    name, port = listener.text("name"), listener.number("port")
    return any(each.is_(holder) and each.takes(name, port) and not refused(route, each) for each in parents(route))


def refused(route: KubeObject, parent: Parent) -> bool:
    """Whether every controller that speaks of this parent refuses the route; what was said of an older generation does
    not count. A parent that no status names may well have it."""
    generation = route.generation
    answers: dict[bool, list[bool]] = {True: [], False: []}
    for entry in islice(route.each("status", "parents"), MOST):
        named = _parent(route, (), entry.fields("parentRef"))
        if named is None or (named.kind, named.namespace, named.name) != (parent.kind, parent.namespace, parent.name):
            continue
        exact = (named.section, named.port) == (parent.section, parent.port)
        if exact or (named.section in ("", parent.section) and named.port in (None, parent.port)):
            answers[exact] += _accepted(entry, generation)
    said = answers[True] or answers[False]
    return bool(said) and not any(said)


def _accepted(entry: Fields, generation: int | None) -> Iterator[bool]:
    for each in entry.each("conditions"):
        seen = each.number("observedGeneration")
        if each.text("type") == "Accepted" and not (seen is not None and generation is not None and seen < generation):
            yield each.text("status") != "False"


def _parent(route: KubeObject, steps: Steps, reference: Fields) -> Parent | None:
    kind = HOLDERS.get(reference.text("kind") or GATEWAY.name)
    if kind is None or kind.group != (reference.text("group") if reference.has("group") else GATEWAY.group):
        return None
    return Parent(
        steps=steps,
        kind=kind,
        namespace=reference.text("namespace") or route.namespace or "",
        name=reference.text("name"),
        section=reference.text("sectionName"),
        port=reference.number("port"),
    )
