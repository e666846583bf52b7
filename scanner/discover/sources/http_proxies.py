"""Contour's HTTPProxies: a name on its Envoys' TLS listener, and backends with TLS (projectcontour.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim, backend, frontend, reached
from scanner.discover.services import Service, published
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Place
from scanner.kube.contour import TLS_PROTOCOLS, ClientValidation, ContourConfiguration, HTTPProxy, upstream_protocol
from scanner.kube.hostnames import address, port, server_name, valid_names
from scanner.kube.kinds import CONTOUR_CONFIGURATION, HTTP_PROXY
from scanner.model.endpoint import Origin, Owner

MAX_SERVICES = 200
"""Limit of Services per HTTPProxy."""
_DEFAULT_ENVOY = ("projectcontour", "envoy")
"""Namespace and name of Envoy's Service, unless a ContourConfiguration has another."""


def _find(view: Index) -> Iterator[Found]:
    envoys = list(_envoys(view))
    for proxy in map(HTTPProxy.of, view.snapshot.every(HTTP_PROXY)):
        behind = list(_backends(view, proxy))
        yield from behind
        if proxy.has_tls and valid_names(proxy.name, proxy.namespace):
            yield from _front(view, proxy, envoys, samples=not reached(behind))


def _front(view: Index, proxy: HTTPProxy, envoys: list[Service], *, samples: bool) -> Iterator[Found]:
    name = server_name(proxy.fqdn)
    if name is None:
        yield Omission("server names that are not DNS names")
        return
    tls = proxy.tls
    claim = frontend(Origin(role="frontend", reference=proxy.reference), name, proxy)
    # Envoy has one filter chain per name: without a name it closes, unless a virtual host has a fallback certificate.
    claim.naming = "also" if tls.enable_fallback_certificate else "only"
    claim.sampled = tls.passthrough and samples
    if tls.has_client_validation:
        claim.expects = "requested" if _optional(tls.client_validation) else "required"
    yield from _at(view, proxy, envoys, claim)
    if tls.enable_fallback_certificate:
        yield from _at(view, proxy, envoys, _fallback(proxy))


def _fallback(proxy: HTTPProxy) -> Claim:
    """The claim of the fallback certificate, which Envoy serves to clients without a server name."""
    return Claim(
        certainty="declared",
        origin=Origin(role="fallback", reference=proxy.reference),
        naming="also",
        segment="Frontend",
        writer=proxy.namespace,
        beyond="fronts",
    )


def _optional(validation: ClientValidation) -> bool:
    """True if Envoy requests a client certificate but accepts clients without one: also if there is neither a CA nor
    verification."""
    skipped = validation.skip_client_cert_validation and not validation.ca_secret
    return skipped or validation.optional_client_certificate


def _at(view: Index, proxy: HTTPProxy, envoys: list[Service], claim: Claim) -> Iterator[Found]:
    hosts = list(published(proxy, view.cuts))
    for host in hosts:
        behind = list(view.behind(host, 443, claim))
        if behind:
            yield from behind
            return
    for service in envoys:
        service_port = service.port(443)
        if service_port:
            yield from view.through(service, service_port, claim)
            return
    owner = Owner(kind="HTTPProxy", name=proxy.name, namespace=proxy.namespace)
    for host in hosts:
        where = address(host)
        yield PlacedClaim(claim, Place(where or "", 443, host="" if where else host, owner=owner, sampled=True))
    if not hosts:
        yield Omission("HTTPProxies without an address")


def _envoys(view: Index) -> Iterator[Service]:
    every = map(ContourConfiguration.of, view.snapshot.every(CONTOUR_CONFIGURATION))
    named = [each.settings.envoy_service for each in every]
    keys = [(each.namespace, each.name) for each in named if each.name]
    for namespace, name in (*keys, _DEFAULT_ENVOY):
        service = view.services.get(namespace, name)
        if service:
            yield service


def _backends(view: Index, proxy: HTTPProxy) -> Iterator[Found]:
    """Services that Envoy connects to by TLS, and those behind passthrough."""
    passed = proxy.tls.passthrough
    fqdn = server_name(proxy.fqdn) if passed else None
    chosen = [(each, False) for each in proxy.routed_services]
    chosen += [(each, passed) for each in proxy.tcp_proxy.services]
    for each, through in view.cuts.first(chosen, MAX_SERVICES, "services of one HTTPProxy", proxy):
        found = view.services.with_port(proxy.namespace, each.name, port(each.raw_port))
        if found is None:
            continue
        service, service_port = found
        if through or upstream_protocol(each, service.raw, service_port.number) in TLS_PROTOCOLS:
            name = server_name(each.validation.subject_name) or fqdn
            origin = Origin(role="backend", reference=proxy.reference)
            yield from view.through(service, service_port, backend(origin, name, proxy.namespace))


SOURCE = Source(name="HTTPProxies", reads=(HTTP_PROXY, CONTOUR_CONFIGURATION), find=_find)
