"""Services and their backends: the backends are endpoints, the Service's address is not (design, rule 10 of
probing)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from msgspec import Struct, field

from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Place, Workloads
from scanner.kube.hostnames import address, port, server_name, valid_names
from scanner.kube.kinds import ENDPOINT_SLICE, SERVICE
from scanner.kube.meta import LabelIndex, LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.service import PUBLISHED, EndpointSlice
from scanner.kube.service import Service as RawService
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Owner, host_port

READS = (SERVICE, ENDPOINT_SLICE)
_DNS = re.compile(r"([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc(\.cluster\.local)?\Z")
MAX_PORTS = 300
"""Limit of ports per Service or EndpointSlice."""
MAX_PLACES = 5_000
"""Limit of places behind one Service: each of its ports at each backend."""
MAX_ADDRESSES = 100
"""Limit of addresses per endpoint of a slice; the API allows as many."""
MAX_CLUSTER_IPS = 4
MAX_PUBLISHED = 32
"""Limit of addresses per load balancer."""


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
    """A place that a Service leads to."""

    place: Place
    ready: bool


class Service(Struct, kw_only=True, eq=False):
    """A Service and its slices."""

    raw: RawService
    namespace: str
    name: str
    ports: tuple[ServicePort, ...]
    addresses: tuple[str, ...]
    """Cluster IPs; none if the Service is headless."""
    published: tuple[str, ...]
    """IP addresses and names of its load balancers."""
    slices: list[EndpointSlice] = field(default_factory=list)
    known: dict[ServicePort, tuple[Backend, ...]] = field(default_factory=dict)
    """Cached backends."""
    cut: set[ServicePort] = field(default_factory=set)
    """Ports whose backends were truncated."""
    places: int = 0
    """Number of places of all its ports."""
    claim_counts: dict[str, int] = field(default_factory=dict)
    """Number of claims by objects of each namespace on its backends."""

    @property
    def dns(self) -> str:
        """The name that clients in the cluster use, and that its certificate must have."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def owner(self) -> Owner:
        """The Service as the owner of a place without a pod."""
        return Owner(kind="Service", name=self.name, namespace=self.namespace)

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self.raw.labels.items()))

    def port(self, number_or_name: object) -> ServicePort | None:
        """The TCP port with that number or name."""
        number = port(number_or_name)
        for each in self.ports:
            if each.protocol == "TCP" and (each.number == number if number else each.name == number_or_name):
                return each
        return None

    def targeting(self, number_or_name: object) -> ServicePort | None:
        """The TCP port with that target port, as Routes name it (route/v1 RoutePort)."""
        number = port(number_or_name)
        for each in self.ports:
            if each.protocol == "TCP" and (number_or_name in (each.name, each.target)):
                return each
            if number and each.protocol == "TCP" and number == port(each.target):
                return each
        return None

    def aliases(self, service_port: ServicePort) -> tuple[str, ...]:
        """All addresses of the port outside of pods, as ``host:port``."""
        hosts = [self.dns, *self.addresses, *self.published, *self._external()]
        nodes = (f"any-node:{service_port.node_port}",) if service_port.node_port else ()
        return (*(host_port(host, service_port.number) for host in dict.fromkeys(hosts)), *nodes)

    def _external(self) -> Iterator[str]:
        yield from filter(None, map(address, self.raw.external_ips[:MAX_PUBLISHED]))


def published(raw: KubeObject, cuts: Cuts) -> Iterator[str]:
    """The addresses of ``status.loadBalancer.ingress`` of Services, Ingresses and HTTPProxies."""
    for each in cuts.first(PUBLISHED.read(raw), MAX_PUBLISHED, f"published addresses of one {raw.kind.name}", raw):
        found = address(each.ip) or server_name(each.hostname)
        if found:
            yield found


class Services:
    """All Services, with lookups by name, address and labels."""

    def __init__(self, snapshot: Snapshot, workloads: Workloads, cuts: Cuts) -> None:
        self._cuts = cuts
        self._workloads = workloads
        self.slices_gap = snapshot.gap(ENDPOINT_SLICE)
        """Reason why backends of Services may be unknown, or None."""
        self.by_name: dict[tuple[str | None, str], Service] = {}
        for raw in map(RawService.of, snapshot.every(SERVICE)):
            if raw.namespace is not None and valid_names(raw.namespace, raw.name):
                self.by_name[raw.namespace, raw.name] = _service(raw, raw.namespace, cuts)
        for each in map(EndpointSlice.of, snapshot.every(ENDPOINT_SLICE)):
            service = self.by_name.get((each.namespace, each.service_name))
            if service:
                service.slices.append(each)
        self._at: dict[str, list[Service]] = {}
        for one in self.by_name.values():
            for where in {*one.addresses, *one.published}:
                self._at.setdefault(where, []).append(one)
        self._labelled = LabelIndex(self.by_name.values(), _where)

    def get(self, namespace: str | None, name: str) -> Service | None:
        return self.by_name.get((namespace, name))

    def with_port(self, namespace: str | None, name: str, number: object) -> tuple[Service, ServicePort] | None:
        """A Service and its TCP port with that number or name."""
        service = self.get(namespace, name)
        if service is None:
            return None
        found = service.port(number)
        return (service, found) if found else None

    def at(self, host: str) -> list[Service]:
        """Services with this cluster IP or DNS name, or with this load balancer address or name."""
        named = _DNS.match(host)
        service = self.by_name.get((named[2], named[1])) if named else None
        return [service] if service else self._at.get(host, [])

    def select(self, namespace: str | None, selector: LabelSelector) -> list[Service]:
        return self._labelled.select(namespace, selector)

    def backends(self, service: Service, service_port: ServicePort) -> tuple[Backend, ...]:
        """Backends of a port: by slices, and by the selected pods if not all slices could be read."""
        if service_port not in service.known:
            selected = self._from_pods(service, service_port) if self.slices_gap else ()
            self._look_up(service, service_port, chain(selected, self._from_slices(service, service_port)))
        return service.known[service_port]

    def _look_up(self, service: Service, service_port: ServicePort, found: Iterable[Backend]) -> None:
        backends: dict[tuple[object, ...], Backend] = {}
        room = MAX_PLACES - service.places
        for each in found:
            backends[each.place[:3]] = each
            if len(backends) > room:
                backends.popitem()
                service.cut.add(service_port)
                what = f"places behind one Service beyond the first {MAX_PLACES:,}"
                self._cuts.note(what, f"{service.dns} {service_port.number}")
                break
        service.places += len(backends)
        service.known[service_port] = tuple(backends.values())

    def _from_slices(self, service: Service, service_port: ServicePort) -> Iterator[Backend]:
        for part in service.slices:
            for each in self._cuts.first(part.ports, MAX_PORTS, "ports of one EndpointSlice", part):
                if each.name == service_port.name and each.protocol == service_port.protocol:
                    # A slice port without a number means all ports: then the Service's own is used.
                    number = port(each.port) or port(service_port.target)
                    if number:
                        yield from self._of_slice(service, part, number)

    def _of_slice(self, service: Service, part: EndpointSlice, number: int) -> Iterator[Backend]:
        for each in part.endpoints:
            target, ready, addresses = each.target, each.is_ready, each.addresses
            pod = self._workloads.named.get((service.namespace, target)) if target else None
            if len(addresses) > MAX_ADDRESSES:
                addresses = tuple(
                    self._cuts.first(list(addresses), MAX_ADDRESSES, "addresses of a slice's endpoint", part)
                )
            for where in filter(None, map(address, addresses)):
                places = self._workloads.at(where, number, pod)
                for place in places or (Place(where, number, owner=service.owner, labels=service.labels),):
                    yield Backend(place, ready)

    def _from_pods(self, service: Service, service_port: ServicePort) -> Iterator[Backend]:
        selector = service.raw.selector
        chosen = LabelSelector({"matchLabels": selector})
        for pod in self._workloads.select(service.namespace, chosen) if selector else ():
            number = pod.port_number(service_port.target)
            for place in self._workloads.places(pod, number) if number else ():
                yield Backend(place, pod.ready)


def _service(raw: RawService, namespace: str, cuts: Cuts) -> Service:
    cluster = raw.cluster_ips[:MAX_CLUSTER_IPS] or (raw.cluster_ip,)
    if raw.is_external_name:
        cluster = ()  # only another name: an API server did not assign any address in it
    return Service(
        raw=raw,
        namespace=namespace,
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
