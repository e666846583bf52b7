"""The Secrets that Gateways, Ingresses and HTTPProxies name for a listener, and whether each may be: a Secret of
another namespace only where its owner lets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeAlias

from scanner.expect import contour
from scanner.expect.contour_config import everywhere
from scanner.expect.facts import Facts
from scanner.expect.origins import gateway_listeners, led
from scanner.kube.kinds import HTTP_PROXY, INGRESS, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.model.delegations import secret_name
from scanner.model.endpoint import Endpoint
from scanner.model.known import Known, Unknown
from scanner.model.located import shown

_ELSEWHERE: Final = "projectcontour.io/tls-cert-namespace"
"""Annotation of an Ingress: the namespace of all of its Secrets, by a delegation (Contour 1.20)."""
_CLASS: Final = "kubernetes.io/ingress.class"
_CONTOURS_CLASS: Final = "projectcontour.io/ingress.class"

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
        for found, rest in led(facts.snapshot, endpoint, _KINDS)
        if not rest
    )
    for holder, listener in gateway_listeners(facts.snapshot, endpoint):
        yield from of_listener(facts, holder, listener)
    yield from _of_fallback(facts, endpoint)


def _of_fallback(facts: Facts, endpoint: Endpoint) -> Iterator[Reference]:
    """What Contour shows without a name; each HTTPProxy that wants it needs the delegation."""
    users = list(contour.fallback_users(facts, endpoint))
    said = everywhere(facts, endpoint.owner.namespace).fallback if users else ""
    namespace, _, name = said.partition("/")
    for proxy in users if name else ():
        allowed = facts.grants.to_contour(proxy, namespace, name)
        yield Reference(who=f"{proxy.reference} enableFallbackCertificate", secret=(namespace, name), allowed=allowed)


def of_listener(facts: Facts, holder: KubeObject, listener: Fields) -> Iterator[Reference]:
    """Those of one listener of a Gateway or ListenerSet, if it ends TLS itself."""
    if listener.text("tls", "mode") not in ("", "Terminate"):
        return
    for each in listener.each("tls", "certificateRefs"):
        if (each.text("kind") or "Secret", each.text("group")) == ("Secret", ""):
            secret = each.text("namespace") or holder.namespace or "", each.text("name")
            who = f"{holder.reference} listener {listener.text('name')}"
            yield Reference(who=who, secret=secret, allowed=facts.grants.to_gateway(holder, *secret))


def _of_ingress(facts: Facts, ingress: KubeObject, name: str | None) -> Iterator[Reference]:
    """Of each entry that lists the name; one without a Secret leaves it to the controller's default."""
    own, who = ingress.namespace or "", f"{ingress.reference} spec.tls"
    namespace, others = ingress.annotations.get(_ELSEWHERE) or own, _of_others(ingress)
    for each in ingress.each("spec", "tls"):
        if name in [host.lower() for host in each.texts("hosts")] and each.text("secretName"):
            found = _of_contour(facts, ingress, who, each.text("secretName"), namespace)
            if found.allowed is True or not others:
                yield found
            else:
                yield replace(found, allowed=Unknown(others))
                yield Reference(who=who, secret=(own, each.text("secretName")), allowed=True)


def _of_others(ingress: KubeObject) -> str:
    """Why its controller may be another one than Contour, to whom Contour's annotation says nothing. Whoever takes
    Ingresses without a class may be Contour."""
    said = ingress.text("spec", "ingressClassName") or ingress.annotations.get(_CLASS, "")
    if not said or "contour" in said or _CONTOURS_CLASS in ingress.annotations:
        return ""
    return f"only Contour reads {_ELSEWHERE}, and whether the class {shown(said)} is its is not known"


def _of_proxy(facts: Facts, proxy: KubeObject, name: str | None) -> Iterator[Reference]:
    said = proxy.text("spec", "virtualhost", "tls", "secretName")
    if name is not None and said:
        yield _of_contour(facts, proxy, f"{proxy.reference} spec.virtualhost.tls", said, proxy.namespace or "")


def _of_contour(facts: Facts, user: KubeObject, who: str, text: str, namespace: str) -> Reference:
    """Contour takes ``namespace/name``; nobody else's names have a slash."""
    named = secret_name(text, namespace)
    secret = named.namespace or "", named.name
    return Reference(who=who, secret=secret, allowed=facts.grants.to_contour(user, *secret))


_READERS: Mapping[Kind, Callable[[Facts, KubeObject, str | None], Iterator[Reference]]] = {
    INGRESS: _of_ingress,
    HTTP_PROXY: _of_proxy,
}
_KINDS: Mapping[str, Kind] = {each.name: each for each in _READERS}
