"""The objects that led to an endpoint, read back from what discovery wrote down about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanner.kube.kinds import GATEWAY, LISTENER_SET, X_LISTENER_SET, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint

HOLDERS: Mapping[str, Kind] = {each.name: each for each in (GATEWAY, LISTENER_SET, X_LISTENER_SET)}
"""What has listeners in the Gateway API, by the kind's name."""


def led(snapshot: Snapshot, endpoint: Endpoint, kinds: Mapping[str, Kind]) -> Iterator[tuple[KubeObject, str]]:
    """Each object of these kinds that led to ``endpoint``, with what its origin says behind the reference.

    What somebody said of another namespace's listener is not among them: discovery marks it, and so it does not begin
    with a kind.
    """
    for origin in endpoint.origins:
        reference, _, rest = origin.partition(" ")
        kind, _, path = reference.partition("/")
        if kind in kinds:
            namespace, _, name = path.rpartition("/")
            found = snapshot.get(kinds[kind], name, namespace or None)
            if found is not None:
                yield found, rest


def gateway_listeners(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[tuple[KubeObject, Fields]]:
    """Each listener of a Gateway or ListenerSet that ``endpoint`` is, with the object that holds it."""
    for holder, rest in led(snapshot, endpoint, HOLDERS):
        for listener in holder.each("spec", "listeners"):
            said = f"listener {listener.text('name')}"
            if rest == said or rest.startswith(f"{said} TLSRoute/"):
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
