"""The plaintext HTTP port of a TLS server name, and the answer that objects declare for it.

OpenShift's router answers 503 there for a Route without ``insecureEdgeTerminationPolicy``, 302 for Redirect, and with
the content for Allow (``haproxy-config.template``). Contour redirects to TLS unless a route has ``permitInsecure``
(``internal/dag/httpproxy_processor.go``). A Gateway's listener of protocol HTTP may have a name of the HTTPS ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Literal, NamedTuple

from scanner.expect.contour import proxy_of
from scanner.expect.facts import Facts, all_listeners, gateways, led
from scanner.expect.rejected_listener import rejected
from scanner.kube.contour import HTTPProxy, MatchCondition, ProxyRoute
from scanner.kube.gateway import HOLDER_NAMES, ListenerHolder
from scanner.kube.hostnames import request_path, within
from scanner.kube.ingress import Ingress, Route
from scanner.kube.kinds import GATEWAY, HTTP_PROXY, INGRESS, POD, ROUTE, TLS_ROUTE
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.kube.pod import Pod
from scanner.kube.service import EndpointSlice, service_of
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import PlainPort
from scanner.values import replace

HTTP = 80

_MOST_ROUTES = 10_000
"""Most routes of one host, with those of included objects."""
_DEEPEST = 20
"""Most levels of objects that include one another."""
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
"""A path that is no regular expression, which some controllers allow for ``ImplementationSpecific``."""
_SLASHES = re.compile("//+")

_POLICIES: Mapping[str, Literal["nothing", "redirect", "served"]] = {
    "": "nothing",
    "None": "nothing",
    "Redirect": "redirect",
    "Allow": "served",
}


_ALLOWING = ("nothing", "redirect", None, "served")
"""From the strictest to the most permissive."""


def plain_port(facts: Facts, endpoint: Endpoint) -> PlainPort | None:
    """The plaintext port of ``endpoint``, at its own address; None if no object declares one for its name."""
    subject = endpoint.subject
    if subject is None or endpoint.server_name is None or endpoint.segment == "Backend":
        return None
    read = _READERS.get(subject.kind)
    found = read(facts, endpoint) if read else None
    port = _behind(facts, endpoint, found.port) if found else None
    if found is None or port is None:
        return None
    path = request_path(found.path)
    return replace(found, port=port, path=path, conditional=found.conditional or path != found.path)


# --- What objects say -------------------------------------------------------------------------------------------------


def _of_route(facts: Facts, endpoint: Endpoint) -> PlainPort | None:
    """The most permissive of the Routes that share the host."""
    every = [
        facts.snapshot.get(ROUTE, *_key(endpoint)),
        *(route for route, _ in led(facts.snapshot, endpoint, {ROUTE.name: ROUTE})),
    ]
    ports = [_of_one_route(Route.of(route)) for route in every if route is not None]
    return max(ports, key=lambda each: _ALLOWING.index(each.owed), default=None)


def _of_one_route(route: Route) -> PlainPort:
    policy = route.tls.insecure_policy
    because = f"{route.reference} spec.tls.insecureEdgeTerminationPolicy: {policy or 'not set'}"
    path = route.path or "/"
    return PlainPort(port=HTTP, path=path, owed=_POLICIES.get(policy), because=because)


def _of_proxy(facts: Facts, endpoint: Endpoint) -> PlainPort | None:
    """None without routes: Contour then opens no port 80."""
    proxy = proxy_of(facts, endpoint)
    if proxy is None or not (proxy.has_routes or proxy.has_includes):
        return None
    routes = list(islice(_routes(facts.snapshot, proxy), _MOST_ROUTES))
    permitted = [_of_permitted(each) for each in routes if each.route is not None and each.route.permit_insecure]
    if permitted:
        return min(permitted, key=lambda each: each.conditional)
    unseen = any(each.route is None for each in routes) or len(routes) == _MOST_ROUTES
    because = f"{proxy.reference} spec.routes: no {'known ' if unseen else ''}route has permitInsecure"
    return PlainPort(port=HTTP, path="/", owed=None if unseen else "redirect", because=because, conditional=unseen)


class _Routed(NamedTuple):
    """One route of a virtual host."""

    proxy: HTTPProxy
    route: ProxyRoute | None
    """None for an included object that was not read."""
    conditions: tuple[MatchCondition, ...]


def _routes(
    snapshot: Snapshot, proxy: HTTPProxy, above: tuple[MatchCondition, ...] = (), path: tuple[HTTPProxy, ...] = ()
) -> Iterator[_Routed]:
    """The routes of an HTTPProxy and of the objects that it includes. Contour does not serve cycles, nor a root below
    another (``internal/dag/httpproxy_processor.go``, computeRoutes)."""
    for route in proxy.routes:
        yield _Routed(proxy, route, (*above, *route.conditions))
    for each in (include for include in proxy.includes if include.name):
        yield _Routed(proxy, ProxyRoute({}), ())  # so that objects without routes count for the limit too
        item = snapshot.get(HTTP_PROXY, each.name, each.namespace or proxy.namespace)
        found = HTTPProxy.of(item) if item else None
        if (found is None and snapshot.gap(HTTP_PROXY)) or len(path) == _DEEPEST:
            yield _Routed(proxy, None, ())
        elif found and not found.is_root and all(found.reference != other.reference for other in (*path, proxy)):
            yield from _routes(snapshot, found, (*above, *each.conditions), (*path, proxy))


def _of_permitted(routed: _Routed) -> PlainPort:
    paths = (each.exact or each.prefix for each in routed.conditions)
    path = _SLASHES.sub("/", "".join(paths)) or "/"
    return PlainPort(
        port=HTTP,
        path=path,
        owed="served",
        because=f"{routed.proxy.reference} permitInsecure of {path}",
        conditional=any(each.needs_more for each in routed.conditions),
    )


def _of_ingress(facts: Facts, endpoint: Endpoint) -> PlainPort | None:
    """Controllers differ and have their own settings. If no rule has ``/``, the first path is requested."""
    ingress = facts.snapshot.get(INGRESS, *_key(endpoint))
    if ingress is None:
        return None
    paths = [*_ingress_paths(ingress, endpoint.server_name or "")]
    path = "/" if not paths or "/" in paths else paths[0]
    because, regular = f"{ingress.reference} spec.tls", _PLAIN_PATH.fullmatch(path) is None
    return PlainPort(port=HTTP, path=path, owed=None, because=because, conditional=regular)


def _ingress_paths(ingress: KubeObject, name: str) -> Iterator[str]:
    """The paths of the rules for ``name`` and for all names."""
    for rule in Ingress.of(ingress).rules:
        host = rule.host.lower()
        if not host or within(name, host):
            yield from (each.path or "/" for each in rule.paths)


def _of_gateway(facts: Facts, endpoint: Endpoint) -> PlainPort | None:
    """The first HTTP listener with the name; its routes may redirect. A ListenerSet counts only if the Gateway has
    accepted it: creating one must not be enough to make the scanner dial any port of the Gateway."""
    name = endpoint.server_name or ""
    for gateway in gateways(facts.snapshot, endpoint):
        for each in all_listeners(facts, gateway):
            if (each.holder.kind != GATEWAY and not _taken(each.holder)) or rejected(facts, each):
                continue
            if each.protocol == "HTTP" and each.port and (not each.hostname or within(name, each.hostname)):
                because = f"{each.holder.reference} listener {each.name}: HTTP on port {each.port}"
                # The routes are not read, so no answer at ``/`` does not mean no answer at all.
                return PlainPort(port=each.port, path="/", owed=None, because=because, conditional=True)
    return None


def _taken(holder: ListenerHolder) -> bool:
    accepted = of_type(holder.conditions, "Accepted")
    return accepted is not None and accepted.holds


_READERS: Mapping[str, Callable[[Facts, Endpoint], PlainPort | None]] = {
    ROUTE.name: _of_route,
    HTTP_PROXY.name: _of_proxy,
    INGRESS.name: _of_ingress,
    TLS_ROUTE.name: _of_gateway,
    **dict.fromkeys(HOLDER_NAMES, _of_gateway),
}


def _key(endpoint: Endpoint) -> tuple[str, str | None]:
    subject = endpoint.subject
    return (subject.name, subject.namespace) if subject else ("", None)


# --- The port's place -------------------------------------------------------------------------------------------------


def _behind(facts: Facts, endpoint: Endpoint, port: int) -> int | None:
    """The port of ``endpoint``'s own address behind ``port``: by the Services in front of it, by its pod's ports, or
    for a load balancer without known pods the port itself."""
    known = [*_of_services(facts, endpoint, port), *_of_pod(facts, endpoint, port)]
    if known:
        return known[0]
    return port if endpoint.pod is None and endpoint.port == 443 else None


def _of_services(facts: Facts, endpoint: Endpoint, port: int) -> Iterator[int]:
    for host in endpoint.alias_hosts:
        service = service_of(facts.snapshot, host)
        if service is None:
            continue
        names = [each.name for each in service.ports if each.port == port]
        for each in facts.slices.get((service.namespace or "", service.name), ()):
            if any(endpoint.address in member.addresses for member in each.endpoints):
                yield from _ports(each, names)


def _ports(piece: EndpointSlice, names: list[str]) -> Iterator[int]:
    for each in piece.ports:
        if each.name in names and each.port and each.port < 65536:
            yield each.port


def _of_pod(facts: Facts, endpoint: Endpoint, port: int) -> Iterator[int]:
    """The port of the same container with that number, or with the name ``http``."""
    pod = facts.snapshot.get(POD, endpoint.pod.name, endpoint.pod.namespace) if endpoint.pod else None
    for container in Pod.of(pod).spec.containers if pod else ():
        declared = [(each.container_port or 0, each.name) for each in container.ports]
        if port == HTTP and endpoint.port in (number for number, _ in declared):
            yield from (number for number, _ in declared if number == port)
            yield from (number for number, name in declared if name == "http" and 0 < number < 65536)
