"""The certificates that objects name for a listener and no other: Routes, routers, and what ``references`` has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import route_of, router_name
from scanner.expect.origins import led
from scanner.expect.references import Name, Reference, references
from scanner.kube.ingress import ROUTER_NAMESPACE, Route, ingress_controller
from scanner.kube.kinds import ROUTE
from scanner.kube.maybe import Unknown
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
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
    """What is named, and may not be, or nobody knows whether it may; of these ``secrets`` has only the latter."""


def named(facts: Facts, draft: Draft) -> Named | None:
    """What ``draft``'s endpoint is to serve by name; None where no object says it."""
    if draft.endpoint.segment == "Backend":
        return None
    found = _routed(facts, draft) or _listed(facts, draft)
    return found if found.secrets or found.inline or found.refused else None


# --- OpenShift's routers ----------------------------------------------------------------------------------------------


def _routed(facts: Facts, draft: Draft) -> Named | None:
    """A Route's own certificate, else the default one of the IngressController whose router it is (openshift/api
    route/v1, operator/v1); without a Route, what that router shows to whoever gives no name."""
    if draft.implementation != "haproxy":
        return None
    endpoint, router = draft.endpoint, router_name(facts, draft)
    default = None if isinstance(router, Unknown) else _default(facts.snapshot, router)
    if endpoint.subject is None:
        return Named(secrets=(default,)) if default and endpoint.server_name is None else None
    route = route_of(facts, draft)
    if route is None or route.termination == "passthrough":
        return None
    own = [_own(each) for each in (route, *_of_one_host(facts.snapshot, endpoint, route))]
    given = [each for each in own if each is not None]
    if not given:
        return Named(secrets=(default,)) if default else None
    return Named(
        secrets=tuple(name for each in given for name in each.secrets),
        inline=tuple(text for each in given for text in each.inline),
        behind=next((each.behind for each in given if each.secrets), ""),
        default=default,
        condition="" if isinstance(router, Unknown) else _admission(route, router),
    )


def _own(route: Route) -> Named | None:
    """The certificate of one Route."""
    pem, behind = route.inline_certificate, route.tls.ca_certificate
    if route.external_secret:
        return Named(secrets=((route.namespace or "", route.external_secret),), behind=behind)
    place = f"{route.reference} spec.tls.certificate"
    return Named(inline=((place, f"{pem}\n{behind}"),)) if pem.strip() else None


def _of_one_host(snapshot: Snapshot, endpoint: Endpoint, first: Route) -> Iterator[Route]:
    """Further Routes with the endpoint's name, each with a path of its own. For one host the router has one list of
    certificates, of which any may come first; whoever has none adds none (haproxy-config.template, cert_config.map)."""
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


def _listed(facts: Facts, draft: Draft) -> Named:
    """What all objects that lead to this name say: any of it may be served, unless its owner does not let them."""
    every = tuple(references(facts, draft.endpoint))
    allowed = {each.secret for each in every if each.allowed is True}
    refused = tuple(each for each in every if each.allowed is not True and each.secret not in allowed)
    unsure = (each.secret for each in refused if isinstance(each.allowed, Unknown))
    named = dict.fromkeys((*(each.secret for each in every if each.secret in allowed), *unsure))
    return Named(secrets=tuple(named), refused=refused)
