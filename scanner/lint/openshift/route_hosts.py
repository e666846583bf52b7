"""Hosts of Routes and their IngressControllers: shared hosts, the default certificate, wildcards, and required client
certificates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.kube.ingress import IngressController, Route
from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER, ROUTE
from scanner.lint import references
from scanner.lint.openshift.ingress_controllers import uncovered
from scanner.model.declared import Declared, Missing
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.values import replace

_HOST: Final = ("spec", "host")
_OTHERS: Final = 50
"""Routes of one host that are compared."""
_TLS: Final = ("spec", "tls")
_MOST: Final = 50


def controllers(declared: Declared, route: Route) -> tuple[IngressController, ...]:
    """The IngressControllers in a Route's status; without a status, all known ones."""
    names, known = _routers(route), map(IngressController.of, declared.every(INGRESS_CONTROLLER))
    return tuple(islice((each for each in known if not names or each.name in names), _MOST))


def _routers(route: Route) -> set[str]:
    return {each.router_name for each in islice(route.ingresses, _MOST)}


def _unseen(declared: Declared, route: Route) -> Missing | None:
    """An IngressController that may serve the Route and was not seen."""
    names, gap = _routers(route), declared.gap(INGRESS_CONTROLLER)
    if gap is None or (names and names <= {each.name for each in declared.every(INGRESS_CONTROLLER)}):
        return None
    return Missing(name=INGRESS_CONTROLLER.name, gap=gap)


def check_clients(subject: Subject) -> Iterator[Flaw]:
    """A Route enforces the client certificate that its IngressController requires."""
    route, declared = Route.of(subject.object), subject.declared
    bypass = _bypass(route)
    if bypass is None:
        return
    at, plain = bypass
    requiring = [each for each in controllers(declared, route) if each.client_tls.policy == "Required"]
    if requiring:
        reason = "over plaintext" if plain else "because the router does not terminate TLS here"
        yield Flaw(
            message=f"the client certificate that {requiring[0].reference} requires is not enforced {reason}",
            at=at,
            severity="medium" if plain else "low",
            fix="set insecureEdgeTerminationPolicy: Redirect"
            if plain
            else "require client certificates in the backend",
        )
    elif missing := _unseen(declared, route):
        yield replace(undecided(missing, at, "whether a client certificate is required"), severity="info")


def _bypass(route: Route) -> tuple[tuple[str, ...], bool] | None:
    """The field by which a Route accepts clients without a certificate; True if over plaintext."""
    if not route.has_tls:
        return _TLS, True
    if route.is_terminated and route.tls.insecure_policy == "Allow":
        return (*_TLS, "insecureEdgeTerminationPolicy"), True
    return ((*_TLS, "termination"), False) if route.termination == "passthrough" else None


def check_wildcard(subject: Subject) -> Iterator[Flaw]:
    """An IngressController admits the Route with a wildcard host."""
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
            fix="set routeAdmission.wildcardPolicy to WildcardsAllowed, or create a Route for each host",
        )


# --- Hosts ------------------------------------------------------------------------------------------------------------


def check_same_host(subject: Subject) -> Iterator[Flaw]:
    """Routes with the same host do not conflict."""
    route = Route.of(subject.object)
    host = route.host.lower()
    others = subject.declared.once(_by_host).get(host, ()) if host else ()
    admitting = controllers(subject.declared, route) if len(others) > 1 else ()
    shared = bool(admitting) and all(each.namespace_ownership == "InterNamespaceAllowed" for each in admitting)
    reported: set[str] = set()
    for other in islice((each for each in others if each.reference != route.reference), _OTHERS):
        message = _differs(route, other, shared=shared)
        if message and message not in reported:
            reported.add(message)
            fix = "use different hosts, or the same namespace, termination and certificate"
            yield Flaw(message=f"{other.reference} has the same host, and {message}", at=_HOST, fix=fix)


def _by_host(declared: Declared) -> Mapping[str, list[Route]]:
    found: dict[str, list[Route]] = {}
    for each in map(Route.of, declared.every(ROUTE)):
        found.setdefault(each.host.lower(), []).append(each)
    return found


def _differs(route: Route, other: Route, *, shared: bool) -> str | None:
    if route.namespace != other.namespace and not shared:
        return "is in another namespace: the older Route is served, the other rejected (HostAlreadyClaimed)"
    if (route.path or "/") == (other.path or "/"):
        return "the same path: the older Route is served, the other rejected (HostAlreadyClaimed)"
    if not (route.has_tls and other.has_tls):
        return None
    if (route.termination == "passthrough") != (other.termination == "passthrough"):
        return "only one of them is passthrough: that one receives all connections for the host"
    ours, theirs = _certificate(route), _certificate(other)
    return "another certificate: it is undefined which one is served" if ours != theirs else None


def _certificate(route: Route) -> str:
    return f"Secret {route.external_secret}" if route.external_secret else route.tls.certificate


def check_default(subject: Subject) -> Iterator[Flaw]:
    """The router's default certificate covers the host of a Route without a certificate."""
    route, declared = Route.of(subject.object), subject.declared
    if not route.is_terminated or route.external_secret or route.inline_certificate or not route.host:
        return
    known = controllers(declared, route)
    missing_names: list[str] = []
    unseen: Missing | None = None
    for each in known:
        found = uncovered(declared, each, route.hosts)
        if isinstance(found, Missing):
            unseen = found
        elif not found:
            return
        else:
            missing_names = list(found)
    if not known:
        gap = declared.gap(INGRESS_CONTROLLER) or "no IngressController serves this Route"
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        flaw = undecided(unseen, _HOST, "whether the router's default certificate covers the host")
        # IngressControllers belong to the cluster, and are not among the manifests of applications.
        yield replace(flaw, severity="info", unseen=None) if unseen.gap == NOT_GIVEN else flaw
    elif missing_names:
        yield Flaw(
            message=f"the router's default certificate does not cover {', '.join(missing_names[:5])}",
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
