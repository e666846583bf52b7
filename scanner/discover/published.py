"""Addresses that objects publish in their status: each is open to the object that says so, on its own ports, alone.

What is written there belongs to controllers, but whoever may write a status could otherwise open any port of any
address to everything else. Load balancers of Services are not among them: their backends are dialled.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import published
from scanner.discover.names import parsed, port
from scanner.discover.view import View
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import Gateway, class_of
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import GATEWAY, GATEWAY_CLASS, HTTP_PROXY, INGRESS
from scanner.kube.objects import KubeObject
from scanner.model.components import API_SERVICE
from scanner.model.dial_scope import Published
from scanner.model.endpoint import Owner

READS = (GATEWAY, GATEWAY_CLASS, HTTP_PROXY, INGRESS)
_MOST = 128
"""Ports or addresses of one object."""


def places(view: View) -> Iterator[Published]:
    """Every address with a port, and whose it is."""
    for text, number, owner in _texts(view):
        found = parsed(text)
        if found:
            yield found, number, owner


def _texts(view: View) -> Iterator[tuple[str, int, Owner]]:
    for service in view.balanced.services.values():
        for where in service.addresses:
            yield from ((where, each.number, service.owner) for each in service.ports)
    yield from _api_server(view)
    for ingress in view.snapshot.every(INGRESS):
        if Ingress.of(ingress).has_tls:
            yield from ((where, 443, _owner(ingress)) for where in published(ingress, view.cuts))
    for proxy in view.snapshot.every(HTTP_PROXY):
        if HTTPProxy.of(proxy).has_tls:
            yield from ((where, 443, _owner(proxy)) for where in published(proxy, view.cuts))
    for gateway in map(Gateway.of, view.snapshot.every(GATEWAY)):
        if _is_accepted(view, gateway):
            yield from _of_gateway(view, gateway)


def _api_server(view: View) -> Iterator[tuple[str, int, Owner]]:
    """Where nothing of it runs in the cluster: what the API server writes into the slice of its own name."""
    service = view.balanced.get(*API_SERVICE)
    for one in service.slices if service else ():
        if service and one.name == API_SERVICE[1]:
            numbers = [number for each in one.ports if (number := port(each.port))]
            every = [text for each in one.endpoints for text in each.addresses]
            numbers = view.cuts.first(numbers, _MOST, "ports of one EndpointSlice", one)
            for where in view.cuts.first(every, _MOST, "addresses of the API server", one):
                yield from ((where, number, service.owner) for number in numbers)


def _is_accepted(view: View, gateway: Gateway) -> bool:
    """Whether some controller works on Gateways of its class: else nobody but its author has filled in its status."""
    found = class_of(view.snapshot, gateway)
    return found is not None and any(each.type == "Accepted" and each.holds for each in found.conditions)


def _of_gateway(view: View, gateway: Gateway) -> Iterator[tuple[str, int, Owner]]:
    numbers = {number for each in gateway.listeners if (number := port(each.port))}
    listening = view.cuts.first(sorted(numbers), _MOST, "listening ports of one Gateway", gateway)
    for each in view.cuts.first(list(gateway.addresses), _MOST, "addresses of one Gateway", gateway):
        yield from ((each.value, number, _owner(gateway)) for number in listening)


def _owner(raw: KubeObject) -> Owner:
    return Owner(kind=raw.kind.name, name=raw.name, namespace=raw.namespace)
