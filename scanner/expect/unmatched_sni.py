"""Server names beside an endpoint's own, and what objects say that the place must do with them.

A Gateway's port with TLS listeners alone, and Contour's Envoys unless an HTTPProxy enables the fallback certificate,
refuse what no object names (Gateway API conformance, ``tlsroute-hostname-intersection``; Contour
``internal/xdscache/v3``, one filter chain a name). Where HTTPS listeners validate clients, no name leads around that
(GEP-91). Hosts that an object's status rejects are not endpoints: an endpoint of the same place asks for them.

OpenShift's router looks for a certificate by the host of a Route, or by its domain where the Route is for all of it.
It shows its default one for everything else, or ends the connection where it is strict (openshift/router
``images/router/haproxy/conf/haproxy-config.template``, ``pkg/router/template/util``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, Literal, TypeAlias

from scanner.expect.client_trust import frontend_validation
from scanner.expect.facts import Facts, admitted_listeners, all_listeners, gateway_listeners, gateways, routes
from scanner.expect.ingress_controller import controller_of, route_of, router_name
from scanner.expect.partial_expectation import Draft
from scanner.expect.rejected_listener import answered, is_stale, rejected
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import Gateway, Listener
from scanner.kube.hostnames import NO_SUCH_NAME, server_name, within
from scanner.kube.ingress import Route
from scanner.kube.kinds import HTTP_PROXY, ROUTE, TLS_ROUTE
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import OtherName

_MOST = 4
"""Names that come through to one backend and that it is asked for."""

Through: TypeAlias = Mapping[tuple[str, int], Mapping[str, str]]
"""As ``passthrough.coming_through`` has it."""


def other_names(facts: Facts, draft: Draft, through: Through) -> tuple[OtherName, ...]:
    """What else ``draft``'s place is asked for: by one of all the names that it has, for each costs connections."""
    endpoint = draft.endpoint
    coming = through.get((endpoint.address, endpoint.port), {})
    if coming:
        return tuple(_of_passages(facts, endpoint, coming))
    if endpoint.segment == "Backend":
        return ()
    routed = (*_unknown_to_router(facts, draft), *_of_subdomain(facts, draft))
    if not _speaks_for_its_place(facts, endpoint):
        return (*_unadmitted(facts, draft), *routed)
    of_place = tuple(_of_gateway(facts, endpoint)) or tuple(_of_contour(facts, endpoint))
    return (*of_place, *_rejected_hosts(facts, endpoint), *routed)


def _of_passages(facts: Facts, endpoint: Endpoint, coming: Mapping[str, str]) -> Iterator[OtherName]:
    """The names that come through to it and that no endpoint of this place has for its own."""
    here = facts.at_place(endpoint)
    if (endpoint.server_name or "") != min((each.server_name or "" for each in here), default=""):
        return
    own = {each.server_name for each in here}
    for name, source in islice(sorted(coming.items()), _MOST):
        if name not in own:
            yield OtherName(name=name, owed="compared", because=source)


def _speaks_for_its_place(facts: Facts, endpoint: Endpoint) -> bool:
    fronts = [each for each in facts.at_place(endpoint) if each.segment != "Backend"]
    names = sorted(each.server_name for each in fronts if each.server_name)
    return endpoint.server_name is not None and endpoint.server_name == next(iter(names), None)


def _of_gateway(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """By all Gateways that one proxy serves at this place: some implementations merge them. What else it serves there
    (Ingresses, HTTPProxies) may answer every name, and validates no client."""
    if any(not _of_gateways(facts, each) for each in _fronts(facts, endpoint)):
        return
    ports = {each.port for each in gateway_listeners(facts.snapshot, endpoint)}
    merged = _merged(facts, endpoint) if ports else ()
    every = [each for gateway in merged for each in admitted_listeners(facts, gateway)]
    beside = [each for each in every if each.port in ports]
    if beside and all(each.protocol == "TLS" and _has_a_name(facts, each) for each in beside):
        because = f"{merged[0].reference} spec.listeners: all on this port are of protocol TLS"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NO_SUCH_NAME, None))
    elif beside and all(each.protocol == "HTTPS" for each in beside):
        fields = [frontend_validation(each, next(iter(ports))) for each in merged]
        if all(fields):
            because = f"{merged[0].reference} {fields[0]}"
            yield from (OtherName(name=name, owed="validated", because=because) for name in (NO_SUCH_NAME, None))


def _has_a_name(facts: Facts, listener: Listener) -> bool:
    """Whether it is not for every name. What is passed through goes by the names of its TLSRoutes, which v1alpha2 lets
    have none; what is terminated may be a TCPRoute's, which has none."""
    if listener.hostname:
        return True
    if listener.mode != "Passthrough" or facts.snapshot.gap(TLS_ROUTE):
        return False
    return all(any(each.every_hostname) for each in routes(facts).on(listener))


def _fronts(facts: Facts, endpoint: Endpoint) -> list[Endpoint]:
    here = facts.at_place(endpoint)
    return [each for each in here if each.segment != "Backend" and each.subject is not None]


def _of_gateways(facts: Facts, endpoint: Endpoint) -> bool:
    return next(gateway_listeners(facts.snapshot, endpoint), None) is not None


def _merged(facts: Facts, endpoint: Endpoint) -> tuple[Gateway, ...]:
    """The Gateways of ``endpoint``, and of whatever else is at its place."""
    here = facts.at_place(endpoint)
    found = (each for one in (endpoint, *here) for each in gateways(facts.snapshot, one))
    return tuple({each.reference: each for each in found}.values())


def _of_contour(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """The place may be asked by an Ingress of the same Envoy's: Contour makes such a chain for it, too."""
    here = _fronts(facts, endpoint)
    mine = [each.subject for each in here if each.subject is not None and each.subject.kind == HTTP_PROXY.name]
    if not mine or any(_of_gateways(facts, each) for each in here):  # a listener of which may be for every name
        return
    proxies = map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY))
    if not any(each.tls.enable_fallback_certificate for each in proxies):
        because = f"{mine[0]} and all other HTTPProxies: none has enableFallbackCertificate"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NO_SUCH_NAME, None))


# --- Hosts that a status rejects, and names that a router does not know -----------------------------------------------


_MOST_REJECTED: Final = 20
"""Names of one place that are asked for: each costs a connection; where it is closed without a word five, and one more
for the port's own name."""
_TERMINAL: Final = frozenset({"TLSError", "VirtualHostError", "RootNamespaceError", "ListenerError"})
"""Types of errors with which Contour serves nothing of an HTTPProxy; with others, such as a missing Service, it serves
the virtual host and answers 503 (``internal/dag/httpproxy_processor.go``)."""

_Reasons = dict[str, str]
"""Why each name is not served."""


def _rejected_hosts(facts: Facts, endpoint: Endpoint) -> tuple[OtherName, ...]:
    """Those of the Gateways, or of Contour, that ``endpoint``'s place belongs to."""
    found = dict((*_rejected_by_gateways(facts, endpoint), *_rejected_by_contour(facts, endpoint)))
    here = {each.server_name for each in facts.at_place(endpoint)}
    left = {name: why for name, why in found.items() if name not in here and not answered(facts, name, endpoint)}
    return tuple(_asked(left, "refused"))


def _unadmitted(facts: Facts, draft: Draft) -> tuple[OtherName, ...]:
    """Routes that the router did not admit, by what it shows to a client without SNI."""
    router = router_name(facts, draft) if _shows_default(draft) else None
    return tuple(_asked(facts.once(_not_admitted).get(router, {}), "default")) if isinstance(router, str) else ()


def _shows_default(draft: Draft) -> bool:
    """Whether it is what a router answers to a client without SNI."""
    return draft.implementation == "haproxy" and draft.endpoint.server_name is None and draft.endpoint.subject is None


def _asked(found: _Reasons, owed: Literal["refused", "default"]) -> Iterator[OtherName]:
    for name in sorted(found)[:_MOST_REJECTED]:
        yield OtherName(name=name, owed=owed, because=found[name])
    if len(found) > _MOST_REJECTED:
        more = f"{len(found) - _MOST_REJECTED} more names that are not to be served were not asked for"
        yield OtherName(name=None, owed="unasked", because=more)


def _rejected_by_gateways(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    ports = {each.port for each in gateway_listeners(facts.snapshot, endpoint)}
    for gateway in gateways(facts.snapshot, endpoint):
        for listener in all_listeners(facts, gateway):
            name = server_name(listener.hostname)
            if listener.port in ports and name and (why := rejected(listener)):
                yield name, why


def _rejected_by_contour(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    subject = endpoint.subject
    if subject is not None and subject.kind == HTTP_PROXY.name:
        yield from facts.once(_refused_proxies).items()


def _refused_proxies(facts: Facts) -> _Reasons:
    found: _Reasons = {}
    for proxy in map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY)):
        name = server_name(proxy.fqdn)
        if name and proxy.has_tls and (why := _invalid(proxy)):
            found[name] = why
    return found


def _invalid(proxy: HTTPProxy) -> str:
    if is_stale(proxy, proxy.conditions):
        return ""
    invalid = (each for each in proxy.conditions if (each.type, each.status) == ("Valid", "False"))
    errors = (error for each in invalid for error in each.errors if error.type in _TERMINAL)
    found = next(errors, None)
    return f"{proxy.reference} status: Valid is False, {found.reason[:100]}" if found else ""


def _not_admitted(facts: Facts) -> Mapping[str, _Reasons]:
    """By router; what another Route has there is that one's."""
    found: dict[str, _Reasons] = {}
    admitted: dict[str, set[str]] = {}
    for route in map(Route.of, facts.snapshot.every(ROUTE)):
        for ingress in route.ingresses:
            router, said = ingress.router_name, ingress.admitted
            name = server_name(ingress.host or route.host)
            if said is None or name is None:
                continue
            if said.holds:
                admitted.setdefault(router, set()).add(_covered(route, name))
            elif route.has_tls:
                why = f"{route.reference} status.ingress[{router[:253]}]: Admitted is {said.status}, {said.reason}"
                found.setdefault(router, {}).setdefault(name, why)
    return {router: _left(names, admitted.get(router, set())) for router, names in found.items()}


def _left(names: _Reasons, admitted: set[str]) -> _Reasons:
    wildcards = [each for each in admitted if each.startswith("*.")]
    return {
        name: why
        for name, why in names.items()
        if name not in admitted and not any(within(name, each) for each in wildcards)
    }


def _covered(route: Route, name: str) -> str:
    """A Route for a whole subdomain answers every name of it (openshift/api route/v1, ``wildcardPolicy``)."""
    return f"*.{name.partition('.')[2]}" if route.is_subdomain else name


def _unknown_to_router(facts: Facts, draft: Draft) -> Iterator[OtherName]:
    """A name that no Route has, by what the router shows to a client without SNI."""
    controller = controller_of(facts, draft) if _shows_default(draft) else None
    if controller is not None:
        yield OtherName(name=NO_SUCH_NAME, owed="default", because=f"{controller.reference}: no Route has this name")


def _of_subdomain(facts: Facts, draft: Draft) -> Iterator[OtherName]:
    """A name that no object spells out, of a Route that has all of its subdomain."""
    endpoint, route = draft.endpoint, route_of(facts, draft)
    if draft.implementation != "haproxy" or route is None or draft.passed_on:
        return
    domain = (endpoint.server_name or "").partition(".")[2]
    router = router_name(facts, draft)
    known = not isinstance(router, Unknown)
    name = server_name(f"*.{domain}")  # None where that is too long to be one
    if not domain or name in (None, endpoint.server_name):
        return
    for each in route.ingresses:
        if not each.is_admitted or (known and each.router_name != router):
            continue
        if each.wildcard_policy == "Subdomain" and each.host.lower() == endpoint.server_name:
            where = f"status.ingress[{each.router_name[:253]}]"
            because = f"{route.reference} {where}.wildcardPolicy: Subdomain"
            yield OtherName(name=name, owed="same", because=because)
            return
