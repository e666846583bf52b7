"""Routes: which names lead through a Gateway's listener, and where to (gateway.networking.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.cuts import Cuts
from scanner.discover.names import MAX_NAMES, port, server_name
from scanner.kube.hostnames import narrower, overlap
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.route_parents import MOST, Parent, parents, refused
from scanner.kube.snapshot import Snapshot

MAX_REFERENCES = 32
"""Rules of one route, and backends of one rule."""


class Routes:
    """Every route of some kinds, by the Gateway or ListenerSet that it names, for listeners of one protocol."""

    def __init__(self, snapshot: Snapshot, cuts: Cuts, protocol: str, *kinds: Kind) -> None:
        self._cuts, self._protocol = cuts, protocol
        self._by_parent: dict[tuple[Kind, str, str], dict[str, list[tuple[Parent, KubeObject]]]] = {}
        for route in (each for kind in kinds for each in snapshot.every(kind)):
            cuts.first(route.each("spec", "parentRefs"), MOST, f"parents of one {route.kind.name}", route)
            for parent in parents(route):
                if not refused(route, parent):
                    key = (parent.kind, parent.namespace, parent.name)
                    self._by_parent.setdefault(key, {}).setdefault(parent.section, []).append((parent, route))

    def attached(self, holder: KubeObject, listener: Fields) -> list[KubeObject]:
        """The routes on a listener of the protocol, each once: those that their status does not say were refused."""
        if listener.text("protocol") != self._protocol:
            return []
        name, number = listener.text("name"), port(listener.at("port"))
        by_section = self._by_parent.get((holder.kind, holder.namespace or "", holder.name), {})
        found = (one for section in dict.fromkeys(("", name)) for one in by_section.get(section, ()))
        return list({id(route): route for parent, route in found if parent.takes(name, number)}.values())

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
