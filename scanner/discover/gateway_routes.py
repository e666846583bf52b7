"""Routes: which names lead through a Gateway's listener, and where to (gateway.networking.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.cuts import Cuts
from scanner.discover.names import MAX_NAMES, port, server_name
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.model.hostnames import narrower, overlap

MAX_REFERENCES = 32
"""Parents of one route, and backends of one rule."""


class Routes:
    """Every route of some kinds, by the Gateway or ListenerSet that it names, for listeners of one protocol."""

    def __init__(self, snapshot: Snapshot, cuts: Cuts, protocol: str, *kinds: Kind) -> None:
        self._cuts, self._protocol = cuts, protocol
        self._by_parent: dict[tuple[str, str, str], list[tuple[Fields, KubeObject]]] = {}
        for route in (each for kind in kinds for each in snapshot.every(kind)):
            every = route.each("spec", "parentRefs")
            for parent in cuts.first(every, MAX_REFERENCES, f"parents of one {route.kind.name}", route):
                kind = parent.text("kind") or "Gateway"
                key = (kind, parent.text("namespace") or route.namespace or "", parent.text("name"))
                self._by_parent.setdefault(key, []).append((parent, route))

    def attached(self, holder: KubeObject, listener: Fields) -> list[KubeObject]:
        """The routes on a listener of the protocol: those that their status does not say were refused."""
        if listener.text("protocol") != self._protocol:
            return []
        key = (holder.kind.name, holder.namespace or "", holder.name)
        return [
            route
            for parent, route in self._by_parent.get(key, [])
            if parent.text("sectionName") in ("", listener.text("name"))
            and port(parent.at("port")) in (None, port(listener.at("port")))
            and not _refused(route, holder)
        ]

    def hostnames(self, route: KubeObject, listener: str) -> Iterator[str]:
        """The concrete names of a route that a listener with this hostname takes."""
        for each in self._first(route):
            name = server_name(narrower(each, listener))
            if name:
                yield name

    def takes(self, route: KubeObject, listener: str) -> Iterator[str]:
        """The hostnames that both match, in lower case; a route without any has all of the listener's. Empty matches
        every name."""
        for each in self._first(route) or [""]:
            if overlap(each, listener):
                yield narrower(each, listener)

    def _first(self, route: KubeObject) -> list[str]:
        every = list(route.texts("spec", "hostnames"))
        return self._cuts.first(every, MAX_NAMES, f"hostnames of one {route.kind.name}", route)

    def backends(self, route: KubeObject) -> Iterator[tuple[str, str, int]]:
        """Namespace, name and port of the Services that it leads to."""
        kind = route.kind.name
        for rule in self._cuts.first(route.each("spec", "rules"), MAX_REFERENCES, f"rules of one {kind}", route):
            every = rule.each("backendRefs")
            for each in self._cuts.first(every, MAX_REFERENCES, f"backends of one rule of a {kind}", route):
                number = port(each.at("port"))
                if number and (each.text("kind") or "Service") == "Service":
                    yield each.text("namespace") or route.namespace or "", each.text("name"), number


def _refused(route: KubeObject, holder: KubeObject) -> bool:
    for each in route.each("status", "parents"):
        if each.text("parentRef", "name") == holder.name:
            return any(
                one.text("type") == "Accepted" and one.text("status") == "False" for one in each.each("conditions")
            )
    return False
