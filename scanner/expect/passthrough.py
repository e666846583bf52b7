"""Passthrough: the backend terminates TLS, so the listener has the expectation of its backend.

Route with ``termination: passthrough``, HTTPProxy with ``tls.passthrough``, a Gateway's TLS listener in mode
Passthrough with its TLSRoutes, and listeners that forward connections by the catalogue. Chains are limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from scanner.expect.facts import Facts, Follow, gateway_listeners, routes
from scanner.expect.partial_expectation import Partial
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import HOLDER_NAMES, Listener, holder_of
from scanner.kube.gateway_routes import GatewayRoute
from scanner.kube.hostnames import within
from scanner.kube.ingress import Route
from scanner.kube.kinds import HTTP_PROXY, ROUTE, SERVICE, TLS_ROUTE
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.service import Service
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import PassedOn
from scanner.values import replace

_LONGEST = 8
"""Most listeners in a chain."""
_MOST = 500
"""Most backends that are compared."""


class Backend(Struct, frozen=True, kw_only=True):
    """A port of a Service. ``port`` is the Service's or the pods' port number or name, or None for any."""

    namespace: str
    service: str
    port: int | str | None


class Passage(Struct, frozen=True, kw_only=True):
    """An object that passes TLS connections through."""

    source: str
    field: str
    backends: tuple[Backend, ...]


def resolve(facts: Facts, partial: Partial, follow: Follow) -> Partial:
    """Use the expectation of the backends, if it is the same for all."""
    passage = passed_through(facts, partial)
    if passage is None:
        return _onwards(facts, partial, follow)
    near = partial
    text = "passthrough: the backend answers, and its own profile applies"
    partial = replace(partial.step(passage.source, passage.field, text), tls13_suites_configurable=False)
    if partial.endpoint.id in partial.seen or len(partial.seen) >= _LONGEST:
        reason = "the chain of passthrough listeners is a cycle or too long"
        return partial.requires(Unknown(reason), passage.source, passage.field, "a cycle, or a chain that is too long")
    found = _endpoints(facts, passage)
    partial = replace(partial, passed_on=_passed_on(near.endpoint, passage, found))
    if not found:
        names = ", ".join(f"Service/{each.namespace}/{each.service}" for each in passage.backends[:5]) or "none"
        reason = f"none of the backends of {passage.source} is a known listener ({names})"
        return partial.requires(Unknown(reason), passage.source, passage.field, "no known backend")
    if max(len(found), len(passage.backends)) > _MOST:
        reason = f"{passage.source} has more than {_MOST} backends, so not all are compared"
        return partial.requires(Unknown(reason), passage.source, passage.field, "too many backends")
    near = replace(near, passed_on=partial.passed_on)
    behind = [follow(each, partial.seen | {partial.endpoint.id}) for each in found]
    return _as_backends(partial if _differ(behind) else _only_passing(near, passage, text), passage, behind)


def _passed_on(near: Endpoint, passage: Passage, found: list[Endpoint]) -> PassedOn:
    """The backends' ids; those with the same server name, if there are any."""
    same = [each for each in found if each.server_name == near.server_name]
    return PassedOn(
        source=f"{passage.source} {passage.field}",
        here=near.id,
        backends=tuple(each.id for each in (same or found)[:_MOST]),
        name=near.server_name,
    )


def coming_through(facts: Facts) -> dict[tuple[str, int], dict[str, str]]:
    """By address and port of the backends: the server names that reach them through passthrough, and the source."""
    found: dict[tuple[str, int], dict[str, str]] = {}
    seen: set[tuple[str, str]] = set()
    for each in facts.endpoints:
        passage = _passage(facts, each)
        if passage is None or each.server_name is None or (passage.source, each.server_name) in seen:
            continue
        seen.add((passage.source, each.server_name))  # once for all replicas of a router
        for backend in passage.backends:
            for place in _places(facts, backend):
                found.setdefault(place, {}).setdefault(each.server_name, f"{passage.source} {passage.field}")
    return found


def _only_passing(near: Partial, passage: Passage, text: str) -> Partial:
    """The passthrough endpoint without its own reasons: they do not apply to the backend."""
    own = "unknown" if isinstance(near.profile, Unknown) else near.profile.name
    overridden = f"the profile of {near.endpoint.owner.name} itself: {own}, {near.binding}"
    bare = replace(near, because=(), decided_by="", tls13_suites_configurable=False)
    return bare.step(passage.source, passage.field, text, overridden=overridden)


def passed_through(facts: Facts, partial: Partial) -> Passage | None:
    """The object that passes the endpoint's connections through; None if the endpoint terminates TLS itself."""
    return _passage(facts, partial.endpoint)


def _passage(facts: Facts, endpoint: Endpoint) -> Passage | None:
    subject = endpoint.subject
    if subject is None or endpoint.segment == "Backend" or subject.kind not in _PASSAGES:
        return None
    kind, read = _PASSAGES[subject.kind]
    found = facts.snapshot.get(kind, subject.name, subject.namespace)
    return read(facts, found, endpoint) if found else None


def _differ(behind: list[Partial]) -> bool:
    return any((each.profile, each.binding) != (behind[0].profile, behind[0].binding) for each in behind[1:])


def _as_backends(partial: Partial, passage: Passage, behind: list[Partial]) -> Partial:
    first = behind[0]
    if _differ(behind):
        reason = f"the backends of {passage.source} have different profiles, and any of them may answer"
        return partial.requires(Unknown(reason), passage.source, passage.field, "backends that differ")
    text = "unknown" if isinstance(first.profile, Unknown) else first.profile.name
    kept = partial.step(first.endpoint.id, "the backend", text)
    return replace(
        kept,
        profile=first.profile,
        decided_by=first.decided_by,
        spelt=first.spelt,
        lever=first.lever,
        entry=first.entry,
        standing=first.standing,
        binding=first.binding,
        implementation=first.implementation,
        client_certificate=first.client_certificate,
        client_source=first.client_source,
        groups_configurable=first.groups_configurable,
        stated_groups=first.stated_groups,
        alternatives=first.alternatives,
        skewed=first.skewed,
        settles_by=first.settles_by,
        changed=first.changed,
        adherence=first.adherence,
        because=(*kept.because, *first.because),
        remarks=tuple(dict.fromkeys((*kept.remarks, *first.remarks))),
    )


def _onwards(facts: Facts, partial: Partial, follow: Follow) -> Partial:
    """A known listener that forwards connections to the API server, such as load balancers of on-prem clusters."""
    if partial.entry is None or partial.entry.governor != "backend" or partial.endpoint.id in partial.seen:
        return partial
    behind = next((each for each in facts.endpoints if each.component == "kube-apiserver" and each.port == 6443), None)
    if behind is None:
        return replace(partial, implementation="go").step(
            "component catalogue", partial.entry.component, "the API server's"
        )
    passage = Passage(source="component catalogue", field=partial.entry.component, backends=())
    standing = partial.standing
    return replace(
        _as_backends(partial, passage, [follow(behind, partial.seen | {partial.endpoint.id})]), standing=standing
    )


def _endpoints(facts: Facts, passage: Passage) -> list[Endpoint]:
    """Every known listener behind the Services, by their EndpointSlices; replicas with the same id count once."""
    found: dict[str, Endpoint] = {}
    for backend in passage.backends:
        for address, port in _places(facts, backend):
            for each in facts.listening.get((address, port), ()):
                found.setdefault(each.id, each)
    return list(found.values())


def _places(facts: Facts, backend: Backend) -> Iterator[tuple[str, int]]:
    service = facts.snapshot.get(SERVICE, backend.service, backend.namespace)
    names = _port_names(service, backend.port) if service else ()
    for each in facts.slices.get((backend.namespace, backend.service), ()):
        for port in each.ports:
            if port.port is None or (backend.port not in (None, port.port) and port.name not in names):
                continue
            for endpoint in each.endpoints:
                yield from ((address, port.port) for address in endpoint.addresses)


def _port_names(service: KubeObject, port: int | str | None) -> set[str]:
    """Port names in EndpointSlices for ``port``, which is the Service's or the pods' port name or number."""
    return {each.name for each in Service.of(service).ports if port in (each.name or None, each.port, each.target_port)}


def _route(_: Facts, route: KubeObject, __: Endpoint) -> Passage | None:
    found = Route.of(route)
    if found.termination != "passthrough":
        return None
    port, named = _port(found.target_port), [each for each in found.backends if each.service and each.weight != 0]
    backends = [Backend(namespace=route.namespace or "", service=each.service, port=port) for each in named]
    return Passage(source=str(route.reference), field="spec.tls.termination", backends=tuple(backends))


def _proxy(_: Facts, item: KubeObject, __: Endpoint) -> Passage | None:
    proxy = HTTPProxy.of(item)
    if not proxy.tls.passthrough:
        return None
    backends = [
        Backend(namespace=proxy.namespace or "", service=each.name, port=each.port)
        for each in proxy.tcp_proxy.services
        if each.name and each.weight != 0
    ]
    return Passage(source=str(proxy.reference), field="spec.virtualhost.tls.passthrough", backends=tuple(backends))


def _gateway(facts: Facts, item: KubeObject, endpoint: Endpoint) -> Passage | None:
    """The backends of the TLSRoutes that are attached to the endpoint's listener (known, or by its port) and have its
    server name. ``item``: a Gateway or ListenerSet."""
    known = list(gateway_listeners(facts.snapshot, endpoint))
    every = known or [each for each in holder_of(item).listeners if _listens(each, endpoint)]
    passing = [each for each in every if each.mode == "Passthrough"]
    if not passing or (known and len(passing) < len(known)):  # some on the same port may terminate TLS
        return None
    attached = {route.reference: route for each in passing for route in routes(facts).on(each)}
    serving = (each for each in attached.values() if _serves(each, endpoint.server_name))
    backends = tuple(islice((backend for each in serving for backend in _backends(each)), _MOST + 1))
    return Passage(source=str(item.reference), field="spec.listeners.tls.mode", backends=backends)


def _tls_route(facts: Facts, item: KubeObject, endpoint: Endpoint) -> Passage | None:
    """Discovery names the TLSRoutes of a server name; their listener may also terminate TLS. Several with one name all
    count, because the gateway decides which one is the oldest."""
    modes = {each.mode for each in gateway_listeners(facts.snapshot, endpoint)}
    if modes != {"Passthrough"}:
        return None
    every = {each.reference: GatewayRoute.of(each) for each in (item, *_named_beside(facts, endpoint))}
    backends = tuple(islice((backend for each in every.values() for backend in _backends(each)), _MOST + 1))
    return Passage(source=str(item.reference), field="spec.rules.backendRefs", backends=backends)


def _backends(route: GatewayRoute) -> Iterator[Backend]:
    """The Services of its backendRefs; a weight of 0 means no connections."""
    for rule in route.every_rule:
        for each in rule.backend_refs:
            if each.is_service and each.name and each.weight != 0:
                yield Backend(namespace=each.namespace or route.namespace or "", service=each.name, port=each.port)


def _named_beside(facts: Facts, endpoint: Endpoint) -> Iterator[KubeObject]:
    """The TLSRoutes in the origins of ``endpoint``."""
    for origin in endpoint.origins:
        route = origin.through
        if route is not None and route.kind == TLS_ROUTE.name and not origin.foreign:
            found = facts.snapshot.get(TLS_ROUTE, route.name, route.namespace)
            if found is not None:
                yield found


def _listens(listener: Listener, endpoint: Endpoint) -> bool:
    # Contour listens on the port plus 8000, to avoid privileged ports.
    return listener.port in {endpoint.port, endpoint.port - 8000, *endpoint.alias_ports}


def _serves(route: GatewayRoute, name: str | None) -> bool:
    return name is None or not route.hostnames or any(within(name, each) for each in route.hostnames)


def _port(value: object) -> int | str | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


_PASSAGES = {
    "Route": (ROUTE, _route),
    "HTTPProxy": (HTTP_PROXY, _proxy),
    **{name: (kind, _gateway) for name, kind in HOLDER_NAMES.items()},
    "TLSRoute": (TLS_ROUTE, _tls_route),
}
"""Readers by the kind of the endpoint's subject."""
