"""The objects that led to an endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanner.expect.facts import Facts
from scanner.kube.gateway import (
    HOLDER_NAMES,
    Gateway,
    GatewayName,
    Listener,
    ListenerSet,
    admitted,
    gateway_of,
    holder_of,
    merged,
    sets_by_gateway,
)
from scanner.kube.gateway_routes import Routes
from scanner.kube.kinds import TLS_ROUTE, Kind
from scanner.kube.objects import KubeObject
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


def gateway_listeners(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[Listener]:
    """Each listener of a Gateway or ListenerSet that ``endpoint`` is."""
    for holder, origin in led(snapshot, endpoint, HOLDER_NAMES):
        if origin.role == "listener":
            yield from holder_of(holder).named(origin.part)


def gateways(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[Gateway]:
    """The Gateways of these listeners, each once; that of a ListenerSet is its parent."""
    seen = set()
    for listener in gateway_listeners(snapshot, endpoint):
        found = gateway_of(snapshot, listener.holder)
        if found is not None and found.reference not in seen:
            seen.add(found.reference)
            yield found


def all_listeners(facts: Facts, gateway: Gateway) -> list[Listener]:
    """The Gateway's own listeners and those of the ListenerSets that name it, turned away or not."""
    return merged(gateway, _sets(facts, gateway))


def admitted_listeners(facts: Facts, gateway: Gateway) -> list[Listener]:
    """The Gateway's own listeners and those of the ListenerSets that it does not turn away."""
    return merged(
        gateway, (each for each in _sets(facts, gateway) if admitted(facts.snapshot, gateway, each) is not False)
    )


def _sets(facts: Facts, gateway: Gateway) -> list[ListenerSet]:
    return facts.once(_by_gateway).get((gateway.namespace, gateway.name), [])


def _by_gateway(facts: Facts) -> Mapping[GatewayName, list[ListenerSet]]:
    return sets_by_gateway(facts.snapshot)


def routes(facts: Facts) -> Routes:
    """The TLSRoutes by their listeners."""
    return facts.once(_routes)


def _routes(facts: Facts) -> Routes:
    return Routes(facts.snapshot, TLS_ROUTE)
