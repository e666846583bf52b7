"""Services and what is behind them: a balanced address is no endpoint, its backends are (design, the ten rules, 10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Place, Pod, Workloads
from scanner.kube.hostnames import address, port, server_name, sound
from scanner.kube.kinds import ENDPOINT_SLICE, SERVICE
from scanner.kube.meta import Labelled, LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.service import PUBLISHED, EndpointSlice
from scanner.kube.service import Service as RawService
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Owner, host_port

READS = (SERVICE, ENDPOINT_SLICE)
_DNS = re.compile(r"([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc(\.cluster\.local)?\Z")
MAX_PORTS = 300
"""Of one Service or EndpointSlice."""
MAX_PLACES = 5_000
"""Behind one Service: its ports, each at every backend."""
MAX_ADDRESSES = 100
"""Of one endpoint of a slice; the API allows as many."""
MAX_PUBLISHED = 32
"""Addresses of one load balancer that are looked at."""


class ServicePort(NamedTuple):
    """One port of a Service."""

    number: int
    name: str
    protocol: str
    target: int | str
    """Number or name of the container's port."""
    node_port: int | None
    app_protocol: str


class Backend(NamedTuple):
    """What a Service leads to."""

    place: Place
    ready: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Service:
    """A Service and its slices."""

    raw: RawService
    namespace: str
    name: str
    ports: tuple[ServicePort, ...]
    addresses: tuple[str, ...]
    """Its cluster IPs; none where it is headless."""
    published: tuple[str, ...]
    """IP addresses and names of its load balancers."""
    slices: list[EndpointSlice] = field(default_factory=list)
    known: dict[ServicePort, tuple[Backend, ...]] = field(default_factory=dict)
    """Backends that were already looked up."""
    cut: set[ServicePort] = field(default_factory=set)
    """Ports of which not all backends were looked up."""
    places: int = 0
    """Of all of its ports."""
    led: dict[str, int] = field(default_factory=dict)
    """How much objects of each namespace have said of what is behind it."""

    @property
    def dns(self) -> str:
        """What clients inside of the cluster call it and what its certificate must name."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def owner(self) -> Owner:
        """The Service as an owner of what has no pod."""
        return Owner(kind="Service", name=self.name, namespace=self.namespace)

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Its own."""
        return tuple(sorted(self.raw.labels.items()))

    def port(self, wanted: object) -> ServicePort | None:
        """The TCP port of that number or name."""
        number = port(wanted)
        for each in self.ports:
            if each.protocol == "TCP" and (each.number == number if number else each.name == wanted):
                return each
        return None

    def targeting(self, wanted: object) -> ServicePort | None:
        """The TCP port that leads to that target port: how Routes name it (route/v1 RoutePort)."""
        number = port(wanted)
        for each in self.ports:
            if each.protocol == "TCP" and (wanted in (each.name, each.target)):
                return each
            if number and each.protocol == "TCP" and number == port(each.target):
                return each
        return None

    def aliases(self, wanted: ServicePort) -> tuple[str, ...]:
        """Every balanced address that leads to the port, as ``host:port``."""
        hosts = [self.dns, *self.addresses, *self.published, *self._external()]
        nodes = (f"any-node:{wanted.node_port}",) if wanted.node_port else ()
        return (*(host_port(host, wanted.number) for host in dict.fromkeys(hosts)), *nodes)

    def _external(self) -> Iterator[str]:
        yield from filter(None, map(address, self.raw.external_ips[:MAX_PUBLISHED]))


def published(raw: KubeObject, cuts: Cuts) -> Iterator[str]:
    """The addresses of ``status.loadBalancer.ingress``, as Services, Ingresses and HTTPProxies have it."""
    for each in cuts.first(PUBLISHED.read(raw), MAX_PUBLISHED, f"published addresses of one {raw.kind.name}", raw):
        found = address(each.ip) or server_name(each.hostname)
        if found:
            yield found


class Balanced:
    """Services, by what other objects call them."""

    def __init__(self, snapshot: Snapshot, workloads: Workloads, cuts: Cuts) -> None:
        self._cuts = cuts
        self._workloads = workloads
        self.slices_gap = snapshot.gap(ENDPOINT_SLICE)
        """Why the backends of Services may be unknown, or None."""
        self.services: dict[tuple[str, str], Service] = {}
        for raw in map(RawService.of, snapshot.every(SERVICE)):
            if sound(raw.namespace or "", raw.name):
                self.services[raw.namespace or "", raw.name] = _service(raw, cuts)
        for each in map(EndpointSlice.of, snapshot.every(ENDPOINT_SLICE)):
            service = self.services.get((each.namespace or "", each.service_name))
            if service:
                service.slices.append(each)
        self._at: dict[str, list[Service]] = {}
        for one in self.services.values():
            for where in {*one.addresses, *one.published}:
                self._at.setdefault(where, []).append(one)
        self._labelled = Labelled(self.services.values(), _where)

    def get(self, namespace: str, name: str) -> Service | None:
        """The Service of that name."""
        return self.services.get((namespace, name))

    def at(self, host: str) -> list[Service]:
        """Services with this cluster IP or name in the cluster, or whose load balancer has this address or name."""
        named = _DNS.match(host)
        service = self.services.get((named[2], named[1])) if named else None
        return [service] if service else self._at.get(host, [])

    def select(self, namespace: str | None, selector: LabelSelector) -> list[Service]:
        """Services that a LabelSelector selects."""
        return self._labelled.select(namespace, selector)

    def backends(self, service: Service, wanted: ServicePort) -> tuple[Backend, ...]:
        """What is behind a port: by slices, and where not all of those could be read by the pods that it selects."""
        if wanted not in service.known:
            selected = self._from_pods(service, wanted) if self.slices_gap else ()
            self._look_up(service, wanted, chain(selected, self._from_slices(service, wanted)))
        return service.known[wanted]

    def _look_up(self, service: Service, wanted: ServicePort, found: Iterable[Backend]) -> None:
        backends: dict[tuple[object, ...], Backend] = {}
        room = MAX_PLACES - service.places
        for each in found:
            backends[each.place[:3]] = each
            if len(backends) > room:
                backends.popitem()
                service.cut.add(wanted)
                what = f"places behind one Service beyond the first {MAX_PLACES:,}"
                self._cuts.note(what, f"{service.dns} {wanted.number}")
                break
        service.places += len(backends)
        service.known[wanted] = tuple(backends.values())

    def _from_slices(self, service: Service, wanted: ServicePort) -> Iterator[Backend]:
        for part in service.slices:
            for each in self._cuts.first(part.ports, MAX_PORTS, "ports of one EndpointSlice", part):
                if each.name == wanted.name and each.protocol == wanted.protocol:
                    # A slice port without a number means all ports: then the Service's own has to do.
                    number = port(each.port) or port(wanted.target)
                    if number:
                        yield from self._of_slice(service, part, number)

    def _of_slice(self, service: Service, part: EndpointSlice, number: int) -> Iterator[Backend]:
        for each in part.endpoints:
            target, ready, given = each.target, each.is_ready, each.addresses
            pod = self._workloads.named.get((service.namespace, target)) if target else None
            if len(given) > MAX_ADDRESSES:
                given = tuple(self._cuts.first(list(given), MAX_ADDRESSES, "addresses of a slice's endpoint", part))
            for where in filter(None, map(address, given)):
                places = self._workloads.at(where, number, pod)
                for place in places or (Place(where, number, owner=service.owner, labels=service.labels),):
                    yield Backend(place, ready)

    def _from_pods(self, service: Service, wanted: ServicePort) -> Iterator[Backend]:
        selector = service.raw.selector
        chosen = LabelSelector({"matchLabels": selector})
        for pod in self._workloads.select(service.namespace, chosen) if selector else ():
            number = pod.port_number(wanted.target)
            for place in self._workloads.places(pod, number) if number else ():
                yield Backend(place, pod.ready)


def _service(raw: RawService, cuts: Cuts) -> Service:
    cluster = raw.cluster_ips[:4] or (raw.cluster_ip,)
    if raw.is_external_name:
        cluster = ()  # only another name: an address in it was not given by an API server
    return Service(
        raw=raw,
        namespace=raw.namespace or "",
        name=raw.name,
        ports=tuple(cuts.first(_ports(raw), MAX_PORTS, "ports of one Service", raw)),
        addresses=tuple(filter(None, map(address, cluster))),
        published=tuple(published(raw, cuts)),
    )


def _ports(raw: RawService) -> Iterable[ServicePort]:
    for each in raw.ports:
        number = port(each.port)
        if number:
            target, on_nodes = each.target or number, port(each.node_port)
            yield ServicePort(number, each.name, each.protocol, target, on_nodes, each.app_protocol)


def _where(service: Service) -> tuple[str, Mapping[str, str]]:
    return service.namespace, service.raw.labels


__all__ = ["READS", "Backend", "Balanced", "Pod", "Service", "ServicePort", "published"]
