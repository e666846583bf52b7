"""The API server with each of its server names, and the known listeners of each node, such as the kubelet.

OpenShift's API server has separate certificates (openshift/cluster-kube-apiserver-operator) for localhost, the service
network, the external and the internal load balancer, and names configured by the user.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim
from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Node, Place
from scanner.kube.api_server import api_server_config
from scanner.kube.hostnames import MAX_NAMES, host_of, port, server_name
from scanner.kube.kinds import API_SERVER, INFRASTRUCTURE
from scanner.kube.objects import Reference
from scanner.kube.openshift import Infrastructure
from scanner.kube.snapshot import Snapshot
from scanner.model.components import API_SERVICE as NAME
from scanner.model.components import Listener
from scanner.model.endpoint import Origin, Owner

INTERNAL_NAMES = ("localhost", "kubernetes", "kubernetes.default.svc")
"""Internal names of the API server. On OpenShift each has another certificate; on Kubernetes all have the same, and
only the last is probed."""


def _api_server(view: Index) -> Iterator[Found]:
    service = view.services.get(*NAME)
    service_port = service.port(443) or next(iter(service.ports), None) if service else None
    if not service or not service_port:
        return
    claims = list(_claims(view))
    backends = view.services.backends(service, service_port)
    for claim in claims:
        if backends:
            yield from view.through(service, service_port, claim)
        elif service.addresses:
            owner = Owner(kind="Service", name=service.name, namespace=service.namespace)
            yield PlacedClaim(claim, Place(service.addresses[0], service_port.number, owner=owner, sampled=True))


def _claims(view: Index) -> Iterator[Claim]:
    service = Reference(kind="Service", name=NAME[1], namespace=NAME[0])
    yield Claim(certainty="declared", origin=Origin(role="api-server", reference=service), naming="also")
    for name, origin in names(view.snapshot, view.cuts).items():
        yield Claim(certainty="declared", origin=origin, name=name, naming="also")


def names(snapshot: Snapshot, cuts: Cuts) -> dict[str, Origin]:
    """Server names with a certificate, and their origins."""
    cluster = snapshot.get(INFRASTRUCTURE, "cluster")
    config = snapshot.get(API_SERVER, "cluster")
    found: dict[str, Origin] = {}
    for name in INTERNAL_NAMES if cluster or config else INTERNAL_NAMES[-1:]:
        found[name] = Origin(role="api-server", part="loopback" if name == "localhost" else "the service network")
    named: list[tuple[str, Origin]] = []
    if cluster:
        seen = Infrastructure.of(cluster)
        for field, url in (("apiServerURL", seen.server_url), ("apiServerInternalURI", seen.internal_url)):
            named.append((host_of(url), Origin(role="api-server", reference=cluster.reference, part=field)))
    if config:
        own = [name for each in api_server_config(config).named_certificates for name in each.names]
        origin = Origin(role="api-server", reference=config.reference, part="namedCertificates")
        named += [(each, origin) for each in cuts.first(own, MAX_NAMES, "names of the API server", config)]
    for text, origin in named:
        name_of = server_name(text)
        if name_of:
            found.setdefault(name_of, origin)
    return found


API_SERVER_SOURCE = Source(name="the API server", reads=(API_SERVER, INFRASTRUCTURE), find=_api_server)


KUBELET = Owner(kind="Node", name="kubelet")
"""Owner of the kubelets' listeners: they are replicas of each other, while nodes come and go."""


_MAY = ("tls", "both", "unknown")


def _nodes(view: Index) -> Iterator[Found]:
    known = [each for each in view.catalogue.listeners if not each.namespaces and each.speaks in _MAY]
    for node in view.workloads.nodes.values():
        number = port(node.raw.kubelet_port)
        if number:
            claim = Claim(certainty="declared", origin=Origin(role="kubelet", reference=node.raw.reference))
            yield from _at(node, number, KUBELET, claim)
        for entry in known:
            for each in entry.ports:
                if each != number:
                    yield from _known(node, each, entry)


def _known(node: Node, number: int, entry: Listener) -> Iterator[PlacedClaim]:
    """A listener that only the catalogue knows: no object shows whether this node has it."""
    claim = Claim(
        certainty="candidate",
        origin=Origin(role="well-known", reference=node.raw.reference, part=entry.component),
        loopback=entry.loopback or None,
        guess=True,
    )
    yield from _at(node, number, Owner(kind="Node", name=entry.component), claim)


def _at(node: Node, number: int, owner: Owner, claim: Claim) -> Iterator[PlacedClaim]:
    for each in node.addresses:
        yield PlacedClaim(claim, Place(each, number, node=node.name, owner=owner, labels=node.labels))


NODES = Source(name="Nodes", find=_nodes)
