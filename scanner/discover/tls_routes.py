"""TLSRoutes: which names lead through a Gateway's TLS listener, and where to (gateway.networking.k8s.io TLSRoute)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.cuts import Cuts
from scanner.discover.names import MAX_NAMES, port, server_name
from scanner.model.hostnames import narrower
from scanner.model.kinds import TLS_ROUTE
from scanner.model.objects import Fields, KubeObject
from scanner.model.snapshot import Snapshot

MAX_REFERENCES = 32
"""Parents of one route, and backends of one rule."""


class TlsRoutes:
    """Every TLSRoute, by the Gateway or ListenerSet that it names."""

    def __init__(self, snapshot: Snapshot, cuts: Cuts) -> None:
        self._cuts = cuts
        self._by_parent: dict[tuple[str, str, str], list[tuple[Fields, KubeObject]]] = {}
        for route in snapshot.every(TLS_ROUTE):
            for parent in cuts.first(
                route.each("spec", "parentRefs"), MAX_REFERENCES, "parents of one TLSRoute", route
            ):
                kind = parent.text("kind") or "Gateway"
                key = (kind, parent.text("namespace") or route.namespace or "", parent.text("name"))
                self._by_parent.setdefault(key, []).append((parent, route))

    def attached(self, holder: KubeObject, listener: Fields) -> list[KubeObject]:
        """The routes on a listener of protocol TLS: those that its status does not say were refused."""
        if listener.text("protocol") != "TLS":
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
        for each in self._cuts.first(
            list(route.texts("spec", "hostnames")), MAX_NAMES, "hostnames of one TLSRoute", route
        ):
            name = server_name(narrower(each, listener))
            if name:
                yield name

    def backends(self, route: KubeObject) -> Iterator[tuple[str, str, int]]:
        """Namespace, name and port of the Services that it leads to."""
        for rule in self._cuts.first(route.each("spec", "rules"), MAX_REFERENCES, "rules of one TLSRoute", route):
            every = rule.each("backendRefs")
            for each in self._cuts.first(every, MAX_REFERENCES, "backends of one rule of a TLSRoute", route):
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
