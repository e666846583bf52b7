"""Secrets and inline certificates that objects name for a listener, and whether they may.

A Secret of another namespace may be named only where its owner allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from scanner.expect.contour import everywhere, fallback_users
from scanner.expect.facts import Facts, gateway_listeners, led
from scanner.expect.ingress_controller import route_of, router_name
from scanner.expect.partial_expectation import Draft
from scanner.files.source_positions import shown
from scanner.kube import references as links
from scanner.kube.gateway import Listener
from scanner.kube.ingress import (
    ROUTER_NAMESPACE,
    TLS_CERT_NAMESPACE,
    Route,
    ingress_class,
    ingress_controller,
    is_served_by_contour,
)
from scanner.kube.kinds import HTTP_PROXY, INGRESS, ROUTE, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a Secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One Secret that is named."""

    who: str
    """The object and field that name it: ``Gateway/edge/front listener one``."""
    secret: Name
    allowed: Known[bool]


def references(facts: Facts, endpoint: Endpoint) -> Iterator[Reference]:
    """Every Secret that an object names for what ``endpoint`` serves; any of those that are allowed may be served."""
    yield from chain.from_iterable(
        _READERS[found.kind](facts, found, endpoint.server_name)
        for found, origin in led(facts.snapshot, endpoint, _KINDS)
        if origin.role == "frontend"
    )
    for listener in gateway_listeners(facts.snapshot, endpoint):
        yield from of_listener(facts, listener)
    yield from _of_fallback(facts, endpoint)


def _of_fallback(facts: Facts, endpoint: Endpoint) -> Iterator[Reference]:
    """What Contour shows without a name; each HTTPProxy that wants it needs the delegation."""
    users = list(fallback_users(facts, endpoint))
    fallback = everywhere(facts, endpoint.owner.namespace).fallback if users else None
    secret = (fallback.namespace or "", fallback.name) if fallback else ("", "")
    for proxy in users if fallback else ():
        allowed = facts.grants.to_contour(proxy, *secret)
        yield Reference(who=f"{proxy.reference} enableFallbackCertificate", secret=secret, allowed=allowed)


def of_listener(facts: Facts, listener: Listener) -> Iterator[Reference]:
    """Those of one listener of a Gateway or ListenerSet, if it ends TLS itself."""
    if listener.mode not in ("", "Terminate"):
        return
    who = f"{listener.holder.reference} listener {listener.name}"
    for link in links.of_listener(listener.holder, listener):
        if link.is_secret:
            secret = link.namespace or "", link.name
            yield Reference(who=who, secret=secret, allowed=facts.grants.to_gateway(listener.holder, *secret))


def _of_ingress(facts: Facts, ingress: KubeObject, name: str | None) -> Iterator[Reference]:
    """Of each entry that lists the name; one without a Secret leaves it to the controller's default."""
    of_contour = is_served_by_contour(ingress, facts.snapshot)
    doubt = _doubt(ingress) if of_contour is None else ""
    for link in links.links(ingress, of_contour=of_contour):
        if name in [host.lower() for host in link.hosts]:
            found = _of_link(facts, link, f"{ingress.reference} spec.tls")
            unknown = link.grant is not None and doubt and found.allowed is not True
            yield replace(found, allowed=Unknown(doubt)) if unknown else found


def _doubt(ingress: KubeObject) -> str:
    """Why its controller may be one that does not read Contour's annotation. One for Ingresses without a class may be
    Contour."""
    said = ingress_class(ingress)
    return (
        f"only Contour reads {TLS_CERT_NAMESPACE}, and whether the class {shown(said)} is its is not known"
        if said
        else ""
    )


def _of_proxy(facts: Facts, proxy: KubeObject, name: str | None) -> Iterator[Reference]:
    for link in links.links(proxy) if name is not None else ():
        if link.role == "certificate":
            yield _of_link(facts, link, f"{proxy.reference} spec.virtualhost.tls")


def _of_link(facts: Facts, link: Link, who: str) -> Reference:
    secret = link.namespace or "", link.name
    allowed = True if link.grant is None else facts.grants.to_contour(link.source, *secret)
    return Reference(who=who, secret=secret, allowed=allowed)


_READERS: Mapping[Kind, Callable[[Facts, KubeObject, str | None], Iterator[Reference]]] = {
    INGRESS: _of_ingress,
    HTTP_PROXY: _of_proxy,
}
_KINDS: Mapping[str, Kind] = {each.name: each for each in _READERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSecrets:
    """What objects say of a listener's certificate."""

    secrets: tuple[Name, ...] = ()
    inline: tuple[tuple[str, str], ...] = ()
    """PEM that stands in an object itself, each behind its place."""
    behind: str = ""
    """PEM that is sent behind what the Secrets have."""
    default: Name | None = None
    """The Secret with what is served where the named certificate is not in use."""
    condition: str = ""
    """What the object's status says of it."""
    refused: tuple[Reference, ...] = ()
    """What is named without a grant, or with an unknown one; of these ``secrets`` has only the latter."""


def declared_secrets(facts: Facts, draft: Draft) -> DeclaredSecrets | None:
    """What ``draft``'s endpoint is to serve by name; None where no object says it."""
    if draft.endpoint.segment == "Backend":
        return None
    found = _routed(facts, draft) or _listed(facts, draft)
    return found if found.secrets or found.inline or found.refused else None


# --- OpenShift's routers ----------------------------------------------------------------------------------------------


def _routed(facts: Facts, draft: Draft) -> DeclaredSecrets | None:
    """A Route's own certificate, else the default one of the IngressController whose router it is (openshift/api
    route/v1, operator/v1); without a Route, what that router shows to a client without SNI."""
    if draft.implementation != "haproxy":
        return None
    endpoint, router = draft.endpoint, router_name(facts, draft)
    default = None if isinstance(router, Unknown) else _default(facts.snapshot, router)
    if endpoint.subject is None:
        return DeclaredSecrets(secrets=(default,)) if default and endpoint.server_name is None else None
    route = route_of(facts, draft)
    if route is None or route.termination == "passthrough":
        return None
    own = [_own(each) for each in (route, *_of_one_host(facts.snapshot, endpoint, route))]
    given = [each for each in own if each is not None]
    if not given:
        return DeclaredSecrets(secrets=(default,)) if default else None
    return DeclaredSecrets(
        secrets=tuple(name for each in given for name in each.secrets),
        inline=tuple(text for each in given for text in each.inline),
        behind=next((each.behind for each in given if each.secrets), ""),
        default=default,
        condition="" if isinstance(router, Unknown) else _admission(route, router),
    )


def _own(route: Route) -> DeclaredSecrets | None:
    """The certificate of one Route."""
    pem, behind = route.inline_certificate, route.tls.ca_certificate
    if route.external_secret:
        return DeclaredSecrets(secrets=((route.namespace or "", route.external_secret),), behind=behind)
    place = f"{route.reference} spec.tls.certificate"
    return DeclaredSecrets(inline=((place, f"{pem}\n{behind}"),)) if pem.strip() else None


def _of_one_host(snapshot: Snapshot, endpoint: Endpoint, first: Route) -> Iterator[Route]:
    """Further Routes with the endpoint's name, each with a path of its own. For one host the router has one list of
    certificates, and any may come first; a Route without one adds none (haproxy-config.template, cert_config.map)."""
    for route, origin in led(snapshot, endpoint, {ROUTE.name: ROUTE}):
        shown = origin.role == "frontend" and origin.part in ("edge", "reencrypt")
        if route.reference != first.reference and shown:
            yield Route.of(route)


def _default(snapshot: Snapshot, router: str) -> Name | None:
    controller = ingress_controller(snapshot, router)
    return None if controller is None else (ROUTER_NAMESPACE, controller.certificate)


def _admission(route: Route, router: str) -> str:
    """What that router says of the Route."""
    for each in route.ingresses:
        found = each.admitted
        if each.router_name == router and found is not None:
            reason = " ".join(filter(None, (found.reason, found.message)))[:300]
            return f"{route.reference} status.ingress[{router}]: Admitted is {found.holds}{reason and f', {reason}'}"
    return ""


# --- Everything else --------------------------------------------------------------------------------------------------


def _listed(facts: Facts, draft: Draft) -> DeclaredSecrets:
    """What all objects that lead to this name say: any of it may be served, unless its owner does not let them."""
    every = tuple(references(facts, draft.endpoint))
    allowed = {each.secret for each in every if each.allowed is True}
    refused = tuple(each for each in every if each.allowed is not True and each.secret not in allowed)
    unsure = (each.secret for each in refused if isinstance(each.allowed, Unknown))
    declared_secrets = dict.fromkeys((*(each.secret for each in every if each.secret in allowed), *unsure))
    return DeclaredSecrets(secrets=tuple(declared_secrets), refused=refused)
