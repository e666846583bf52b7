"""Claims by sources that something listens at a place, before they are merged, and the authority of their writers.

Claims of the listener's namespace, of the platform, and of the cluster's administrators count. A user who may write an
EndpointSlice can point a Service at any address of the cluster, and a Route or a BackendTLSPolicy at that Service.
Claims of such objects on other namespaces' listeners are recorded, but decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from scanner.discover.services import Service
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Place, Pod, Workloads
from scanner.kube.objects import KubeObject
from scanner.model.components import API_SERVICE, Catalogue, Listener
from scanner.model.endpoint import Certainty, Origin, Segment
from scanner.model.observation import ClientCertificate
from scanner.values import replace

Naming = Literal["soft", "also", "only"]
"""Effect of a server name on a listener. ``soft``: clients verify it, and it is sent if nothing better is known; the
listener stays one endpoint. ``also``: the listener has another certificate or route for it, beside the one without a
name; in a claim without a name: what is served without one matters, so no soft name is sent. ``only``: the listener is
probed with this name, and without one only if another claim says so."""


class Claim(Struct, kw_only=True):
    """The claim of a source on one or several places."""

    certainty: Certainty
    origin: Origin
    beside: tuple[Origin, ...] = ()
    """Other origins of the same claim."""
    name: str | None = None
    """A server name, validated and in lower case."""
    naming: Naming = "soft"
    segment: Segment | None = None
    subject: KubeObject | None = None
    """The object that configures what is served under ``name``."""
    loopback: bool | None = None
    """True if it is bound to loopback only; None if unknown."""
    expects: ClientCertificate | None = None
    sampled: bool = False
    """Another listener answers under this name and cannot be dialled: a passthrough without known backends."""
    app_protocol: str = ""
    """The protocol by the object (appProtocol)."""
    known_port: int | None = None
    """The port by which the catalogue knows the listener, if this cluster has moved it."""
    guess: bool = False
    """Only the catalogue says so: no object shows that it exists."""
    writer: str | None = None
    """Namespace of the object; None: it belongs to the cluster, or claims its own pods."""
    beyond: Literal["", "fronts", "users"] = ""
    """Scope beside the writer's namespace: routers and gateways, or everything but the platform."""
    untrusted: bool = False
    """The claim does not count at this place: only its existence is kept."""


class PlacedClaim(NamedTuple):
    """A claim on one place."""

    claim: Claim
    place: Place
    ready: bool = True
    aliases: tuple[str, ...] = ()
    """Addresses of Services that lead to the place."""
    called: bool = False
    """A client outside of the pod connects there, and the cluster shows that this works."""


Found: TypeAlias = "PlacedClaim | Omission"


def reached(found: Iterable[Found]) -> bool:
    """True if one of the claims counts."""
    return any(isinstance(each, PlacedClaim) and not each.claim.untrusted for each in found)


def verified(origin: Origin, dns: str, subject: KubeObject) -> Claim:
    """TLS that a client of a Service verifies with the Service's name, the only name that is probed."""
    return Claim(certainty="declared", origin=origin, name=dns, naming="only", subject=subject)


def frontend(origin: Origin, name: str, subject: KubeObject) -> Claim:
    """A name that a router or gateway serves for ``subject``, beside other names."""
    return Claim(
        certainty="declared",
        origin=origin,
        name=name,
        naming="also",
        segment="Frontend",
        subject=subject,
        writer=subject.namespace,
        beyond="fronts",
    )


def backend(origin: Origin, name: str | None, writer: str | None) -> Claim:
    """A backend that a router or gateway connects to by TLS, or passes TLS through to, by an object of ``writer``."""
    return Claim(certainty="declared", origin=origin, name=name, segment="Backend", writer=writer)


_FRONTS = ("ingress", "gateway")
"""Governors of components that serve names of other namespaces."""

Served = Literal["front", "other", "unknown"]


def untrusted_claim(claim: Claim) -> Claim:
    """The record of a claim that does not count at its place."""
    return Claim(certainty="candidate", origin=replace(claim.origin, foreign=True), guess=True, untrusted=True)


class ClaimAuthority(Struct, frozen=True):
    """The authority of claims."""

    workloads: Workloads
    catalogue: Catalogue

    def accepts(self, service: Service, place: Place, claim: Claim, *, published: bool) -> bool:
        """True if ``claim`` counts at a backend of ``service``; ``published``: its load balancer's address led here."""
        own = service.namespace
        if (own, service.name) != API_SERVICE and not self.may_decide(own, place):
            return False
        return claim.writer in (None, own) or self.counts_at(claim, place, published=published)

    def counts_at(self, claim: Claim, place: Place, *, published: bool = False) -> bool:
        """True if ``claim`` counts at ``place``, however it was reached."""
        if self.may_decide(claim.writer, place):
            return True
        if claim.beyond == "users":
            return place.pod is not None and not self.is_platform(place.pod.namespace)
        return claim.beyond == "fronts" and self.serving(place, published=published) == "front"

    def may_decide(self, namespace: str | None, place: Place) -> bool:
        """True if an object of ``namespace`` may decide about a place. None: an object of the cluster."""
        if namespace is None or self.is_platform(namespace):
            return True
        if place.pod is not None:
            return place.pod.namespace == namespace
        if place.node is not None:
            return any(pod.namespace == namespace for pod in self.workloads.on_node.get(place.node, ()))
        return place.owner is None or place.owner.namespace in (None, namespace)

    def is_platform(self, namespace: str | None) -> bool:
        """True if only administrators write to the namespace. All users may write to ``default``."""
        return namespace is not None and _is_platform(namespace, self.catalogue.platform_namespaces)

    def serving(self, place: Place, *, published: bool = False) -> Served:
        """The kind of server at a place: a router or gateway, which serves names of others; something else; or
        unknown."""
        if place.pod is None and place.node is None:
            return "front"
        pods = [place.pod] if place.pod else list(self._on(place.node, place.port))
        if not pods:
            return "other" if self.catalogue.find(None, (), place.port, on_node=True) else "unknown"
        fronts = all(self._is_front(pod, place, published=published) for pod in pods)
        return "front" if fronts else "other"

    def _is_front(self, pod: Pod, place: Place, *, published: bool) -> bool:
        entry = self._entry(pod, place.port)
        if entry is not None:
            return entry.governor in _FRONTS
        return published or place.pod is None or not self.is_platform(pod.namespace)

    def _on(self, node: str | None, number: int) -> Iterator[Pod]:
        """Pods that listen on a port of a node."""
        for pod in self.workloads.on_node.get(node, ()):
            if self._entry(pod, number) or any(each.number == number for one in pod.containers for each in one.ports):
                yield pod
        yield from self.workloads.with_host_port(node, number)

    def _entry(self, pod: Pod, number: int) -> Listener | None:
        return self.catalogue.find(pod.namespace, (pod.owner.name,), number, on_node=pod.vantage is not None)


@lru_cache(maxsize=1 << 12)
def _is_platform(namespace: str, patterns: tuple[str, ...]) -> bool:
    return namespace != "default" and any(namespace == each or fnmatchcase(namespace, each) for each in patterns)
