"""Listeners that serve nothing, by their controller's status or for want of a grant; and status of an older generation.

Where a status is not that of the present spec, what listens may still be what the objects said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from scanner.expect.contour import proxy_of
from scanner.expect.declared_secrets import Reference, references
from scanner.expect.facts import Facts, gateway_listeners, gateways
from scanner.files.source_positions import shown
from scanner.kube.gateway import HOLDER_NAMES, Listener, rejection
from scanner.kube.hostnames import within
from scanner.kube.kinds import HTTP_PROXY, INGRESS, TLS_ROUTE
from scanner.kube.meta import Condition, conditions, of_type
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint

_SOME_LISTENERS: Final = "ListenersNotValid"
"""Contour's reason for a Gateway that is not programmed while its other listeners are."""


def is_stale(holder: KubeObject, conditions: Iterable[Condition]) -> bool:
    """Whether one of these conditions was set for an older generation of ``holder``."""
    return not all(each.is_current(holder) for each in conditions)


def stale_status(facts: Facts, endpoint: Endpoint) -> str:
    """Why a proxy may not yet have the configuration of ``endpoint``; empty: nothing says so.

    Of Gateways also that they are not programmed: then no object says what answers at their addresses.
    """
    if endpoint.segment == "Backend":
        return ""
    return next(filter(None, (*_of_status(facts, endpoint, _of_conditions), outdated(facts, endpoint))), "")


def outdated(facts: Facts, endpoint: Endpoint) -> str:
    """Which of the objects that lead to ``endpoint`` has changed since its controller last spoke of it."""
    reasons = _of_status(facts, endpoint, _older)
    proxy = proxy_of(facts, endpoint)
    of_proxy = _older(proxy, conditions(proxy)) if proxy is not None else ""
    return next(filter(None, (*reasons, of_proxy)), "")


def _of_status(facts: Facts, endpoint: Endpoint, says: _Reader) -> Iterator[str]:
    """What ``says`` makes of each status of the endpoint's Gateways and of its listeners there."""
    listeners = list(gateway_listeners(facts.snapshot, endpoint))
    names = {each.name for each in listeners}
    holders = (*(each.holder for each in listeners), *gateways(facts.snapshot, endpoint))
    for holder in {each.reference: each for each in holders}.values():
        yield says(holder, holder.conditions, spoken=bool(holder.listener_statuses))
        for status in holder.listener_statuses:
            if status.name in names:
                yield says(holder, status.conditions)


def _older(holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str:
    del spoken
    return f"the status of {holder.reference} is that of an older generation" if is_stale(holder, every) else ""


def _of_conditions(holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str:
    """``spoken``: whether each listener speaks for itself."""
    if older := _older(holder, every):
        return older
    for each in every:
        if each.type == "Programmed" and each.reason == _SOME_LISTENERS and spoken:
            continue
        if each.type == "Programmed" and not each.holds:
            return f"{holder.reference} is not programmed ({shown(each.status)}, {shown(each.reason)})"
    return ""


class _Reader(Protocol):
    def __call__(self, holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str: ...


_CERTIFICATE: Final = frozenset({"InvalidCertificateRef", "RefNotPermitted"})
"""Reasons of ``ResolvedRefs`` that leave a listener with one certificate without any."""
_KINDS: Final = frozenset({HTTP_PROXY.name, INGRESS.name, TLS_ROUTE.name, *HOLDER_NAMES})


def rejection_of(facts: Facts, endpoint: Endpoint) -> str:
    """Why nothing is to be served under ``endpoint``'s name; empty where something is, or another listener of the same
    place may answer."""
    subject = endpoint.subject
    if endpoint.segment == "Backend" or subject is None or subject.kind not in _KINDS:
        return ""
    reasons = tuple(_reasons(facts, endpoint))
    return reasons[0] if reasons and all(reasons) and not _answered(facts, endpoint) else ""


def _reasons(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    """For each object that leads there why it serves nothing; empty where it does."""
    every = gateway_listeners(facts.snapshot, endpoint)
    listeners = {f"{each.holder.reference} listener {each.name}": each for each in every}
    said: dict[str, list[Reference]] = {}
    settled = not outdated(facts, endpoint)  # else whoever serves it may not have been told what is named now
    for each in references(facts, endpoint) if settled else ():
        said.setdefault(each.who, []).append(each)
    for who in dict.fromkeys((*listeners, *said)):
        of_status = rejected(listeners[who]) if who in listeners else ""
        yield of_status or _ungranted(said.get(who, []))


def _ungranted(every: list[Reference]) -> str:
    if every and all(each.allowed is False for each in every):
        return f"{every[0].who} names Secret/{'/'.join(every[0].secret)}, which is not granted to it"
    return ""


def rejected(listener: Listener) -> str:
    """The condition of the present generation by which the controller says that a listener serves nothing, or ""."""
    found = rejection(listener) or _unresolved(listener)
    if found is None:
        return ""
    where = f"{listener.holder.reference} status.listeners[{listener.name}]"
    return f"{where}: {found.type} is {found.status}, {found.reason}"


def _unresolved(listener: Listener) -> Condition | None:
    """The condition that leaves a listener without its only certificate. Of several some may be served."""
    found = of_type(listener.conditions, "ResolvedRefs")
    if found is None or found.status != "False" or not found.is_current(listener.holder):
        return None
    return found if found.reason in _CERTIFICATE and len(listener.tls.certificate_refs) < 2 else None


def _answered(facts: Facts, endpoint: Endpoint) -> bool:
    """Whether another listener at that place answers the name too: a listener for more names, or Contour's fallback."""
    return answered(facts, endpoint.server_name or "", endpoint, but=endpoint.id)


def answered(facts: Facts, name: str, place: Endpoint, but: str = "") -> bool:
    """Whether what is served at ``place`` answers ``name``; ``but``: an endpoint whose own word does not count."""
    for each in facts.at_place(place):
        if each.id != but and each.segment != "Backend":
            found = hostnames(facts, each)
            if any(not hostname or hostname == name or within(name, hostname) for hostname in found):
                return True
    return False


def hostnames(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    """The names that what serves ``endpoint`` answers; empty for all."""
    for listener in gateway_listeners(facts.snapshot, endpoint):
        if not rejected(listener):
            yield listener.hostname
    proxy = proxy_of(facts, endpoint)
    if proxy is not None:
        yield proxy.fqdn.lower()
        yield from [""] if proxy.tls.enable_fallback_certificate else []
    subject = endpoint.subject
    if subject is not None and subject.kind == INGRESS.name:
        yield endpoint.server_name or ""
