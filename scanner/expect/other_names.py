"""Server names beside an endpoint's own of which objects say what the place owes them.

A Gateway's port with TLS listeners alone, and Contour's Envoys unless somebody wants the fallback certificate, refuse
what no object names (Gateway API conformance, ``tlsroute-hostname-intersection``; Contour ``internal/xdscache/v3``,
one filter chain a name). Where HTTPS listeners validate clients, no name leads around that (GEP-91).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from scanner.expect import routed_names, unserved
from scanner.expect.client_validation import frontend_validation
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.origins import admitted_listeners, gateway_listeners, gateways, routes
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import Gateway, Listener
from scanner.kube.kinds import HTTP_PROXY, TLS_ROUTE
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import OtherName
from scanner.model.server_names import NOBODYS

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
    routed = (*routed_names.of_router(facts, draft), *routed_names.of_subdomain(facts, draft))
    if not _speaks_for_its_place(facts, endpoint):
        return (*unserved.of_router(facts, draft), *routed)
    of_place = tuple(_of_gateway(facts, endpoint)) or tuple(_of_contour(facts, endpoint))
    return (*of_place, *unserved.of_place(facts, endpoint), *routed)


def _of_passages(facts: Facts, endpoint: Endpoint, coming: Mapping[str, str]) -> Iterator[OtherName]:
    """The names that come through to it and that no endpoint of this place has for its own."""
    here = facts.listening.get((endpoint.address, endpoint.port), ())
    if (endpoint.server_name or "") != min((each.server_name or "" for each in here), default=""):
        return
    own = {each.server_name for each in here}
    for name, source in islice(sorted(coming.items()), _MOST):
        if name not in own:
            yield OtherName(name=name, owed="compared", because=source)


def _speaks_for_its_place(facts: Facts, endpoint: Endpoint) -> bool:
    fronts = [each for each in facts.listening.get((endpoint.address, endpoint.port), ()) if each.segment != "Backend"]
    names = sorted(each.server_name for each in fronts if each.server_name)
    return endpoint.server_name is not None and endpoint.server_name == next(iter(names), None)


def _of_gateway(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """By all Gateways that one proxy serves at this place: some implementations merge them. What else it serves there
    (Ingresses, HTTPProxies) may answer every name, and has nobody validated."""
    if any(not _of_gateways(facts, each) for each in _fronts(facts, endpoint)):
        return
    ports = {each.port for each in gateway_listeners(facts.snapshot, endpoint)}
    merged = _merged(facts, endpoint) if ports else ()
    every = [each for gateway in merged for each in admitted_listeners(facts, gateway)]
    beside = [each for each in every if each.port in ports]
    if beside and all(each.protocol == "TLS" and _has_a_name(facts, each) for each in beside):
        because = f"{merged[0].reference} spec.listeners: all on this port are of protocol TLS"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NOBODYS, None))
    elif beside and all(each.protocol == "HTTPS" for each in beside):
        fields = [frontend_validation(each, next(iter(ports))) for each in merged]
        if all(fields):
            because = f"{merged[0].reference} {fields[0]}"
            yield from (OtherName(name=name, owed="validated", because=because) for name in (NOBODYS, None))


def _has_a_name(facts: Facts, listener: Listener) -> bool:
    """Whether it is not for every name. What is passed through goes by the names of its TLSRoutes, which v1alpha2 lets
    have none; what is terminated may be a TCPRoute's, which has none."""
    if listener.hostname:
        return True
    if listener.mode != "Passthrough" or facts.snapshot.gap(TLS_ROUTE):
        return False
    return all(any(each.every_hostname) for each in routes(facts).on(listener))


def _fronts(facts: Facts, endpoint: Endpoint) -> list[Endpoint]:
    here = facts.listening.get((endpoint.address, endpoint.port), ())
    return [each for each in here if each.segment != "Backend" and each.subject is not None]


def _of_gateways(facts: Facts, endpoint: Endpoint) -> bool:
    return next(gateway_listeners(facts.snapshot, endpoint), None) is not None


def _merged(facts: Facts, endpoint: Endpoint) -> tuple[Gateway, ...]:
    """The Gateways of ``endpoint``, and of whatever else is at its place."""
    here = facts.listening.get((endpoint.address, endpoint.port), ())
    found = (each for one in (endpoint, *here) for each in gateways(facts.snapshot, one))
    return tuple({each.reference: each for each in found}.values())


def _of_contour(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    """Whoever speaks for the place may be an Ingress of the same Envoy's, for which Contour makes such a chain, too."""
    here = _fronts(facts, endpoint)
    mine = [each.subject for each in here if each.subject is not None and each.subject.kind == HTTP_PROXY.name]
    if not mine or any(_of_gateways(facts, each) for each in here):  # a listener of which may be for every name
        return
    proxies = map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY))
    if not any(each.tls.enable_fallback_certificate for each in proxies):
        because = f"{mine[0]} and all other HTTPProxies: none has enableFallbackCertificate"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NOBODYS, None))
