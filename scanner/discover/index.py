"""The snapshot as sources look at it: indexes that are built once, and the ways from one object to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scanner.discover import services, workloads
from scanner.discover.claim_authority import Trust, stranger
from scanner.discover.listener_claims import Claim, Draft, Found
from scanner.discover.services import Balanced, Service, ServicePort
from scanner.discover.truncation import Cuts, Omission
from scanner.discover.workloads import Place, Pod, Workloads
from scanner.kube.hostnames import port, server_name, sound
from scanner.kube.ingress import ROUTER_LABEL, ROUTER_NAMESPACE, IngressController
from scanner.kube.kinds import INGRESS_CONTROLLER, Kind
from scanner.kube.meta import LabelSelector
from scanner.kube.snapshot import Snapshot
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Origin

_ROUTER_READS = (INGRESS_CONTROLLER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """One IngressController and where it listens for TLS."""

    controller: IngressController
    name: str
    places: tuple[Place, ...]
    """Its pods' primary address each: every name is asked there. The other family leads to the same process."""
    services: tuple[str, ...]
    """Services that lead to it, in the order in which they are tried where no pod is known."""
    hostnames: tuple[str, ...]
    """The names under which Routes and Ingresses say that it is reached."""
    namespace: str = ROUTER_NAMESPACE


def routers_of(snapshot: Snapshot, workloads: Workloads) -> dict[str, Router]:
    """Every router by the name of its IngressController."""
    every = map(IngressController.of, snapshot.every(INGRESS_CONTROLLER))
    return {each.name: _router(each, workloads) for each in every if sound(each.name)}


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
"""What the objects of one namespace may say of places behind one Service."""


class Index:
    """A snapshot, indexed."""

    def __init__(self, snapshot: Snapshot, catalogue: Catalogue, *, via_port_forward: bool) -> None:
        self.snapshot = snapshot
        self.catalogue = catalogue
        # A tunnel ends at the pod's own loopback: two addresses of a pod would be one listener asked twice.
        self.cuts = Cuts()
        self.workloads = Workloads(snapshot, self.cuts, primary_only=via_port_forward)
        self.balanced = Balanced(snapshot, self.workloads, self.cuts)
        self.routers = routers_of(snapshot, self.workloads)
        self.trust = Trust(self.workloads, catalogue)
        self._same: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._origins: dict[tuple[int, ...], tuple[Origin, ...]] = {}
        self._kept: list[Origin] = []
        """So that no others can take over their identity."""
        self._entries: dict[tuple[str | None, tuple[str, ...], int, bool], Listener | None] = {}

    def same(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """These texts, as the first of the replicas that have them has them: kept once."""
        return self._same.setdefault(texts, texts)

    def origins(self, origins: list[Origin]) -> tuple[Origin, ...]:
        """These origins, each once, as the first of the replicas has them: replicas share what is claimed of them."""
        key = tuple(map(id, origins))
        found = self._origins.get(key)
        if found is None:
            self._kept += origins
            found = self._origins[key] = tuple(dict.fromkeys(origins)) if len(origins) > 1 else tuple(origins)
        return found

    def entry(self, namespace: str | None, names: tuple[str, ...], number: int, *, on_node: bool) -> Listener | None:
        """What the catalogue knows of a port; asked once for all replicas."""
        key = (namespace, names, number, on_node)
        if key not in self._entries:
            self._entries[key] = self.catalogue.find(namespace, names, number, on_node=on_node)
        return self._entries[key]

    def of_pod(self, pod: Pod, number: int, claim: Claim, aliases: tuple[str, ...] = ()) -> list[Draft]:
        """``claim`` at each address of a pod."""
        return [Draft(claim, place, pod.ready, aliases) for place in self.workloads.places(pod, number)]

    def said_of(self, pod: Pod, number: int, claim: Claim) -> list[Draft]:
        """``claim`` of an object of another namespace, perhaps, at each address of a pod."""
        found = self.of_pod(pod, number, claim)
        return [each if self.trust.weighs(claim, each.place) else _noted(each) for each in found]

    def through(
        self, service: Service, wanted: ServicePort, claim: Claim, *, published: bool = False
    ) -> Iterator[Found]:
        """``claim`` at each backend of a Service's port; where there is none, at the Service itself. ``published``: it
        is the address of its load balancer that led here."""
        aliases = service.aliases(wanted)
        backends = self.balanced.backends(service, wanted)
        if backends and self._enough(service, claim, len(backends)):
            return
        own = service.namespace if claim.writer in (None, service.namespace) else None
        for place, ready in backends:
            found = Draft(claim, place, ready, aliases, ready)
            at_home = place.pod is not None and place.pod.namespace == own  # nearly always
            heard = at_home or self.trust.heard(service, place, claim, published=published)
            yield found if heard else _noted(found)
        if not backends and wanted not in service.cut:
            yield from self._balanced(service, wanted, claim, aliases)

    def _enough(self, service: Service, claim: Claim, more: int) -> bool:
        """Whether one namespace's objects have said so much of one Service that no more is listened to."""
        if claim.writer is None:
            return False
        led = service.led[claim.writer] = service.led.get(claim.writer, 0) + more
        if led <= MAX_LED:
            return False
        what = f"what objects of a namespace say of places behind one Service beyond the first {MAX_LED:,}"
        self.cuts.note(what, f"{claim.writer} {service.dns}", led - MAX_LED)
        return True

    def _balanced(
        self, service: Service, wanted: ServicePort, claim: Claim, aliases: tuple[str, ...]
    ) -> Iterator[Found]:
        """Without backends: nothing listens, or what does could not be read. Only a Service that selects pods is
        dialled: another one may lead anywhere, and its address would hide where."""
        unknown = self.balanced.slices_gap is not None
        if not self.trust.weighs(claim, Place("", wanted.number, owner=service.owner)):
            claim = stranger(claim)
        if unknown and not service.raw.selector:
            yield Omission("Services without a selector, whose backends could not be read")
            return
        for each in service.addresses[:1]:
            place = Place(each, wanted.number, owner=service.owner, labels=service.labels, sampled=unknown)
            yield Draft(claim, place, unknown, aliases)
        if not service.addresses and claim.certainty == "declared":
            place = Place("", wanted.number, host=service.dns, owner=service.owner, labels=service.labels)
            yield Draft(claim, place, ready=False)
        elif not service.addresses:
            yield Omission("Services with neither an address nor endpoints")

    def behind(self, host: str, number: int, claim: Claim) -> Iterator[Found]:
        """``claim`` at what answers for a published address: the backends of its load balancer, a router's pods, or
        a node. Nothing where the cluster does not say what answers."""
        router = self.router_at(host)
        if router:
            yield from self.at_router(router, claim)
            return
        for service in self.balanced.at(host):
            wanted = service.port(number)
            if wanted:
                yield from self.through(service, wanted, claim, published=host in service.published)
                return
        for place in self.workloads.at(host, number):
            if self.trust.weighs(claim, place):
                yield Draft(claim, place)
            elif claim.beyond != "fronts" or self.trust.served(place) != "nobody":
                yield _noted(Draft(claim, place))

    def router_at(self, host: str) -> Router | None:
        """The router that is published under a name."""
        return next((each for each in self.routers.values() if host in each.hostnames), None)

    def at_router(self, router: Router, claim: Claim) -> Iterator[Found]:
        """``claim`` at each of a router's pods; where none is known, at its Service."""
        for place in router.places:
            yield Draft(claim, place, place.pod is None or place.pod.ready)
        if router.places:
            return
        for name in router.services:
            service = self.balanced.get(router.namespace, name)
            wanted = service.port(443) if service else None
            if service and wanted:
                yield from self.through(service, wanted, claim)
                return


def _noted(draft: Draft) -> Draft:
    """What is kept of the word of somebody who has no say."""
    ready = draft.place.pod.ready if draft.place.pod else draft.ready
    return Draft(stranger(draft.claim), draft.place, ready)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place of the cluster's objects where listeners are to be found."""

    name: str
    reads: tuple[Kind, ...]
    find: Callable[[Index], Iterator[Found]]
