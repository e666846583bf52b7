"""Gateways and ListenerSets: listeners with protocol HTTPS or TLS, by hostname (gateway.networking.k8s.io/v1).

Segments are called as GEP-2907 has them: the listener is Frontend; what a TLSRoute on a passthrough listener leads to
is Backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from scanner.discover.balanced import READS as BALANCED
from scanner.discover.claims import backend
from scanner.discover.draft import Claim, Draft, Found, Omission, Place, Source, reached
from scanner.discover.gateway_routes import Routes
from scanner.discover.names import address, port, server_name, sound
from scanner.discover.view import View
from scanner.kube.hostnames import within
from scanner.kube.kinds import GATEWAY, GRPC_ROUTE, HTTP_ROUTE, LISTENER_SET, TLS_ROUTE, X_LISTENER_SET
from scanner.kube.label_selector import LabelSelector
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Origin, Owner
from scanner.model.observation import ClientCertificate

GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
"""The label on what an implementation makes for a Gateway (GEP-1762)."""
MAX_LISTENERS = 128
"""Of one Gateway or ListenerSet; the API allows 64."""
MAX_ADDRESSES = 32
_LISTENERS = "listeners of one Gateway or ListenerSet"


class _AllRoutes(NamedTuple):
    """By what they lead through."""

    tls: Routes
    http: Routes


def _find(view: View) -> Iterator[Found]:
    routes = _AllRoutes(
        tls=Routes(view.snapshot, view.cuts, "TLS", TLS_ROUTE),
        http=Routes(view.snapshot, view.cuts, "HTTPS", HTTP_ROUTE, GRPC_ROUTE),
    )
    for gateway in view.snapshot.every(GATEWAY):
        if sound(gateway.name, gateway.namespace or ""):
            yield from _of(view, gateway, gateway, routes)
    for kind in (LISTENER_SET, X_LISTENER_SET):
        for listeners in view.snapshot.every(kind):
            parent = _parent(view, listeners)
            if parent is None or _refused(listeners, "status", "conditions"):
                yield Omission("ListenerSets that belong to no Gateway")
            else:
                yield from _of(view, listeners, parent, routes)


def _parent(view: View, listeners: KubeObject) -> KubeObject | None:
    parent = listeners.fields("spec", "parentRef")
    namespace = parent.text("namespace") or listeners.namespace
    return view.snapshot.get(GATEWAY, parent.text("name"), namespace)


def _of(view: View, holder: KubeObject, gateway: KubeObject, routes: _AllRoutes) -> Iterator[Found]:
    """``holder``: the Gateway itself or a ListenerSet of it."""
    status = _statuses(holder)
    served = {
        port(each.at("port"))
        for each in holder.each("spec", "listeners")
        if not _refused(status.get(each.text("name"), Fields({})), "conditions")
    }
    for listener in view.cuts.first(holder.each("spec", "listeners"), MAX_LISTENERS, _LISTENERS, holder):
        number, passes = port(listener.at("port")), listener.text("tls", "mode") == "Passthrough"
        if listener.text("protocol") not in ("HTTPS", "TLS") and not listener.fields("tls").raw:
            yield Omission("Gateway listeners without TLS")
        elif number is None or _refused(status.get(listener.text("name"), Fields({})), "conditions"):
            # Where the port has another listener, that one is asked for this name too.
            if number is None or number in served:
                yield Omission("Gateway listeners that are not accepted")
            else:
                yield from _at(view, gateway, number, _alone(holder, listener))
        else:
            attached = routes.tls.attached(holder, listener)
            behind = list(_backends(view, routes.tls, attached)) if passes else []
            sampled = passes and not reached(behind)
            for claim in _names(routes, holder, gateway, listener, attached):
                claim.sampled = sampled
                yield from _at(view, gateway, number, claim)
            yield from behind


def _refused(status: Fields, *conditions: str) -> bool:
    """Whether its controller says no. One that has not said anything yet may well listen."""
    said = {each.text("type"): each.text("status") for each in status.each(*conditions)}
    return said.get("Accepted") == "False" or said.get("Conflicted") == "True"


def _names(
    routes: _AllRoutes, holder: KubeObject, gateway: KubeObject, listener: Fields, attached: list[KubeObject]
) -> Iterator[Claim]:
    """The names that lead to this listener: its TLSRoutes' where it has any, else one of its own, else none."""
    origin = _origin(holder, listener)
    others = _narrower(holder, gateway, listener)
    own = server_name(_one_of(routes.http, holder, listener, others))
    https = listener.text("protocol") == "HTTPS"  # no other protocol validates (GEP-91)
    expects = _client_certificate(gateway, port(listener.at("port"))) if https else None
    named = 0
    for route in attached:
        for host in routes.tls.hostnames(route, listener.text("hostname")):
            if any(within(host, each) for each in others):
                continue
            yield _claim(replace(origin, through=route.reference), host, route, expects)
            named += 1
    if not named:
        claim = _claim(origin, own, holder, expects)
        if not own and not listener.text("hostname") and (attached or listener.text("tls", "mode") != "Passthrough"):
            claim.naming = "also"  # it answers whoever gives no name, beside those that have one
        yield claim


def _one_of(routes: Routes, holder: KubeObject, listener: Fields, others: set[str]) -> str:
    """The listener's hostname; where it has many names, of which routes take only some, the first of those that none of
    the ``others`` has.

    Contour has Envoy show a certificate for the names of routes, and for no others (``EnsureSecureVirtualHost``).
    """
    own = listener.text("hostname").lower()
    if own and not own.startswith("*."):
        return own
    every = {name for route in routes.attached(holder, listener) for name in routes.takes(route, own)}
    taken = {name for name in every if name == own or not any(within(name, each) for each in others)}
    return own if own in taken or not taken else min(taken, key=lambda name: (name.startswith("*."), name))


def _narrower(holder: KubeObject, gateway: KubeObject, listener: Fields) -> set[str]:
    """Hostnames of the port's other listeners that get what they match of this one's (Gateway API, most specific
    hostname)."""
    own = listener.text("hostname").lower()
    return {
        hostname
        for each in (holder, gateway)
        for status in [_statuses(each)]
        for other in each.each("spec", "listeners")
        if other.at("port") == listener.at("port")
        and (hostname := other.text("hostname").lower()) not in ("", own)
        and (not own or within(hostname, own))
        and not _refused(status.get(other.text("name"), Fields({})), "conditions")
    }


def _statuses(holder: KubeObject) -> dict[str, Fields]:
    return {each.text("name"): each for each in holder.each("status", "listeners")}


def _alone(holder: KubeObject, listener: Fields) -> Claim:
    """Nothing should be there: whoever looks makes sure of it."""
    claim = _claim(_origin(holder, listener), server_name(listener.text("hostname")), holder, None)
    claim.certainty = "candidate"
    return claim


def _origin(holder: KubeObject, listener: Fields) -> Origin:
    return Origin(role="listener", reference=holder.reference, part=listener.text("name"))


def _claim(origin: Origin, name: str | None, subject: KubeObject, expects: ClientCertificate | None) -> Claim:
    # A proxy has no other listener for whoever gives no name: it would close the connection.
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


def _client_certificate(gateway: KubeObject, number: int | None) -> ClientCertificate | None:
    """``spec.tls.frontend``: the port's own validation replaces the default's; for HTTPS only."""
    frontend = gateway.fields("spec", "tls", "frontend")
    chosen = frontend.fields("default")
    for each in frontend.each("perPort"):
        if port(each.at("port")) == number:
            chosen = each.fields("tls")
    if not chosen.has("validation"):
        return None
    return "requested" if chosen.text("validation", "mode") == "AllowInsecureFallback" else "required"


def _at(view: View, gateway: KubeObject, number: int, claim: Claim) -> Iterator[Found]:
    """Behind the Services that were made for the Gateway; else behind its addresses; else at its addresses."""
    chosen = view.balanced.select(gateway.namespace or "", LabelSelector({"matchLabels": {GATEWAY_NAME: gateway.name}}))
    for service in chosen:
        wanted = service.port(number)
        if wanted:
            yield from view.through(service, wanted, claim)
            return
    found = [each for each in _hosts(view, gateway) if each]
    if not found:
        yield Omission("Gateways without an address")
    for host in found:
        behind = list(view.behind(host, number, claim))
        where = address(host)
        owner = Owner(kind="Gateway", name=gateway.name, namespace=gateway.namespace)
        place = Place(where or "", number, host="" if where else host, owner=owner, sampled=True)
        yield from behind or [Draft(claim, place)]


def _hosts(view: View, gateway: KubeObject) -> Iterator[str | None]:
    for each in view.cuts.first(
        gateway.each("status", "addresses"), MAX_ADDRESSES, "addresses of one Gateway", gateway
    ):
        value = each.text("value")
        yield address(value) or server_name(value)


def _backends(view: View, routes: Routes, attached: list[KubeObject]) -> Iterator[Found]:
    for route in attached:
        origin = Origin(role="backend", reference=route.reference)
        for namespace, name, number in routes.backends(route):
            service = view.balanced.get(namespace, name)
            wanted = service.port(number) if service else None
            if service and wanted:
                hosts = route.texts("spec", "hostnames")
                name_of = server_name(hosts[0]) if hosts else None
                yield from view.through(service, wanted, backend(origin, name_of, route.namespace))


_READS = (GATEWAY, LISTENER_SET, X_LISTENER_SET, TLS_ROUTE, HTTP_ROUTE, GRPC_ROUTE)
SOURCE = Source(name="Gateways", reads=(*_READS, *BALANCED), find=_find)
