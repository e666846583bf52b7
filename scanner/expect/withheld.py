"""Listeners that serve nothing: their controller says so, or nobody has let them use their certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.expect import contour
from scanner.expect.facts import Facts
from scanner.expect.origins import gateway_listeners
from scanner.expect.references import Reference, references
from scanner.expect.stale import outdated
from scanner.kube.gateway import HOLDER_NAMES, Listener, rejection
from scanner.kube.hostnames import within
from scanner.kube.kinds import HTTP_PROXY, INGRESS, TLS_ROUTE
from scanner.kube.meta import Condition, of_type
from scanner.model.endpoint import Endpoint

_CERTIFICATE: Final = frozenset({"InvalidCertificateRef", "RefNotPermitted"})
"""Reasons of ``ResolvedRefs`` that leave a listener with one certificate without any."""
_KINDS: Final = frozenset({HTTP_PROXY.name, INGRESS.name, TLS_ROUTE.name, *HOLDER_NAMES})


def withheld(facts: Facts, endpoint: Endpoint) -> str:
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
        of_status = refused(listeners[who]) if who in listeners else ""
        yield of_status or _ungranted(said.get(who, []))


def _ungranted(every: list[Reference]) -> str:
    if every and all(each.allowed is False for each in every):
        return f"{every[0].who} names Secret/{'/'.join(every[0].secret)}, which is not granted to it"
    return ""


def refused(listener: Listener) -> str:
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
    """Whether somebody else at that place answers the name too: a listener for more names, or Contour's fallback."""
    return answered(facts, endpoint.server_name or "", endpoint, but=endpoint.id)


def answered(facts: Facts, name: str, place: Endpoint, but: str = "") -> bool:
    """Whether what is served at ``place`` answers ``name``; ``but``: an endpoint whose own word does not count."""
    for each in facts.listening.get((place.address, place.port), ()):
        if each.id != but and each.segment != "Backend":
            found = hostnames(facts, each)
            if any(not hostname or hostname == name or within(name, hostname) for hostname in found):
                return True
    return False


def hostnames(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    """The names that what serves ``endpoint`` answers; empty for all."""
    for listener in gateway_listeners(facts.snapshot, endpoint):
        if not refused(listener):
            yield listener.hostname
    proxy = contour.proxy_of(facts, endpoint)
    if proxy is not None:
        yield proxy.fqdn.lower()
        yield from [""] if proxy.tls.enable_fallback_certificate else []
    subject = endpoint.subject
    if subject is not None and subject.kind == INGRESS.name:
        yield endpoint.server_name or ""
