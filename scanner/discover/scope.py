"""The dial scope: the addresses that belong to the cluster, and those that it publishes (design, "Dial scope").

It has no addresses that only a tenant writes: of EndpointSlices, external IPs, URLs, names. An address in an object's
status may be dialled only for that object, on its own ports: controllers write the status, but a user who can write it
could otherwise open any port of any address to all other objects. Load balancers of Services are not in the scope:
their backends are dialled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_network

from scanner.discover import index
from scanner.discover.index import Index
from scanner.discover.services import published
from scanner.discover.workloads import all_addresses
from scanner.kube.cluster_facts import document
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import Gateway, class_of
from scanner.kube.hostnames import parse_address, port
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import CONFIG_MAP, GATEWAY, GATEWAY_CLASS, HTTP_PROXY, INGRESS, NETWORK
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import InstallerConfiguration, Network, Networks
from scanner.kube.snapshot import Snapshot
from scanner.model.components import API_SERVICE
from scanner.model.dial_scope import Address, DialScope, Published
from scanner.model.dial_scope import Network as AddressRange
from scanner.model.endpoint import Owner

_PUBLISHED_READS = (GATEWAY, GATEWAY_CLASS, HTTP_PROXY, INGRESS)
_MOST = 128
"""Limit of ports or addresses per object."""


def _published(view: Index) -> Iterator[Published]:
    """Each published address with its port and owner."""
    for text, number, owner in _published_texts(view):
        found = parse_address(text)
        if found:
            yield found, number, owner


def _published_texts(view: Index) -> Iterator[tuple[str, int, Owner]]:
    for service in view.services.by_name.values():
        for where in service.addresses:
            yield from ((where, each.number, service.owner) for each in service.ports)
    yield from _api_server(view)
    for ingress in view.snapshot.every(INGRESS):
        if Ingress.of(ingress).has_tls:
            yield from ((where, 443, _owner(ingress)) for where in published(ingress, view.cuts))
    for proxy in view.snapshot.every(HTTP_PROXY):
        if HTTPProxy.of(proxy).has_tls:
            yield from ((where, 443, _owner(proxy)) for where in published(proxy, view.cuts))
    for gateway in map(Gateway.of, view.snapshot.every(GATEWAY)):
        if _is_accepted(view, gateway):
            yield from _of_gateway(view, gateway)


def _api_server(view: Index) -> Iterator[tuple[str, int, Owner]]:
    """Addresses of an API server outside of the cluster, from the slice that it writes for its own Service."""
    service = view.services.get(*API_SERVICE)
    for one in service.slices if service else ():
        if service and one.name == API_SERVICE[1]:
            numbers = [number for each in one.ports if (number := port(each.port))]
            every = [text for each in one.endpoints for text in each.addresses]
            numbers = view.cuts.first(numbers, _MOST, "ports of one EndpointSlice", one)
            for where in view.cuts.first(every, _MOST, "addresses of the API server", one):
                yield from ((where, number, service.owner) for number in numbers)


def _is_accepted(view: Index, gateway: Gateway) -> bool:
    """True if a controller has accepted the Gateway's class: otherwise only its author can have written its status."""
    found = class_of(view.snapshot, gateway)
    return found is not None and any(each.type == "Accepted" and each.holds for each in found.conditions)


def _of_gateway(view: Index, gateway: Gateway) -> Iterator[tuple[str, int, Owner]]:
    numbers = {number for each in gateway.listeners if (number := port(each.port))}
    listening = view.cuts.first(sorted(numbers), _MOST, "listening ports of one Gateway", gateway)
    for each in view.cuts.first(list(gateway.addresses), _MOST, "addresses of one Gateway", gateway):
        yield from ((each.value, number, _owner(gateway)) for number in listening)


def _owner(raw: KubeObject) -> Owner:
    return Owner(kind=raw.kind.name, name=raw.name, namespace=raw.namespace)


READS = (NETWORK, CONFIG_MAP, *_PUBLISHED_READS, *index.READS)

MIN_PREFIX = 8
"""Shortest prefix in bits: no cluster has a wider network than 10.0.0.0/8."""
MAX_NETWORKS = 32
"""Limit of networks per object."""


def dial_scope(view: Index, *, external: bool, loopback: bool) -> DialScope:
    """The dial scope of this cluster."""
    networks = {found for text in _cidrs(view) if (found := _network(text))}
    return DialScope(
        networks=tuple(sorted(networks, key=str)),
        addresses=frozenset(_addresses(view)),
        published=frozenset(_published(view)),
        external=external,
        loopback=loopback,
    )


def _network(text: str) -> AddressRange | None:
    try:
        found = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return found if found.prefixlen >= MIN_PREFIX else None


def _cidrs(view: Index) -> Iterator[str]:
    network = view.snapshot.get(NETWORK, "cluster")
    for networks in (Network.of(network).spec, Network.of(network).status) if network else ():
        yield from _of_network(view, networks)
    for node in view.workloads.nodes.values():
        yield from _bounded(view, node.raw.pod_cidrs) or (node.raw.pod_cidr,)
    yield from _of_network(view, _networking(view.snapshot, "cluster-config-v1", "install-config"))
    kubeadm = _networking(view.snapshot, "kubeadm-config", "ClusterConfiguration")
    for subnets in (kubeadm.pod_subnet, kubeadm.service_subnet):
        yield from _bounded(view, subnets.split(","))


def _of_network(view: Index, networks: Networks) -> Iterator[str]:
    yield from _bounded(view, [each.cidr for each in networks.cluster_network])
    yield from _bounded(view, networks.service_network)


def _bounded(view: Index, texts: Sequence[str]) -> Sequence[str]:
    if len(texts) > MAX_NETWORKS:
        view.cuts.note(f"networks of one object beyond the first {MAX_NETWORKS}", texts[0], len(texts) - MAX_NETWORKS)
    return texts[:MAX_NETWORKS]


def _networking(snapshot: Snapshot, name: str, key: str) -> Networks:
    """The networks in an installer's configuration; empty if unknown."""
    found = document(snapshot, name, key)
    known = {} if found is None or isinstance(found, Unknown) else found.raw
    return InstallerConfiguration(known).networking


def _addresses(view: Index) -> Iterator[Address]:
    for text in _texts(view):
        found = parse_address(text)
        if found:
            yield found


def _texts(view: Index) -> Iterator[str]:
    for pod in view.workloads.pods:
        yield from pod.addresses
    for node in view.workloads.nodes.values():
        yield from all_addresses(node.raw, view.cuts)
