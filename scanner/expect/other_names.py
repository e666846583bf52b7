"""Server names beside an endpoint's own of which objects say what the place owes them.

A Gateway's port with TLS listeners alone, and Contour's Envoys unless somebody wants the fallback certificate, refuse
what no object names (Gateway API conformance, ``tlsroute-hostname-intersection``; Contour ``internal/xdscache/v3``,
one filter chain a name). Where HTTPS listeners validate clients, no name leads around that (GEP-91).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from scanner.expect.client_validation import frontend_validation
from scanner.expect.facts import Facts
from scanner.expect.origins import HOLDERS, gateway_listeners, gateways
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import OtherName
from scanner.model.kinds import HTTP_PROXY
from scanner.model.names import NOBODYS
from scanner.model.objects import Fields, KubeObject

_MOST = 4
"""Names that come through to one backend and that it is asked for."""

Through: TypeAlias = Mapping[tuple[str, int], Mapping[str, str]]
"""As ``passthrough.coming_through`` has it."""


def other_names(facts: Facts, endpoint: Endpoint, through: Through) -> tuple[OtherName, ...]:
    """What else ``endpoint``'s place is asked for: by one of all the names that it has, for each costs connections."""
    coming = through.get((endpoint.address, endpoint.port), {})
    if coming:
        return tuple(_of_passages(facts, endpoint, coming))
    if endpoint.segment == "Backend" or not _speaks_for_its_place(facts, endpoint):
        return ()
    return tuple(_of_gateway(facts, endpoint)) or tuple(_of_contour(facts, endpoint))


def _of_passages(facts: Facts, endpoint: Endpoint, coming: Mapping[str, str]) -> Iterator[OtherName]:
    """The names that come through to it and that no endpoint of this place has for its own."""
    here = facts.listening.get((endpoint.address, endpoint.port), ())
    if (endpoint.server_name or "") != min((each.server_name or "" for each in here), default=""):
        return
    own = {each.server_name for each in here}
    for name, source in islice(sorted(coming.items()), _MOST):
        if name not in own:
            yield OtherName(name=name, owed="compared", because=source)


def _speaks_for_its_place(facts: Facts, endpoint: Endpoint) -> bool:
    fronts = [each for each in facts.listening.get((endpoint.address, endpoint.port), ()) if each.segment != "Backend"]
    names = sorted(each.server_name for each in fronts if each.server_name)
    return endpoint.server_name is not None and endpoint.server_name == next(iter(names), None)


def _of_gateway(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    mine = list(gateway_listeners(facts.snapshot, endpoint))
    ports = {listener.number("port") for _, listener in mine}
    for gateway in gateways(facts.snapshot, endpoint):
        beside = [each for each in _listeners(facts, gateway) if each.number("port") in ports]
        if all(each.text("protocol") == "TLS" for each in beside):
            because = f"{gateway.reference} spec.listeners: all on this port are of protocol TLS"
            yield from (OtherName(name=name, owed="refused", because=because) for name in (NOBODYS, None))
            return
        field = frontend_validation(gateway, next(iter(ports)))
        if field and all(each.text("protocol") == "HTTPS" for each in beside):
            because = f"{gateway.reference} {field}"
            yield from (OtherName(name=name, owed="validated", because=because) for name in (NOBODYS, None))
            return


def _listeners(facts: Facts, gateway: KubeObject) -> Iterator[Fields]:
    """The Gateway's own, and those of all ListenerSets that want to belong to it."""
    yield from gateway.each("spec", "listeners")
    for kind in HOLDERS.values():
        for each in facts.snapshot.every(kind) if kind is not gateway.kind else ():
            parent = each.fields("spec", "parentRef")
            namespace = parent.text("namespace") or each.namespace
            if (parent.text("name"), namespace) == (gateway.name, gateway.namespace):
                yield from each.each("spec", "listeners")


def _of_contour(facts: Facts, endpoint: Endpoint) -> Iterator[OtherName]:
    subject = endpoint.subject
    if subject is None or subject.kind != HTTP_PROXY.name:
        return
    proxies = facts.snapshot.every(HTTP_PROXY)
    if not any(each.flag("spec", "virtualhost", "tls", "enableFallbackCertificate") for each in proxies):
        because = f"{subject} and all other HTTPProxies: none has enableFallbackCertificate"
        yield from (OtherName(name=name, owed="refused", because=because) for name in (NOBODYS, None))
