"""Routes and their IngressControllers: who else has the host, whether the default certificate covers it, who may take a
subdomain, and which client certificates are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from scanner.kube.ingress import IngressController, Route
from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER, ROUTE
from scanner.lint import references
from scanner.lint.openshift.ingress_controllers import uncovered
from scanner.model.declared import Declared, Missing
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_HOST: Final = ("spec", "host")
_OTHERS: Final = 50
"""Routes of one host that are looked at."""
_TLS: Final = ("spec", "tls")
_MOST: Final = 50


def controllers(declared: Declared, route: Route) -> tuple[IngressController, ...]:
    """The IngressControllers that have looked at a Route; of one without status, all that are known."""
    names, known = _routers(route), map(IngressController.of, declared.every(INGRESS_CONTROLLER))
    return tuple(islice((each for each in known if not names or each.name in names), _MOST))


def _routers(route: Route) -> set[str]:
    """The names of those that have looked at it."""
    return {each.router_name for each in islice(route.ingresses, _MOST)}


def _unseen(declared: Declared, route: Route) -> Missing | None:
    """An IngressController that the Route may have, and nobody saw."""
    names, gap = _routers(route), declared.gap(INGRESS_CONTROLLER)
    if gap is None or (names and names <= {each.name for each in declared.every(INGRESS_CONTROLLER)}):
        return None
    return Missing(name=INGRESS_CONTROLLER.name, gap=gap)


def shared_between_namespaces(declared: Declared, route: Route) -> bool:
    """Whether Routes of several namespaces may have paths of one host."""
    found = controllers(declared, route)
    return bool(found) and all(each.namespace_ownership == "InterNamespaceAllowed" for each in found)


def check_clients(subject: Subject) -> Iterator[Flaw]:
    """Every way into a Route asks for the client certificate that its IngressController requires."""
    route, declared = Route.of(subject.object), subject.declared
    way = _way_in(route)
    if way is None:
        return
    asking = [each for each in controllers(declared, route) if each.client_tls.policy == "Required"]
    if asking:
        at, plain = way
        what = (
            "a plaintext client is never asked for"
            if plain
            else "the router does not terminate TLS here and never sees"
        )
        yield Flaw(
            message=f"{what} the client certificate that {asking[0].reference} requires",
            at=at,
            severity="medium" if plain else "low",
            fix="write insecureEdgeTerminationPolicy: Redirect"
            if plain
            else "let the backend require client certificates",
        )
    elif missing := _unseen(declared, route):
        yield replace(undecided(missing, way[0], "whether a client certificate is required"), severity="info")


def _way_in(route: Route) -> tuple[tuple[str, ...], bool] | None:
    """The field by which a Route lets in who shows no certificate, and whether that is in plain text."""
    if not route.has_tls:
        return _TLS, True
    if route.is_terminated and route.tls.insecure_policy == "Allow":
        return (*_TLS, "insecureEdgeTerminationPolicy"), True
    return ((*_TLS, "termination"), False) if route.termination == "passthrough" else None


def check_wildcard(subject: Subject) -> Iterator[Flaw]:
    """A Route that takes a whole subdomain is one that its IngressController admits."""
    route, declared = Route.of(subject.object), subject.declared
    if not route.is_subdomain:
        return
    at = ("spec", "wildcardPolicy")
    found = controllers(declared, route)
    if any(each.wildcard_policy == "WildcardsAllowed" for each in found):
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


# --- Hosts ------------------------------------------------------------------------------------------------------------


def check_same_host(subject: Subject) -> Iterator[Flaw]:
    """Routes of one host agree."""
    route = Route.of(subject.object)
    host = route.host.lower()
    others = subject.declared.once(_by_host).get(host, ()) if host else ()
    shared = len(others) > 1 and shared_between_namespaces(subject.declared, route)
    said: set[str] = set()
    for other in islice((each for each in others if _name(each) != _name(route)), _OTHERS):
        message = _differs(route, other, shared=shared)
        if message and message not in said:
            said.add(message)
            fix = "give each Route a host of its own, or make them agree"
            yield Flaw(message=f"{other.reference} has the host too, and {message}", at=_HOST, fix=fix)


def _name(route: Route) -> tuple[str | None, str]:
    return route.namespace, route.name


def _by_host(declared: Declared) -> Mapping[str, list[Route]]:
    found: dict[str, list[Route]] = {}
    for each in map(Route.of, declared.every(ROUTE)):
        found.setdefault(each.host.lower(), []).append(each)
    return found


def _differs(route: Route, other: Route, *, shared: bool) -> str | None:
    if route.namespace != other.namespace and not shared:
        return "is in another namespace: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if (route.path or "/") == (other.path or "/"):
        return "the same path: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if not (route.has_tls and other.has_tls):
        return None
    if (route.termination == "passthrough") != (other.termination == "passthrough"):
        return "only one of them is passed through: that one takes the name from the other"
    ours, theirs = _certificate(route), _certificate(other)
    return "has another certificate: which one is served is undefined" if ours != theirs else None


def _certificate(route: Route) -> str:
    return f"Secret {route.external_secret}" if route.external_secret else route.tls.certificate


def check_default(subject: Subject) -> Iterator[Flaw]:
    """A Route without a certificate has a host that the router's default one covers."""
    route, declared = Route.of(subject.object), subject.declared
    if not route.is_terminated or route.external_secret or route.inline_certificate or not route.host:
        return
    known = controllers(declared, route)
    bare: list[str] = []
    unseen: Missing | None = None
    for each in known:
        found = uncovered(declared, each, route.hosts)
        if isinstance(found, Missing):
            unseen = found
        elif not found:
            return
        else:
            bare = list(found)
    if not known:
        gap = declared.gap(INGRESS_CONTROLLER) or "none is there that looks at this Route"
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        flaw = undecided(unseen, _HOST, "whether the router's default certificate covers the host")
        # IngressControllers come with the cluster, and no repository of Routes has them.
        yield replace(flaw, severity="info", unseen=None) if unseen.gap == NOT_GIVEN else flaw
    elif bare:
        yield Flaw(
            message=f"the router's default certificate does not cover {', '.join(bare[:5])}",
            at=_HOST,
            fix="name a Secret with a certificate for the host in externalCertificate",
            correction="tls:\n  termination: edge\n  externalCertificate:\n    name: NAME",
        )


SAME_HOST = ObjectRule(id="route-same-host", subjects=(ROUTE,), check=check_same_host, reads=(INGRESS_CONTROLLER,))
DEFAULT = ObjectRule(
    id="route-default-certificate",
    subjects=(ROUTE,),
    check=check_default,
    reads=(INGRESS_CONTROLLER, INGRESS_CONFIG, *references.READS),
)
CLIENTS = ObjectRule(
    id="route-client-certificates",
    subjects=(ROUTE,),
    check=check_clients,
    reads=(INGRESS_CONTROLLER,),
)
WILDCARD = ObjectRule(id="route-wildcard", subjects=(ROUTE,), check=check_wildcard, reads=(INGRESS_CONTROLLER,))
