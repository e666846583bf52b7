"""Whose word counts for a listener: that of its own namespace, of the platform, and of the cluster's administrators.

Whoever may write an EndpointSlice can point a Service of his at any address of the cluster, and a Route or a
BackendTLSPolicy at that Service. What such objects say of the listeners of others is noted, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from scanner.discover.listener_claims import Claim
from scanner.discover.services import Service
from scanner.discover.workloads import Place, Pod, Workloads
from scanner.model.components import API_SERVICE, Catalogue, Listener

_FRONTS = ("ingress", "gateway")
"""What governs components that serve other namespaces' names."""

Served = Literal["front", "other", "nobody"]


def stranger(claim: Claim) -> Claim:
    """What is left of a claim of somebody who has no say: that it was made."""
    return Claim(certainty="candidate", origin=replace(claim.origin, foreign=True), guess=True, stranger=True)


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may say what."""

    workloads: Workloads
    catalogue: Catalogue

    def heard(self, service: Service, place: Place, claim: Claim, *, published: bool) -> bool:
        """Whether ``claim`` counts at a backend of ``service``; ``published``: its load balancer's address led here."""
        own = service.namespace
        if (own, service.name) != API_SERVICE and not self.may(own, place):
            return False
        return claim.writer in (None, own) or self.weighs(claim, place, published=published)

    def weighs(self, claim: Claim, place: Place, *, published: bool = False) -> bool:
        """Whether ``claim`` counts at ``place``, whatever led there."""
        if self.may(claim.writer, place):
            return True
        if claim.beyond == "users":
            return place.pod is not None and not self.is_platform(place.pod.namespace)
        return claim.beyond == "fronts" and self.served(place, published=published) == "front"

    def may(self, namespace: str | None, place: Place) -> bool:
        """Whether somebody with the rights of ``namespace`` may decide about a place. None: of the cluster."""
        if namespace is None or self.is_platform(namespace):
            return True
        if place.pod is not None:
            return place.pod.namespace == namespace
        if place.node is not None:
            return any(pod.namespace == namespace for pod in self.workloads.on_node.get(place.node, ()))
        return place.owner is None or place.owner.namespace in (None, namespace)

    def is_platform(self, namespace: str) -> bool:
        """Whether only administrators write there. ``default`` is everybody's."""
        return _is_platform(namespace, self.catalogue.platform_namespaces)

    def served(self, place: Place, *, published: bool = False) -> Served:
        """Who serves a place: a router or gateway, which has others' names on it, something else, or nobody known."""
        if place.pod is None and place.node is None:
            return "front"
        pods = [place.pod] if place.pod else list(self._on(place.node or "", place.port))
        if not pods:
            return "other" if self.catalogue.find(None, (), place.port, on_node=True) else "nobody"
        fronts = all(self._is_front(pod, place, published=published) for pod in pods)
        return "front" if fronts else "other"

    def _is_front(self, pod: Pod, place: Place, *, published: bool) -> bool:
        entry = self._entry(pod, place.port)
        if entry is not None:
            return entry.governor in _FRONTS
        return published or place.pod is None or not self.is_platform(pod.namespace)

    def _on(self, node: str, number: int) -> Iterator[Pod]:
        """Pods that have a port of a node."""
        for pod in self.workloads.on_node.get(node, ()):
            if self._entry(pod, number) or any(each.number == number for one in pod.containers for each in one.ports):
                yield pod
        yield from self.workloads.with_host_port(node, number)

    def _entry(self, pod: Pod, number: int) -> Listener | None:
        return self.catalogue.find(pod.namespace, (pod.owner.name,), number, on_node=pod.vantage is not None)


@lru_cache(maxsize=1 << 12)
def _is_platform(namespace: str, patterns: tuple[str, ...]) -> bool:
    return namespace != "default" and any(namespace == each or fnmatchcase(namespace, each) for each in patterns)
