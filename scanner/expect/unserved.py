"""Names of which an object's status says that they are not served: whoever sends one gets nothing, or a default.

Of what else could be listening there, discovery leaves these out: they are asked for by an endpoint of the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import router_name
from scanner.expect.origins import all_listeners, gateway_listeners, gateways
from scanner.expect.stale import is_stale
from scanner.expect.withheld import answered, refused
from scanner.kube.contour import HTTPProxy
from scanner.kube.hostnames import within
from scanner.kube.ingress import Route
from scanner.kube.kinds import HTTP_PROXY, ROUTE
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import OtherName
from scanner.model.server_names import server_name

_MOST: Final = 20
"""Names of one place that are asked for: each costs a connection; where it is closed without a word five, and one more
for the port's own name."""
_TERMINAL: Final = frozenset({"TLSError", "VirtualHostError", "RootNamespaceError", "ListenerError"})
"""Types of errors with which Contour serves nothing of an HTTPProxy; with others, such as a missing Service, it serves
the virtual host and answers 503 (``internal/dag/httpproxy_processor.go``)."""

Said = dict[str, str]
"""Why each name is not served."""


def of_place(facts: Facts, endpoint: Endpoint) -> tuple[OtherName, ...]:
    """Those of the Gateways, or of Contour, that ``endpoint``'s place belongs to."""
    found = dict((*_of_gateways(facts, endpoint), *_of_contour(facts, endpoint)))
    here = {each.server_name for each in facts.listening.get((endpoint.address, endpoint.port), ())}
    left = {name: why for name, why in found.items() if name not in here and not answered(facts, name, endpoint)}
    return tuple(_asked(left, "refused"))


def of_router(facts: Facts, draft: Draft) -> tuple[OtherName, ...]:
    """Routes that the router did not admit, by what it shows to whoever gives no name."""
    endpoint = draft.endpoint
    if draft.implementation != "haproxy" or endpoint.server_name is not None or endpoint.subject is not None:
        return ()
    router = router_name(facts, draft)
    return () if isinstance(router, Unknown) else tuple(_asked(facts.once(_not_admitted).get(router, {}), "default"))


def _asked(found: Said, owed: Literal["refused", "default"]) -> Iterator[OtherName]:
    for name in sorted(found)[:_MOST]:
        yield OtherName(name=name, owed=owed, because=found[name])
    if len(found) > _MOST:
        more = f"{len(found) - _MOST} more names that are not to be served were not asked for"
        yield OtherName(name=None, owed="unasked", because=more)


def _of_gateways(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    ports = {each.port for each in gateway_listeners(facts.snapshot, endpoint)}
    for gateway in gateways(facts.snapshot, endpoint):
        for listener in all_listeners(facts, gateway):
            name = server_name(listener.hostname)
            if listener.port in ports and name and (why := refused(listener)):
                yield name, why


def _of_contour(facts: Facts, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    subject = endpoint.subject
    if subject is not None and subject.kind == HTTP_PROXY.name:
        yield from facts.once(_refused_proxies).items()


def _refused_proxies(facts: Facts) -> Said:
    found: Said = {}
    for proxy in map(HTTPProxy.of, facts.snapshot.every(HTTP_PROXY)):
        name = server_name(proxy.fqdn)
        if name and proxy.has_tls and (why := _invalid(proxy)):
            found[name] = why
    return found


def _invalid(proxy: HTTPProxy) -> str:
    if is_stale(proxy, proxy.conditions):
        return ""
    refused = (each for each in proxy.conditions if (each.type, each.status) == ("Valid", "False"))
    errors = (error for each in refused for error in each.errors if error.type in _TERMINAL)
    found = next(errors, None)
    return f"{proxy.reference} status: Valid is False, {found.reason[:100]}" if found else ""


def _not_admitted(facts: Facts) -> Mapping[str, Said]:
    """By router; what another Route has there is that one's."""
    found: dict[str, Said] = {}
    admitted: dict[str, set[str]] = {}
    for route in map(Route.of, facts.snapshot.every(ROUTE)):
        for ingress in route.ingresses:
            router, said = ingress.router_name, ingress.admitted
            name = server_name(ingress.host or route.host)
            if said is None or name is None:
                continue
            if said.holds:
                admitted.setdefault(router, set()).add(_covered(route, name))
            elif route.has_tls:
                why = f"{route.reference} status.ingress[{router[:253]}]: Admitted is {said.status}, {said.reason}"
                found.setdefault(router, {}).setdefault(name, why)
    return {router: _left(names, admitted.get(router, set())) for router, names in found.items()}


def _left(names: Said, admitted: set[str]) -> Said:
    wildcards = [each for each in admitted if each.startswith("*.")]
    return {
        name: why
        for name, why in names.items()
        if name not in admitted and not any(within(name, each) for each in wildcards)
    }


def _covered(route: Route, name: str) -> str:
    """A Route for a whole subdomain answers every name of it (openshift/api route/v1, ``wildcardPolicy``)."""
    return f"*.{name.partition('.')[2]}" if route.is_subdomain else name
