"""An index of the snapshot for sources, and the paths from objects to listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from scanner.discover import services, workloads
from scanner.discover.listener_claims import Claim, ClaimAuthority, Found, PlacedClaim, untrusted_claim
from scanner.discover.services import Service, ServicePort, Services
from scanner.discover.truncation import Cuts, Omission
from scanner.discover.workloads import Place, Pod, Workloads
from scanner.kube.hostnames import address, port, server_name, valid_names
from scanner.kube.ingress import ROUTER_LABEL, ROUTER_NAMESPACE, IngressController
from scanner.kube.kinds import INGRESS_CONTROLLER, Kind
from scanner.kube.meta import LabelSelector
from scanner.kube.snapshot import Snapshot
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Origin, Owner

_ROUTER_READS = (INGRESS_CONTROLLER,)


class Router(Struct, frozen=True, kw_only=True):
    """One IngressController and the places where it listens for TLS."""

    controller: IngressController
    name: str
    places: tuple[Place, ...]
    """The primary address of each pod: every name is probed there. The other address family reaches the same
    process."""
    services: tuple[str, ...]
    """Its Services, in order of preference if no pod is known."""
    hostnames: tuple[str, ...]
    """Names of the router in Routes and Ingresses."""
    namespace: str = ROUTER_NAMESPACE


def routers_of(snapshot: Snapshot, workloads: Workloads) -> dict[str, Router]:
    """Routers by the name of their IngressController."""
    every = map(IngressController.of, snapshot.every(INGRESS_CONTROLLER))
    return {each.name: _router(each, workloads) for each in every if valid_names(each.name)}


def _router(controller: IngressController, workloads: Workloads) -> Router:
    name, domain = controller.name, controller.domain
    canonical = server_name(f"router-{name}.{domain}") if domain else None
    return Router(
        controller=controller,
        name=name,
        places=tuple(_places(controller, workloads)),
        services=(f"router-internal-{name}", f"router-{name}", f"router-nodeport-{name}"),
        hostnames=(canonical,) if canonical else (),
    )


def _places(controller: IngressController, workloads: Workloads) -> Iterator[Place]:
    for pod in workloads.select(ROUTER_NAMESPACE, LabelSelector({"matchLabels": {ROUTER_LABEL: controller.name}})):
        number = (port(controller.https_port) if pod.host_network else None) or pod.port_number("https") or 443
        yield from workloads.places(pod, number)[:1]


READS = (*workloads.READS, *services.READS, *_ROUTER_READS)


MAX_LED = 100_000
"""Limit of claims by objects of one namespace on places behind one Service."""


class Index:
    def __init__(self, snapshot: Snapshot, catalogue: Catalogue, *, via_port_forward: bool) -> None:
        self.snapshot = snapshot
        self.catalogue = catalogue
        # A port-forward ends at the pod's loopback, so two addresses of a pod would be the same listener.
        self.cuts = Cuts()
        self.workloads = Workloads(snapshot, self.cuts, primary_only=via_port_forward)
        self.services = Services(snapshot, self.workloads, self.cuts)
        self.routers = routers_of(snapshot, self.workloads)
        self.authority = ClaimAuthority(self.workloads, catalogue)
        self._same: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._origins: dict[tuple[int, ...], tuple[Origin, ...]] = {}
        self._kept: list[Origin] = []
        """Keeps these objects alive, so that their ``id()`` is not reused."""
        self._entries: dict[tuple[str | None, tuple[str, ...], int, bool], Listener | None] = {}

    def same(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The first equal tuple, so that replicas share one."""
        return self._same.setdefault(texts, texts)

    def origins(self, origins: list[Origin]) -> tuple[Origin, ...]:
        """Distinct origins as a tuple that replicas share."""
        key = tuple(map(id, origins))
        found = self._origins.get(key)
        if found is None:
            self._kept += origins
            found = self._origins[key] = tuple(dict.fromkeys(origins)) if len(origins) > 1 else tuple(origins)
        return found

    def entry(self, namespace: str | None, names: tuple[str, ...], number: int, *, on_node: bool) -> Listener | None:
        """The catalogue's entry for a port; cached for replicas."""
        key = (namespace, names, number, on_node)
        if key not in self._entries:
            self._entries[key] = self.catalogue.find(namespace, names, number, on_node=on_node)
        return self._entries[key]

    def of_pod(self, pod: Pod, number: int, claim: Claim) -> list[PlacedClaim]:
        return [PlacedClaim(claim, place, pod.ready) for place in self.workloads.places(pod, number)]

    def at_pod(self, pod: Pod, number: int, claim: Claim) -> list[PlacedClaim]:
        """``claim`` at each address of a pod, checked for its authority."""
        found = self.of_pod(pod, number, claim)
        return [each if self.authority.counts_at(claim, each.place) else _untrusted(each) for each in found]

    def through(
        self, service: Service, service_port: ServicePort, claim: Claim, *, published: bool = False
    ) -> Iterator[Found]:
        """``claim`` at each backend of a Service's port; without any, at the Service itself. ``published``: the address
        of its load balancer led here."""
        aliases = service.aliases(service_port)
        backends = self.services.backends(service, service_port)
        if backends and self._enough(service, claim, len(backends)):
            return
        own = service.namespace if claim.writer in (None, service.namespace) else None
        for place, ready in backends:
            found = PlacedClaim(claim, place, ready, aliases, ready)
            at_home = place.pod is not None and place.pod.namespace == own  # nearly always
            accepts = at_home or self.authority.accepts(service, place, claim, published=published)
            yield found if accepts else _untrusted(found)
        if not backends and service_port not in service.cut:
            yield from self._balanced(service, service_port, claim, aliases)

    def _enough(self, service: Service, claim: Claim, more: int) -> bool:
        """True if one namespace's objects have made too many claims on one Service."""
        if claim.writer is None:
            return False
        claim_counts = service.claim_counts[claim.writer] = service.claim_counts.get(claim.writer, 0) + more
        if claim_counts <= MAX_LED:
            return False
        what = f"what objects of a namespace say of places behind one Service beyond the first {MAX_LED:,}"
        self.cuts.note(what, f"{claim.writer} {service.dns}", claim_counts - MAX_LED)
        return True

    def _balanced(
        self, service: Service, service_port: ServicePort, claim: Claim, aliases: tuple[str, ...]
    ) -> Iterator[Found]:
        """The Service's own address, if it has no backends or they could not be read.

        Only a Service that selects pods is dialled: another one may lead anywhere, and its address would hide where.
        """
        unknown = self.services.slices_gap is not None
        if not self.authority.counts_at(claim, Place("", service_port.number, owner=service.owner)):
            claim = untrusted_claim(claim)
        if unknown and not service.raw.selector:
            yield Omission("Services without a selector, whose backends could not be read")
            return
        for each in service.addresses[:1]:
            place = Place(each, service_port.number, owner=service.owner, labels=service.labels, sampled=unknown)
            yield PlacedClaim(claim, place, unknown, aliases)
        if not service.addresses and claim.certainty == "declared":
            place = Place("", service_port.number, host=service.dns, owner=service.owner, labels=service.labels)
            yield PlacedClaim(claim, place, ready=False)
        elif not service.addresses:
            yield Omission("Services with neither an address nor endpoints")

    def behind(self, host: str, number: int, claim: Claim) -> Iterator[Found]:
        """``claim`` at the backends of a published address: of its load balancer, a router's pods, or a node. Nothing
        if the cluster does not show them."""
        router = self.router_at(host)
        if router:
            yield from self.at_router(router, claim)
            return
        for service in self.services.at(host):
            service_port = service.port(number)
            if service_port:
                yield from self.through(service, service_port, claim, published=host in service.published)
                return
        for place in self.workloads.at(host, number):
            if self.authority.counts_at(claim, place):
                yield PlacedClaim(claim, place)
            elif claim.beyond != "fronts" or self.authority.serving(place) != "unknown":
                yield _untrusted(PlacedClaim(claim, place))

    def behind_or_at(
        self, host: str, number: int, claim: Claim, owner: Owner, *, sampled: bool = True, apart: str = ""
    ) -> Iterator[Found]:
        """``claim`` at what is ``behind`` a published address, else at the address itself, as ``owner``'s."""
        where = address(host)
        place = Place(where or "", number, host="" if where else host, owner=owner, sampled=sampled, apart=apart)
        yield from list(self.behind(host, number, claim)) or [PlacedClaim(claim, place)]

    def router_at(self, host: str) -> Router | None:
        """The router with this published name."""
        return next((each for each in self.routers.values() if host in each.hostnames), None)

    def at_router(self, router: Router, claim: Claim) -> Iterator[Found]:
        """``claim`` at each of a router's pods; if none is known, at its Service."""
        for place in router.places:
            yield PlacedClaim(claim, place, place.pod is None or place.pod.ready)
        if router.places:
            return
        for name in router.services:
            if found := self.services.with_port(router.namespace, name, 443):
                yield from self.through(*found, claim)
                return


def _untrusted(draft: PlacedClaim) -> PlacedClaim:
    """Reduce a claim without authority to its record."""
    ready = draft.place.pod.ready if draft.place.pod else draft.ready
    return PlacedClaim(untrusted_claim(draft.claim), draft.place, ready)


class Source(Struct, frozen=True, kw_only=True):
    """A source of listeners in the cluster's objects."""

    name: str
    reads: tuple[Kind, ...] = ()
    """Kinds that it reads, beside those of the index."""
    find: Callable[[Index], Iterator[Found]]
