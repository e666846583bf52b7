"""The objects that led to an endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanner.kube.kinds import GATEWAY, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.route_parents import HOLDERS
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint, Origin


def led(snapshot: Snapshot, endpoint: Endpoint, kinds: Mapping[str, Kind]) -> Iterator[tuple[KubeObject, Origin]]:
    """Each object of these kinds that led to ``endpoint``, and how; none that has no say about its listener."""
    for origin in endpoint.origins:
        named = origin.reference
        if named is not None and named.kind in kinds and not origin.foreign:
            found = snapshot.get(kinds[named.kind], named.name, named.namespace)
            if found is not None:
                yield found, origin


def gateway_listeners(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[tuple[KubeObject, Fields]]:
    """Each listener of a Gateway or ListenerSet that ``endpoint`` is, with the object that holds it."""
    for holder, origin in led(snapshot, endpoint, HOLDERS):
        for listener in holder.each("spec", "listeners"):
            if origin.role == "listener" and origin.part == listener.text("name"):
                yield holder, listener


def gateways(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[KubeObject]:
    """The Gateways of these listeners, each once; that of a ListenerSet is its parent."""
    seen = set()
    for holder, _ in gateway_listeners(snapshot, endpoint):
        found: KubeObject | None = holder
        if holder.kind is not GATEWAY:
            parent = holder.fields("spec", "parentRef")
            found = snapshot.get(GATEWAY, parent.text("name"), parent.text("namespace") or holder.namespace)
        if found is not None and found.reference not in seen:
            seen.add(found.reference)
            yield found


def all_listeners(snapshot: Snapshot, gateway: KubeObject) -> Iterator[tuple[KubeObject, Fields]]:
    """The Gateway's own listeners, and those of all ListenerSets that want to belong to it, each with its holder."""
    yield from ((gateway, each) for each in gateway.each("spec", "listeners"))
    for kind in HOLDERS.values():
        for holder in snapshot.every(kind) if kind is not gateway.kind else ():
            parent = holder.fields("spec", "parentRef")
            namespace = parent.text("namespace") or holder.namespace
            if (parent.text("name"), namespace) == (gateway.name, gateway.namespace):
                yield from ((holder, each) for each in holder.each("spec", "listeners"))
