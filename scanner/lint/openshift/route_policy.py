"""Routes against what their IngressController asks of all: client certificates, and who may take a whole subdomain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from scanner.kube.kinds import INGRESS_CONTROLLER, ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.openshift.routes import TLS, has_tls, terminates, termination
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_MOST: Final = 50
_CLIENTS: Final = ("spec", "clientTLS", "clientCertificatePolicy")
_WILDCARDS: Final = ("spec", "routeAdmission", "wildcardPolicy")
_OWNERSHIP: Final = ("spec", "routeAdmission", "namespaceOwnership")


def controllers(declared: Declared, route: KubeObject) -> tuple[KubeObject, ...]:
    """The IngressControllers that have looked at a Route; of one without status, all that are known."""
    names, known = _routers(route), declared.every(INGRESS_CONTROLLER)
    return tuple(islice((each for each in known if not names or each.name in names), _MOST))


def _routers(route: KubeObject) -> set[str]:
    """The names of those that have looked at it."""
    return {each.text("routerName") for each in islice(route.each("status", "ingress"), _MOST)}


def _unseen(declared: Declared, route: KubeObject) -> Missing | None:
    """An IngressController that the Route may have, and nobody saw."""
    names, gap = _routers(route), declared.gap(INGRESS_CONTROLLER)
    if gap is None or (names and names <= {each.name for each in declared.every(INGRESS_CONTROLLER)}):
        return None
    return Missing(name=INGRESS_CONTROLLER.name, gap=gap)


def shared_between_namespaces(declared: Declared, route: KubeObject) -> bool:
    """Whether Routes of several namespaces may have paths of one host."""
    found = controllers(declared, route)
    return bool(found) and all(each.text(*_OWNERSHIP) == "InterNamespaceAllowed" for each in found)


def check_clients(subject: Subject) -> Iterator[Flaw]:
    """Every way into a Route asks for the client certificate that its IngressController requires."""
    route, declared = subject.object, subject.declared
    way = _way_in(route)
    if way is None:
        return
    asking = [each for each in controllers(declared, route) if each.text(*_CLIENTS) == "Required"]
    if asking:
        at, plain = way
        what = "in plain text nobody is asked for" if plain else "what is passed through never shows the router"
        yield Flaw(
            message=f"{what} the client certificate that {asking[0].reference} requires",
            at=at,
            severity="medium" if plain else "low",
            fix="write insecureEdgeTerminationPolicy: Redirect" if plain else "let the backend ask for certificates",
        )
    elif missing := _unseen(declared, route):
        yield replace(undecided(missing, way[0], "whether a client certificate is required"), severity="info")


def _way_in(route: KubeObject) -> tuple[tuple[str, ...], bool] | None:
    """The field by which a Route lets in who shows no certificate, and whether that is in plain text."""
    policy = (*TLS, "insecureEdgeTerminationPolicy")
    if not has_tls(route):
        return TLS, True
    if terminates(route) and route.text(*policy) == "Allow":
        return policy, True
    return ((*TLS, "termination"), False) if termination(route) == "passthrough" else None


def check_wildcard(subject: Subject) -> Iterator[Flaw]:
    """A Route that takes a whole subdomain is one that its IngressController admits."""
    route, declared = subject.object, subject.declared
    if route.text("spec", "wildcardPolicy") != "Subdomain":
        return
    at = ("spec", "wildcardPolicy")
    found = controllers(declared, route)
    if any(each.text(*_WILDCARDS) == "WildcardsAllowed" for each in found):
        return
    if missing := _unseen(declared, route):
        yield undecided(missing, at, "whether wildcards are admitted")
    else:
        yield Flaw(
            message="no IngressController admits wildcards (routeAdmission.wildcardPolicy is WildcardsDisallowed)",
            at=at,
            observed=tuple(str(each.reference) for each in found[:5]),
            fix="allow wildcards in the IngressController, or make a Route for each host",
        )


CLIENTS = ObjectRule(
    id="route-client-certificates",
    subjects=(ROUTE,),
    check=check_clients,
    reads=(INGRESS_CONTROLLER,),
)
WILDCARD = ObjectRule(
    id="route-wildcard",
    subjects=(ROUTE,),
    check=check_wildcard,
    reads=(INGRESS_CONTROLLER,),
)
