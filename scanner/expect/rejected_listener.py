"""Listeners that must serve nothing, because their controller rejected them or a grant is missing; and stale status.

If a status is of an older generation than the spec, the proxy may still have the previous configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from scanner.expect.contour import proxy_of
from scanner.expect.declared_certificate import Reference, references
from scanner.expect.facts import Facts, gateway_listeners, gateways
from scanner.files.source_positions import shown
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import HOLDER_NAMES, Listener, ListenerHolder, ListenerSet, admitted, gateway_of, rejection
from scanner.kube.hostnames import within
from scanner.kube.kinds import HTTP_PROXY, INGRESS, TLS_ROUTE
from scanner.kube.meta import Condition, conditions, of_type
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint

_REFUSED: Final = frozenset({"invalid", "orphaned"})
_Reader: TypeAlias = Callable[[ListenerHolder, Iterable[Condition]], str]

_TERMINAL: Final = frozenset({"TLSError", "VirtualHostError", "RootNamespaceError", "ListenerError"})
"""Error types for which Contour does not serve the HTTPProxy; for others, such as a missing Service, it serves the
virtual host and answers 503 (``internal/dag/httpproxy_processor.go``)."""
_SOME_LISTENERS: Final = "ListenersNotValid"
"""Contour's reason for a Gateway that is not programmed while its other listeners are."""


def is_outdated(holder: KubeObject, conditions: Iterable[Condition]) -> bool:
    """True if one of these conditions was set for an older generation of ``holder``."""
    return not all(each.is_current(holder) for each in conditions)


def outdated_status(facts: Facts, endpoint: Endpoint) -> str:
    """The reason why a proxy may not yet have the configuration of ``endpoint``; empty if there is none.

    Includes Gateways that are not programmed: then it is unknown what answers at their addresses.
    """
    if endpoint.segment == "Backend":
        return ""
    return next(filter(None, (*_of_status(facts, endpoint, _of_conditions), outdated(facts, endpoint))), "")


def outdated(facts: Facts, endpoint: Endpoint) -> str:
    """Message on an object of ``endpoint`` whose status is of an older generation; empty if there is none."""
    reasons = _of_status(facts, endpoint, _older)
    proxy = proxy_of(facts, endpoint)
    of_proxy = _older(proxy, conditions(proxy)) if proxy is not None else ""
    return next(filter(None, (*reasons, of_proxy)), "")


def _of_status(facts: Facts, endpoint: Endpoint, read: _Reader) -> Iterator[str]:
    """Apply ``read`` to each status of the endpoint's Gateways and of its listeners."""
    listeners = list(gateway_listeners(facts.snapshot, endpoint))
    names = {each.name for each in listeners}
    holders = (*(each.holder for each in listeners), *gateways(facts.snapshot, endpoint))
    for holder in {each.reference: each for each in holders}.values():
        yield read(holder, holder.conditions)
        for status in holder.listener_statuses:
            if status.name in names:
                yield read(holder, status.conditions)


def _older(holder: KubeObject, every: Iterable[Condition]) -> str:
    return f"the status of {holder.reference} is of an older generation" if is_outdated(holder, every) else ""


def _of_conditions(holder: ListenerHolder, every: Iterable[Condition]) -> str:
    if older := _older(holder, every):
        return older
    for each in every:
        if each.reason == _SOME_LISTENERS and holder.listener_statuses:  # each listener has its own condition
            continue
        if each.type == "Programmed" and not each.holds:
            return f"{holder.reference} is not programmed ({shown(each.status)}, {shown(each.reason)})"
    return ""


_CERTIFICATE: Final = frozenset({"InvalidCertificateRef", "RefNotPermitted"})
"""Reasons of ``ResolvedRefs`` that leave a listener without its only certificate."""
_KINDS: Final = frozenset({HTTP_PROXY.name, INGRESS.name, TLS_ROUTE.name, *HOLDER_NAMES})


def rejection_of(facts: Facts, endpoint: Endpoint) -> str:
    """The reason why no certificate may be served for ``endpoint``'s name; empty if one may be, or if another listener
    at the same address and port may answer."""
    subject = endpoint.subject
    if endpoint.segment == "Backend" or subject is None or subject.kind not in _KINDS:
        return ""
    reasons = tuple(_reasons(facts, endpoint))
    return reasons[0] if reasons and all(reasons) and not _answered(facts, endpoint) else ""


def invalid(proxy: HTTPProxy) -> str:
    """The error for which Contour serves nothing of a HTTPProxy, as text; empty if there is none."""
    if is_outdated(proxy, proxy.conditions):
        return ""
    found = (each for each in proxy.conditions if (each.type, each.status) == ("Valid", "False"))
    error = next((each for of_one in found for each in of_one.errors if each.type in _TERMINAL), None)
    return f"{proxy.reference} status: Valid is False, {error.reason[:100]}" if error else ""


def refusal_of(facts: Facts, endpoint: Endpoint) -> str:
    """The reason why nothing need be served for ``endpoint``, although something may be: Contour serves an invalid
    HTTPProxy in part."""
    proxy = proxy_of(facts, endpoint)
    status = proxy.current_status if proxy is not None else ""
    return f"Contour's status of {proxy.reference} is {shown(status)}" if proxy and status.lower() in _REFUSED else ""


def _reasons(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    """For each object of the endpoint the reason why it serves nothing; empty if it serves something."""
    proxy = proxy_of(facts, endpoint)
    if proxy is not None and (why := invalid(proxy)):
        yield why
        return
    every = gateway_listeners(facts.snapshot, endpoint)
    listeners = {f"{each.holder.reference} listener {each.name}": each for each in every}
    found: dict[str, list[Reference]] = {}
    current = not outdated(facts, endpoint)  # else the proxy may still have other references
    for each in references(facts, endpoint) if current else ():
        found.setdefault(each.who, []).append(each)
    for who in dict.fromkeys((*listeners, *found)):
        of_status = rejected(facts, listeners[who]) if who in listeners else ""
        yield of_status or _missing_grant(found.get(who, []))


def _missing_grant(every: list[Reference]) -> str:
    if every and all(each.allowed is False for each in every):
        return f"{every[0].who} refers to Secret/{'/'.join(every[0].secret)} without a grant"
    return ""


def rejected(facts: Facts, listener: Listener) -> str:
    """The current condition by which the controller rejects a listener, or the Gateway that does not admit its
    ListenerSet, as text; empty if there is none."""
    holder, gateway = listener.holder, gateway_of(facts.snapshot, listener.holder)
    if isinstance(holder, ListenerSet) and gateway and admitted(facts.snapshot, gateway, holder) is False:
        return f"{gateway.reference} does not admit {holder.reference}"
    found = rejection(listener) or _unresolved(listener)
    if found is None:
        return ""
    where = f"{listener.holder.reference} status.listeners[{listener.name}]"
    return f"{where}: {found.type} is {found.status}, {found.reason}"


def _unresolved(listener: Listener) -> Condition | None:
    """The condition that leaves a listener without its only certificate. With several, some may be served."""
    found = of_type(listener.conditions, "ResolvedRefs")
    if found is None or found.status != "False" or not found.is_current(listener.holder):
        return None
    return found if found.reason in _CERTIFICATE and len(listener.tls.certificate_refs) < 2 else None


def _answered(facts: Facts, endpoint: Endpoint) -> bool:
    """True if another listener at that place answers the name too: a wildcard listener, or Contour's fallback."""
    return answered(facts, endpoint.server_name or "", endpoint, but=endpoint.id)


def answered(facts: Facts, name: str, place: Endpoint, but: str = "") -> bool:
    """True if a listener at the address and port of ``place`` answers ``name``. ``but``: an endpoint id to ignore."""
    for each in facts.at_place(place):
        if each.id != but and each.segment != "Backend":
            found = hostnames(facts, each)
            if any(not hostname or hostname == name or within(name, hostname) for hostname in found):
                return True
    return False


def hostnames(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    """The server names that the listener of ``endpoint`` answers; an empty string means all."""
    for listener in gateway_listeners(facts.snapshot, endpoint):
        if not rejected(facts, listener):
            yield listener.hostname
    proxy = proxy_of(facts, endpoint)
    if proxy is not None and not invalid(proxy):
        yield proxy.fqdn.lower()
        yield from [""] if proxy.tls.enable_fallback_certificate else []
    subject = endpoint.subject
    if subject is not None and subject.kind == INGRESS.name:
        yield endpoint.server_name or ""
