"""The Secrets that Gateways, Ingresses and HTTPProxies name for a listener, and whether each may be: a Secret of
another namespace only where its owner lets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from scanner.expect import contour
from scanner.expect.facts import Facts
from scanner.expect.origins import gateway_listeners, led
from scanner.files.source_positions import shown
from scanner.kube import references as links
from scanner.kube.gateway import Listener
from scanner.kube.ingress import TLS_CERT_NAMESPACE, ingress_class, is_contours
from scanner.kube.kinds import HTTP_PROXY, INGRESS, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link
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
    users = list(contour.fallback_users(facts, endpoint))
    fallback = contour.everywhere(facts, endpoint.owner.namespace).fallback if users else None
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
    contours = is_contours(ingress, facts.snapshot)
    doubt = _doubt(ingress) if contours is None else ""
    for link in links.links(ingress, contours=contours):
        if name in [host.lower() for host in link.hosts]:
            found = _of_link(facts, link, f"{ingress.reference} spec.tls")
            unknown = link.grant is not None and doubt and found.allowed is not True
            yield replace(found, allowed=Unknown(doubt)) if unknown else found


def _doubt(ingress: KubeObject) -> str:
    """Why its controller may be another one than Contour, to whom Contour's annotation says nothing. Whoever takes
    Ingresses without a class may be Contour."""
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
