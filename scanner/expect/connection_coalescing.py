"""Names at the same place whose content must not be had through an endpoint's connections.

A Gateway's listeners are apart from each other, and Contour answers 421 for another virtual host (GEP-3567; Contour,
``internal/envoy/v3/listener.go``). OpenShift's router and Ingress controllers choose by ``Host`` alone, which their
documents allow: of these nothing is expected.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.contour import falling_back, proxy_of
from scanner.expect.facts import Facts, gateway_listeners
from scanner.expect.rejected_listener import hostnames
from scanner.kube.gateway import HOLDER_NAMES
from scanner.kube.hostnames import within
from scanner.kube.kinds import HTTP_PROXY
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Neighbour

_KINDS = frozenset({HTTP_PROXY.name, *HOLDER_NAMES})
_MOST = 3
"""Neighbours that are asked for: each costs two requests."""


def neighbours(facts: Facts, endpoint: Endpoint) -> tuple[Neighbour, ...]:
    """Those of ``endpoint``, the ones with more to lose first. One whose clients need a certificate has none: nobody
    can send a request there. A listener for every name is asked without one, and only for those that need one: browsers
    share no connection that was made without a name."""
    if endpoint.expects == "required":
        return ()
    beside = (*_beside(facts, endpoint), *_beside_the_fallback(facts, endpoint))
    return tuple(sorted(beside, key=lambda each: (not each.guarded, each.name))[:_MOST])


def _beside(facts: Facts, endpoint: Endpoint) -> Iterator[Neighbour]:
    if not _served(facts, endpoint):
        return
    mine, wildcards = _apart(facts, endpoint), tuple(hostnames(facts, endpoint))
    for each in facts.at_place(endpoint):
        if each.server_name in (None, endpoint.server_name) or not _served(facts, each):
            continue
        guarded = each.expects == "required"
        if (guarded or endpoint.server_name) and mine.isdisjoint(_apart(facts, each)):
            name = each.server_name or ""
            yield Neighbour(
                name=name,
                guarded=guarded,
                because=str(each.subject),
                covered=any(not hostname or within(name, hostname) for hostname in wildcards),
            )


def _beside_the_fallback(facts: Facts, endpoint: Endpoint) -> Iterator[Neighbour]:
    """Virtual hosts that are not to be had without a name: only those with ``enableFallbackCertificate`` are
    (Contour, ``internal/xdscache/v3/listener.go``); there is no 421 on that chain."""
    if falling_back(facts, endpoint) is None:
        return
    for each in facts.at_place(endpoint):
        proxy = proxy_of(facts, each)
        if proxy and each.server_name and proxy.has_routes and not proxy.tls.enable_fallback_certificate:
            yield Neighbour(name=each.server_name, guarded=each.expects == "required", because=str(each.subject))


def _served(facts: Facts, endpoint: Endpoint) -> bool:
    """Whether a virtual host or listener answers there itself."""
    subject = endpoint.subject
    if subject is None or subject.kind not in _KINDS or endpoint.segment == "Backend":
        return False
    if subject.kind != HTTP_PROXY.name:
        return any(each.protocol == "HTTPS" for each in gateway_listeners(facts.snapshot, endpoint))
    proxy = proxy_of(facts, endpoint)
    return proxy is not None and proxy.has_routes


def _apart(facts: Facts, endpoint: Endpoint) -> frozenset[str]:
    """What keeps it apart from others: its virtual host, or the listeners of a Gateway that it is."""
    listeners = gateway_listeners(facts.snapshot, endpoint)
    names = frozenset(f"{each.holder.reference} {each.name}" for each in listeners)
    return names or frozenset({str(endpoint.subject)})
