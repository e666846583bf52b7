"""Gateways and ListenerSets: listeners with protocol HTTPS or TLS, by hostname (gateway.networking.k8s.io/v1).

Segments have the names of GEP-2907: the listener is Frontend; a backend of a TLSRoute on a passthrough listener is
Backend.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, backend, reached
from scanner.discover.services import Service, ServicePort
from scanner.discover.truncation import Omission
from scanner.kube.gateway import (
    GATEWAY_NAME,
    MAX_LISTENERS,
    SETS,
    Gateway,
    Listener,
    ListenerHolder,
    ListenerSet,
    admitted,
    gateway_of,
    rejection,
)
from scanner.kube.gateway_routes import MAX_PARENTS, MAX_TARGETS, BackendTLSPolicy, GatewayRoute, PolicyTarget, Routes
from scanner.kube.hostnames import MAX_NAMES, address, narrower, overlap, port, server_name, valid_names, within
from scanner.kube.kinds import (
    BACKEND_TLS_POLICY,
    GATEWAY,
    GRPC_ROUTE,
    HTTP_ROUTE,
    LISTENER_SET,
    TLS_ROUTE,
    X_LISTENER_SET,
)
from scanner.kube.meta import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Origin, Owner
from scanner.model.observation import ClientCertificate
from scanner.values import replace

MAX_ADDRESSES = 32
MAX_REFERENCES = 32
"""Limit of rules per route, and of backends per rule."""
_ROUTES = (TLS_ROUTE, HTTP_ROUTE, GRPC_ROUTE)


def _find(view: Index) -> Iterator[Found]:
    routes = Routes(view.snapshot, *_ROUTES)
    for route in (GatewayRoute.of(each) for kind in _ROUTES for each in view.snapshot.every(kind)):
        view.cuts.first(list(route.parent_refs), MAX_PARENTS, f"parents of one {route.kind.name}", route)
    for gateway in map(Gateway.of, view.snapshot.every(GATEWAY)):
        if valid_names(gateway.name, gateway.namespace):
            yield from _of(view, gateway, gateway, routes)
    for listener_set in (ListenerSet.of(each) for kind in SETS for each in view.snapshot.every(kind)):
        parent = gateway_of(view.snapshot, listener_set)
        if parent is None:
            yield Omission("ListenerSets without a Gateway")
        else:
            refused = admitted(view.snapshot, parent, listener_set) is False
            yield from _of(view, listener_set, parent, routes, refused=refused)


def _of(
    view: Index, holder: ListenerHolder, gateway: Gateway, routes: Routes, *, refused: bool = False
) -> Iterator[Found]:
    """Claims of the Gateway's own listeners, or of those of a ListenerSet (``holder``). ``refused``: the Gateway does
    not admit it."""
    what = "listeners of one Gateway or ListenerSet"
    view.cuts.first(list(holder.listener_items), MAX_LISTENERS, what, holder)
    listeners = holder.listeners
    accepted = [each for each in listeners if not refused and not rejection(each)]
    beside = (
        accepted if holder is gateway else [*accepted, *(each for each in gateway.listeners if not rejection(each))]
    )
    served = {port(each.port) for each in beside}
    for listener in listeners:
        number, passes = port(listener.port), listener.mode == "Passthrough"
        if not listener.mode:
            yield Omission("Gateway listeners without TLS")
        elif number is None or not any(each is listener for each in accepted):
            # Without a name another listener of the port answers, or may.
            if number is None or (number in served and not server_name(listener.hostname)):
                yield Omission("Gateway listeners that are not accepted")
            else:
                yield from _at(view, gateway, number, _alone(listener))
        else:
            attached = routes.on(listener)
            passed_on = [each for each in attached if each.kind == TLS_ROUTE]
            behind = list(_backends(view, passed_on)) if passes else []
            sampled = passes and not reached(behind)
            for claim in _names(view, gateway, listener, beside, attached):
                claim.sampled = sampled
                yield from _at(view, gateway, number, claim)
            yield from behind


def _names(
    view: Index, gateway: Gateway, listener: Listener, beside: list[Listener], attached: list[GatewayRoute]
) -> Iterator[Claim]:
    """Claims of the names that lead to this listener: of its TLSRoutes if any, else one of its own, else none."""
    origin, tls_routes = _origin(listener), [each for each in attached if each.kind == TLS_ROUTE]
    others = _narrower(listener, beside)
    own = server_name(_one_of(view, listener, [each for each in attached if each.kind != TLS_ROUTE], others))
    # Only HTTPS validates client certificates (GEP-91).
    expects = _client_certificate(gateway, port(listener.port)) if listener.protocol == "HTTPS" else None
    named = 0
    for route in tls_routes:
        for host in _taken(view, route, listener):
            name = server_name(host)
            if name and not any(within(name, each) for each in others):
                yield _claim(replace(origin, through=route.reference), name, route, expects)
                named += 1
    if not named:
        claim = _claim(origin, own, listener.holder, expects)
        if not own and (tls_routes or listener.mode != "Passthrough"):
            claim.naming = "also"  # it also answers clients without a server name
        yield claim


def _one_of(view: Index, listener: Listener, routes: list[GatewayRoute], others: set[str]) -> str:
    """The listener's hostname. For a wildcard or none, the first of the routes' names that no other listener has.

    Contour lets Envoy serve a certificate only for the names of routes (``EnsureSecureVirtualHost``).
    """
    own = listener.hostname
    if own and not own.startswith("*."):
        return own
    every = {name for route in routes for name in _taken(view, route, listener)}
    taken = {name for name in every if name == own or not any(within(name, each) for each in others)}
    return own if own in taken or not taken else min(taken, key=lambda name: (name.startswith("*."), name))


def _taken(view: Index, route: GatewayRoute, listener: Listener) -> Iterator[str]:
    """The hostnames that route and listener both match, in lower case; a route without any has all of the listener's.
    An empty one matches every name."""
    every = list(route.every_hostname)
    for each in view.cuts.first(every, MAX_NAMES, f"hostnames of one {route.kind.name}", route) or [""]:
        if overlap(each, listener.hostname):
            yield narrower(each, listener.hostname)


def _narrower(listener: Listener, beside: list[Listener]) -> set[str]:
    """Hostnames of other listeners on the port that take precedence over this one's (Gateway API, most specific
    hostname)."""
    own = listener.hostname
    return {
        other.hostname
        for other in beside
        if other.port == listener.port and other.hostname not in ("", own) and (not own or within(other.hostname, own))
    }


def _alone(listener: Listener) -> Claim:
    """The claim of a rejected listener: a probe confirms that nothing listens."""
    claim = _claim(_origin(listener), server_name(listener.hostname), listener.holder, None)
    claim.certainty = "candidate"
    return claim


def _origin(listener: Listener) -> Origin:
    return Origin(role="listener", reference=listener.holder.reference, part=listener.name)


def _claim(origin: Origin, name: str | None, subject: KubeObject, expects: ClientCertificate | None) -> Claim:
    # Without a server name a proxy has no listener and closes the connection.
    return Claim(
        certainty="declared",
        origin=origin,
        name=name,
        naming="only" if name else "soft",
        segment="Frontend",
        subject=subject,
        expects=expects,
        writer=subject.namespace,
        beyond="fronts",
    )


def _client_certificate(gateway: Gateway, number: int | None) -> ClientCertificate | None:
    found = gateway.validation(number)
    return None if found is None else "requested" if found.falls_back else "required"


def _at(view: Index, gateway: Gateway, number: int, claim: Claim) -> Iterator[Found]:
    """``claim`` at the Services of the Gateway; else behind its addresses; else at its addresses."""
    chosen = view.services.select(gateway.namespace, LabelSelector({"matchLabels": {GATEWAY_NAME: gateway.name}}))
    for service in chosen:
        service_port = service.port(number)
        if service_port:
            yield from view.through(service, service_port, claim)
            return
    found = [each for each in _hosts(view, gateway) if each]
    if not found:
        yield Omission("Gateways without an address")
    owner = Owner(kind="Gateway", name=gateway.name, namespace=gateway.namespace)
    for host in found:
        yield from view.behind_or_at(host, number, claim, owner)


def _hosts(view: Index, gateway: Gateway) -> Iterator[str | None]:
    for each in view.cuts.first(list(gateway.addresses), MAX_ADDRESSES, "addresses of one Gateway", gateway):
        yield address(each.value) or server_name(each.value)


def _backends(view: Index, routes: list[GatewayRoute]) -> Iterator[Found]:
    for route in routes:
        origin, hosts = Origin(role="backend", reference=route.reference), route.every_hostname
        for namespace, name, number in _services(view, route):
            if found := view.services.with_port(namespace, name, number):
                name_of = server_name(hosts[0]) if hosts else None
                yield from view.through(*found, backend(origin, name_of, route.namespace))


def _services(view: Index, route: GatewayRoute) -> Iterator[tuple[str | None, str, int]]:
    """Namespace, name and port of the route's Services."""
    kind = route.kind.name
    for rule in view.cuts.first(list(route.every_rule), MAX_REFERENCES, f"rules of one {kind}", route):
        every = list(rule.backend_refs)
        for each in view.cuts.first(every, MAX_REFERENCES, f"backends of one rule of a {kind}", route):
            number = port(each.port)
            if number and each.is_service:
                yield each.namespace or route.namespace, each.name, number


SOURCE = Source(name="Gateways", reads=(GATEWAY, LISTENER_SET, X_LISTENER_SET, *_ROUTES), find=_find)


def _policies(view: Index) -> Iterator[Found]:
    for policy in map(BackendTLSPolicy.of, view.snapshot.every(BACKEND_TLS_POLICY)):
        origin = Origin(role="policy", reference=policy.reference)
        targets = view.cuts.first(list(policy.every_target), MAX_TARGETS, "targets of one BackendTLSPolicy", policy)
        for target in targets:
            service = view.services.get(policy.namespace, target.name)
            if service and target.is_service:
                claim = backend(origin, server_name(policy.validation.hostname), policy.namespace)
                claim.naming = "only" if claim.name else "soft"
                claim.subject = policy
                for service_port in _policy_ports(service, target):
                    yield from view.through(service, service_port, claim)


def _policy_ports(service: Service, target: PolicyTarget) -> list[ServicePort]:
    """The port of ``sectionName``; without it all ports."""
    return [each for each in service.ports if each.protocol == "TCP" and target.section_name in ("", each.name)]


POLICIES = Source(name="BackendTLSPolicies", reads=(BACKEND_TLS_POLICY,), find=_policies)
