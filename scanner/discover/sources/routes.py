"""OpenShift's routers and the Routes that they have admitted (route.openshift.io/v1, operator.openshift.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim, backend, frontend, reached
from scanner.discover.services import Service, ServicePort
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Place
from scanner.kube.hostnames import MAX_NAME, server_name, valid_names
from scanner.kube.ingress import Route, RouteIngress
from scanner.kube.kinds import ROUTE
from scanner.model.endpoint import Origin, Owner

_KNOWN_PORT = 443
"""The port in the catalogue; on the host network, an IngressController may have another."""
MAX_ROUTERS = 16
"""Limit of routers per Route."""
MAX_BACKENDS = 16
"""Limit of Services per Route; the API allows four."""


def _routers(view: Index) -> Iterator[Found]:
    """Each router without a server name: it serves its default certificate."""
    for router in view.routers.values():
        origin = Origin(role="frontend", reference=router.controller.reference)
        claim = Claim(certainty="declared", origin=origin, segment="Frontend", naming="also")
        claim.expects, claim.known_port = router.controller.client_tls.certificates, _KNOWN_PORT
        yield from view.at_router(router, claim)


def _routes(view: Index) -> Iterator[Found]:
    for route in map(Route.of, view.snapshot.every(ROUTE)):
        if not route.has_tls:
            yield Omission("Routes without TLS")
        elif valid_names(route.name, route.namespace):
            yield from _of(view, route)


def _of(view: Index, route: Route) -> Iterator[Found]:
    termination = route.termination
    behind = list(_backends(view, route, termination)) if termination in ("reencrypt", "passthrough") else []
    admitted = False
    for ingress in view.cuts.first(route.ingresses, MAX_ROUTERS, "routers of one Route", route):
        if ingress.is_admitted:
            admitted = True
            yield from _front(view, route, ingress, termination, samples=not reached(behind))
    if admitted:
        yield from behind
    else:
        yield Omission("Routes that no router has admitted")


def _front(view: Index, route: Route, ingress: RouteIngress, termination: str, *, samples: bool) -> Iterator[Found]:
    name = server_name(ingress.host or route.host)
    if name is None:
        yield Omission("server names that are not DNS names")
        return
    claim = frontend(Origin(role="frontend", reference=route.reference, part=termination), name, route)
    claim.sampled = termination == "passthrough" and samples
    router = view.routers.get(ingress.router_name)
    if router:
        # The policy does not apply to passthrough.
        claim.expects = router.controller.client_tls.certificates if termination != "passthrough" else None
        found = list(view.at_router(router, claim))
        if found:
            yield from found
            return
    # Not a router of this cluster's operator, or without known pods: use its published name.
    host = server_name(ingress.router_canonical_hostname) or name
    owner = Owner(kind="Router", name=ingress.router_name[:MAX_NAME] or "unknown")
    yield PlacedClaim(claim, Place("", 443, host=host, owner=owner, sampled=True))


def _backends(view: Index, route: Route, termination: str) -> Iterator[Found]:
    others = view.cuts.first(route.alternate_backends, MAX_BACKENDS, "backends of one Route", route)
    for each in (route.to, *others):
        service = view.services.get(route.namespace, each.service)
        if service:
            for target_port in _ports(service, route):
                yield from view.through(service, target_port, _behind(route, service, termination))


def _behind(route: Route, service: Service, termination: str) -> Claim:
    """The claim on a Service behind a Route. Re-encrypting, the router verifies the Service's name unless the Route has
    a CA (haproxy-config.template); with passthrough, clients verify the Route's host."""
    if termination == "passthrough":
        name = server_name(route.host)
    else:
        name = None if route.tls.has_destination_ca else service.dns
    origin = Origin(role="backend", reference=route.reference, part=termination)
    return backend(origin, name, route.namespace)


def _ports(service: Service, route: Route) -> list[ServicePort]:
    target_port = route.target_port
    if target_port is not None:
        found = service.targeting(target_port)
        return [found] if found else []
    ports = [each for each in service.ports if each.protocol == "TCP"]
    likely = [each for each in ports if hints.certainty(each.number, each.name, each.app_protocol) == "hinted"]
    return ports if len(ports) == 1 else likely


ROUTERS = Source(name="routers", find=_routers)
SOURCE = Source(name="Routes", reads=(ROUTE,), find=_routes)
