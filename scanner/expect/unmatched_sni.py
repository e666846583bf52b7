"""Server names beside an endpoint's own: unconfigured and rejected ones, and neighbours whose content must not leak.

A Gateway's port with only TLS listeners, and Contour's Envoys unless an HTTPProxy enables the fallback certificate,
refuse names that no object configures (Gateway API conformance, ``tlsroute-hostname-intersection``; Contour
``internal/xdscache/v3``, one filter chain a name). If HTTPS listeners validate clients, no name may bypass that
(GEP-91). Hosts that an object's status rejects are no endpoints: another endpoint of the same place tests them.

OpenShift's router selects a certificate by the host of a Route, or by its domain for a wildcard Route. For other names
it serves its default certificate, or closes the connection if it is strict (openshift/router
``images/router/haproxy/conf/haproxy-config.template``, ``pkg/router/template/util``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from scanner.expect.client_trust import frontend_validation
from scanner.expect.contour import falling_back, proxy_of
from scanner.expect.facts import Facts, admitted_listeners, all_listeners, gateway_listeners, gateways, routes
from scanner.expect.ingress_controller import controller_of, route_of, router_name
from scanner.expect.partial_expectation import Partial
from scanner.expect.rejected_listener import answered, hostnames, invalid, refusal_of, rejected, rejection_of
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import HOLDER_NAMES, Gateway, Listener
from scanner.kube.hostnames import NO_SUCH_NAME, server_name, within
from scanner.kube.ingress import Route
from scanner.kube.kinds import HTTP_PROXY, ROUTE, TLS_ROUTE
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Neighbour, OtherName

_MOST = 4
"""Most passthrough names that one backend is tested with."""

Through: TypeAlias = Mapping[tuple[str, int], Mapping[str, str]]
"""Result of ``passthrough.coming_through``."""


def other_names(facts: Facts, partial: Partial, through: Through) -> tuple[OtherName, ...]:
    """Other names to test at this address and port; only one endpoint there tests them, to save connections."""
    endpoint = partial.endpoint
    coming = through.get((endpoint.address, endpoint.port), {})
    if coming:
        return tuple(_of_passages(facts, endpoint, coming))
    if endpoint.segment == "Backend":
        return ()
    routed = (*_unknown_to_router(facts, partial), *_of_subdomain(facts, partial))
    if not _speaks_for_its_place(facts, endpoint):
        return (*_unadmitted(facts, partial), *routed)
    of_place = tuple(_of_gateway(facts, endpoint)) or tuple(_of_contour(facts, endpoint))
    return (*of_place, *_rejected_hosts(facts, endpoint), *routed)


def _of_passages(facts: Facts, endpoint: Endpoint, coming: Mapping[str, str]) -> Iterator[OtherName]:
    """The passthrough names that no endpoint of this place has as its own."""
    here = facts.at_place(endpoint)
    if (endpoint.server_name or "") != min((each.server_name or "" for each in here), default=""):
        return
    own = {each.server_name for each in here}
    for name, source in islice(sorted(coming.items()), _MOST):
        if name not in own:
            yield OtherName(name=name, owed="compared", because=source)


def _speaks_for_its_place(facts: Facts, endpoint: Endpoint) -> bool:
    return endpoint.server_name is not None and endpoint.server_name == facts.once(_first_names).get(
        (endpoint.address, endpoint.port)
    )


def _first_names(facts: Facts) -> Mapping[tuple[str, int], str]:
    """The first name at each address and port that must be served: nothing is asked beside one that is refused."""
    found: dict[tuple[str, int], str] = {}
    for place, here in facts.listening.items():
        fronts = ((each.server_name, each) for each in here if each.segment != "Backend" and each.server_name)
        for name, each in sorted(fronts, key=itemgetter(0)):
            if not rejection_of(facts, each) and not refusal_of(facts, each):
                found[place] = name
                break
    return found


def _of_gateway(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """Names by all Gateways at this place, because some implementations merge them. None if Ingresses or HTTPProxies
    are there too: they may answer every name, and validate no client."""
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
    """True if the listener is not for every name. With Passthrough the names of its TLSRoutes count, which v1alpha2
    allows to be missing; with Terminate it may be for a TCPRoute, which has none."""
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
    """The Gateways of ``endpoint`` and of the other endpoints at its place."""
    here = facts.at_place(endpoint)
    found = (each for one in (endpoint, *here) for each in gateways(facts.snapshot, one))
    return tuple({each.reference: each for each in found}.values())


def _of_contour(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """Names for Contour's Envoys; an Ingress of the same Envoy may test them, because it has the same filter chains."""
    here = _fronts(facts, endpoint)
    mine = [each for each in filter(None, (one.subject for one in here)) if each.kind == HTTP_PROXY.name]
    if not mine or any(_of_gateways(facts, each) for each in here):  # a Gateway listener may be for every name
        return
    proxies = map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY))
    if not any(each.tls.enable_fallback_certificate for each in proxies):
        because = f"{mine[0]} and all other HTTPProxies: none has enableFallbackCertificate"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NO_SUCH_NAME, None))


# --- Hosts that a status rejects, and names that a router does not know -----------------------------------------------


_MOST_REJECTED: Final = 20
"""Most rejected names that are tested at one place. Each costs one connection, or six if the connection is closed
without an alert."""
_Reasons = dict[str, str]
"""Server name to the reason why it is not served."""


def _rejected_hosts(facts: Facts, endpoint: Endpoint) -> tuple[OtherName, ...]:
    """The rejected hosts of the Gateways, or of Contour, at ``endpoint``'s place."""
    found = dict((*_rejected_by_gateways(facts, endpoint), *_rejected_by_contour(facts, endpoint)))
    beside = facts.at_place(endpoint)
    here = {each.server_name for each in beside if each.server_name not in found or not rejection_of(facts, each)}
    left = {name: why for name, why in found.items() if name not in here and not answered(facts, name, endpoint)}
    return tuple(_asked(left, "refused"))


def _unadmitted(facts: Facts, partial: Partial) -> tuple[OtherName, ...]:
    """Hosts of Routes that the router did not admit, for its endpoint without SNI."""
    router = router_name(facts, partial) if _shows_default(partial) else None
    return tuple(_asked(facts.once(_not_admitted).get(router, {}), "default")) if isinstance(router, str) else ()


def _shows_default(partial: Partial) -> bool:
    """True if it is a router's endpoint without SNI."""
    return (
        partial.implementation == "haproxy"
        and partial.endpoint.server_name is None
        and partial.endpoint.subject is None
    )


def _asked(found: _Reasons, expected: Literal["refused", "default"]) -> Iterator[OtherName]:
    for name in sorted(found)[:_MOST_REJECTED]:
        yield OtherName(name=name, owed=expected, because=found[name])
    if len(found) > _MOST_REJECTED:
        more = f"{len(found) - _MOST_REJECTED} more rejected names were not tested"
        yield OtherName(name=None, owed="unasked", because=more)


def _rejected_by_gateways(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    ports = {each.port for each in gateway_listeners(facts.snapshot, endpoint)}
    for gateway in gateways(facts.snapshot, endpoint):
        for listener in all_listeners(facts, gateway):
            name = server_name(listener.hostname)
            if listener.port in ports and name and (why := rejected(facts, listener)):
                yield name, why


def _rejected_by_contour(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    subject = endpoint.subject
    if subject is not None and subject.kind == HTTP_PROXY.name:
        yield from facts.once(_refused_proxies).items()


def _refused_proxies(facts: Facts) -> _Reasons:
    found: _Reasons = {}
    for proxy in map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY)):
        name = server_name(proxy.fqdn)
        if name and proxy.has_tls and (why := invalid(proxy)):
            found[name] = why
    return found


def _not_admitted(facts: Facts) -> Mapping[str, _Reasons]:
    """Hosts of rejected Routes by router, without hosts that another Route has there."""
    found: dict[str, _Reasons] = {}
    admitted: dict[str, set[str]] = {}
    for route in map(Route.of, facts.snapshot.every(ROUTE)):
        for ingress in route.ingresses:
            router, admission = ingress.router_name, ingress.admitted
            name = server_name(ingress.host or route.host)
            if admission is None or name is None:
                continue
            if admission.holds:
                admitted.setdefault(router, set()).add(_covered(route, name))
            elif route.has_tls:
                status = f"Admitted is {admission.status}, {admission.reason}"
                why = f"{route.reference} status.ingress[{router[:253]}]: {status}"
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
    """The host, or the wildcard of a Route for a subdomain (openshift/api route/v1, ``wildcardPolicy``)."""
    return f"*.{name.partition('.')[2]}" if route.is_subdomain else name


def _unknown_to_router(facts: Facts, partial: Partial) -> Iterator[OtherName]:
    """A name that no Route has, for the router's endpoint without SNI."""
    controller = controller_of(facts, partial) if _shows_default(partial) else None
    if controller is not None:
        yield OtherName(name=NO_SUCH_NAME, owed="default", because=f"{controller.reference}: no Route has this name")


def _of_subdomain(facts: Facts, partial: Partial) -> Iterator[OtherName]:
    """A name below the subdomain of a wildcard Route that no object lists."""
    endpoint, route = partial.endpoint, route_of(facts, partial)
    if partial.implementation != "haproxy" or route is None or partial.passed_on:
        return
    domain = (endpoint.server_name or "").partition(".")[2]
    router = router_name(facts, partial)
    known = not isinstance(router, Unknown)
    name = server_name(f"*.{domain}")  # None without a domain, and if that is too long for a name
    if name in (None, endpoint.server_name):
        return
    for each in route.ingresses:
        if not each.is_admitted or (known and each.router_name != router):
            continue
        if each.wildcard_policy == "Subdomain" and each.host.lower() == endpoint.server_name:
            where = f"status.ingress[{each.router_name[:253]}]"
            because = f"{route.reference} {where}.wildcardPolicy: Subdomain"
            yield OtherName(name=name, owed="same", because=because)
            return


_KINDS = frozenset({HTTP_PROXY.name, *HOLDER_NAMES})
_MOST_NEIGHBOURS = 3
"""Most tested neighbours: each costs two requests."""


def neighbours(facts: Facts, endpoint: Endpoint) -> tuple[Neighbour, ...]:
    """The neighbours of ``endpoint``, those that require a client certificate first. None if the endpoint requires one
    itself: the scanner cannot send a request there. Without a server name only guarded neighbours count: browsers share
    no connection without SNI."""
    if endpoint.expects == "required":
        return ()
    beside = (*_beside(facts, endpoint), *_beside_the_fallback(facts, endpoint))
    return tuple(sorted(beside, key=lambda each: (not each.guarded, each.name))[:_MOST_NEIGHBOURS])


def _beside(facts: Facts, endpoint: Endpoint) -> Iterator[Neighbour]:
    if not _served(facts, endpoint):
        return
    mine, wildcards = _apart(facts, endpoint), tuple(hostnames(facts, endpoint))
    for each in facts.at_place(endpoint):
        if each.server_name in (None, endpoint.server_name) or not _served(facts, each):
            continue
        guarded = each.expects == "required"
        if (guarded or endpoint.server_name) and mine.isdisjoint(_apart(facts, each)):
            name = each.server_name or ""
            yield Neighbour(
                name=name,
                guarded=guarded,
                because=str(each.subject),
                covered=any(not hostname or within(name, hostname) for hostname in wildcards),
            )


def _beside_the_fallback(facts: Facts, endpoint: Endpoint) -> Iterator[Neighbour]:
    """Virtual hosts that must not be served without a server name: all without ``enableFallbackCertificate``
    (Contour, ``internal/xdscache/v3/listener.go``); there is no 421 on that filter chain."""
    if falling_back(facts, endpoint) is None:
        return
    for each in facts.at_place(endpoint):
        proxy = proxy_of(facts, each)
        if proxy and each.server_name and proxy.has_routes and not proxy.tls.enable_fallback_certificate:
            yield Neighbour(name=each.server_name, guarded=each.expects == "required", because=str(each.subject))


def _served(facts: Facts, endpoint: Endpoint) -> bool:
    """True if a virtual host or listener terminates TLS there itself."""
    subject = endpoint.subject
    if subject is None or subject.kind not in _KINDS or endpoint.segment == "Backend":
        return False
    if subject.kind != HTTP_PROXY.name:
        return any(each.protocol == "HTTPS" for each in gateway_listeners(facts.snapshot, endpoint))
    proxy = proxy_of(facts, endpoint)
    return proxy is not None and proxy.has_routes


def _apart(facts: Facts, endpoint: Endpoint) -> frozenset[str]:
    """Its isolation from other names: its virtual host, or its Gateway listeners."""
    listeners = gateway_listeners(facts.snapshot, endpoint)
    names = frozenset(f"{each.holder.reference} {each.name}" for each in listeners)
    return names or frozenset({str(endpoint.subject)})
