"""The certificates that objects name for a listener and no other: of Routes, Ingresses, HTTPProxies and Gateways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from scanner.expect import contour
from scanner.expect.conditions import condition
from scanner.expect.contour_config import everywhere
from scanner.expect.draft import Draft
from scanner.expect.facts import ROUTER_NAMESPACE, Facts
from scanner.expect.ingress_controller import NAMESPACE, router_name
from scanner.expect.origins import gateway_listeners, led
from scanner.model.kinds import HTTP_PROXY, INGRESS, INGRESS_CONTROLLER, ROUTE, Kind
from scanner.model.known import Unknown
from scanner.model.objects import KubeObject
from scanner.model.snapshot import Snapshot

_ELSEWHERE: Final = "projectcontour.io/tls-cert-namespace"
"""Annotation of an Ingress: the namespace of all of its Secrets, by a delegation (Contour 1.20)."""

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a Secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What objects say of a listener's certificate."""

    secrets: tuple[Name, ...] = ()
    inline: tuple[tuple[str, str], ...] = ()
    """PEM that stands in an object itself, each behind its place."""
    default: Name | None = None
    """The Secret with what is served where the named certificate is not in use."""
    condition: str = ""
    """What the object's status says of it."""


def named(facts: Facts, draft: Draft) -> Named | None:
    """What ``draft``'s endpoint is to serve by name; None where no object says it."""
    if draft.endpoint.segment == "Backend":
        return None
    found = _routed(facts, draft) or _listed(facts, draft)
    return found if found and (found.secrets or found.inline) else None


# --- OpenShift's routers ----------------------------------------------------------------------------------------------


def _routed(facts: Facts, draft: Draft) -> Named | None:
    """A Route's own certificate, else the default one of the IngressController whose router it is (openshift/api
    route/v1, operator/v1); without a Route, what that router shows to whoever gives no name."""
    if draft.implementation != "haproxy":
        return None
    endpoint, router = draft.endpoint, router_name(facts, draft)
    default = None if isinstance(router, Unknown) else _default(facts.snapshot, router)
    subject = endpoint.subject
    if subject is None:
        return Named(secrets=(default,)) if default and endpoint.server_name is None else None
    route = facts.snapshot.get(ROUTE, subject.name, subject.namespace) if subject.kind == ROUTE.name else None
    if route is None or route.text("spec", "tls", "termination").lower() == "passthrough":
        return None
    external, pem = (route.text("spec", "tls", *steps) for steps in (("externalCertificate", "name"), ("certificate",)))
    if not external and not pem.strip():
        return Named(secrets=(default,)) if default else None
    return Named(
        secrets=((route.namespace or "", external),) if external else (),
        inline=() if external else ((f"{route.reference} spec.tls.certificate", pem),),
        default=default,
        condition="" if isinstance(router, Unknown) else _admission(route, router),
    )


def _default(snapshot: Snapshot, router: str) -> Name | None:
    controller = snapshot.get(INGRESS_CONTROLLER, router, NAMESPACE)
    if controller is None:
        return None
    return ROUTER_NAMESPACE, controller.text("spec", "defaultCertificate", "name") or f"router-certs-{router}"


def _admission(route: KubeObject, router: str) -> str:
    """What that router says of the Route."""
    for each in route.each("status", "ingress"):
        found = condition(each, "Admitted", "conditions")
        if each.text("routerName") == router and found is not None:
            reason = " ".join(filter(None, (found.reason, found.message)))[:300]
            return f"{route.reference} status.ingress[{router}]: Admitted is {found.holds}{reason and f', {reason}'}"
    return ""


# --- Everything else --------------------------------------------------------------------------------------------------


def _listed(facts: Facts, draft: Draft) -> Named | None:
    """What all objects that lead to this name say: any of it may be served."""
    secrets = dict.fromkeys(_of_objects(facts.snapshot, draft))
    fallback = contour.falling_back(facts, draft.endpoint)
    if fallback is not None:
        namespace, _, name = everywhere(facts, draft.endpoint.owner.namespace).fallback.partition("/")
        secrets.update({(namespace, name): None} if name else {})
    return Named(secrets=tuple(secrets)) if secrets else None


def _of_objects(snapshot: Snapshot, draft: Draft) -> Iterator[Name]:
    for found, rest in led(snapshot, draft.endpoint, _KINDS):
        if not rest:
            yield from _SECRETS[found.kind](found, draft.endpoint.server_name)
    for holder, listener in gateway_listeners(snapshot, draft.endpoint):
        if listener.text("tls", "mode") in ("", "Terminate"):
            for each in listener.each("tls", "certificateRefs"):
                if (each.text("kind") or "Secret", each.text("group")) == ("Secret", ""):
                    yield each.text("namespace") or holder.namespace or "", each.text("name")


def _of_ingress(ingress: KubeObject, name: str | None) -> Iterator[Name]:
    """Of each entry that lists the name; one without a Secret leaves it to the controller's default."""
    namespace = ingress.annotations.get(_ELSEWHERE) or ingress.namespace or ""
    for each in ingress.each("spec", "tls"):
        if name in [host.lower() for host in each.texts("hosts")] and each.text("secretName"):
            yield _split(each.text("secretName"), namespace)


def _of_proxy(proxy: KubeObject, name: str | None) -> Iterator[Name]:
    if name is not None and proxy.text("spec", "virtualhost", "tls", "secretName"):
        yield _split(proxy.text("spec", "virtualhost", "tls", "secretName"), proxy.namespace or "")


def _split(secret: str, namespace: str) -> Name:
    """Contour takes ``namespace/name`` (``internal/k8s/objectmeta.go``); nobody else's names have a slash."""
    before, slash, name = secret.partition("/")
    return (before, name) if slash else (namespace, secret)


_SECRETS: Mapping[Kind, Callable[[KubeObject, str | None], Iterator[Name]]] = {
    INGRESS: _of_ingress,
    HTTP_PROXY: _of_proxy,
}
_KINDS: Mapping[str, Kind] = {each.name: each for each in _SECRETS}
