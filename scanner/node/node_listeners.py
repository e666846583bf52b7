"""Make endpoints from the listening sockets of a node: those that no object declares, and those on loopback.

With the objects of the cluster, a listener has the owner, component and requirement of its pod, and a declared one the
id by which a scan of the cluster knows it. Without them, it belongs to the node and is named after its process. An
instance also names the network: ``on`` a node, or ``in`` a pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address

from msgspec import Struct

from scanner.assessment import Assessment
from scanner.discover import hints
from scanner.discover.endpoint_selection import shares
from scanner.discover.endpoints import EndpointBuilder, called
from scanner.discover.index import Index
from scanner.discover.listener_claims import Claim, PlacedClaim
from scanner.discover.merged_claims import Listener
from scanner.discover.workloads import Place, Pod
from scanner.jobs import Job, Owes, Surroundings
from scanner.kube.hostnames import parse_zoned_address
from scanner.kube.kinds import NODE_SOCKETS
from scanner.kube.snapshot import Unreadable
from scanner.model.endpoint import Endpoint, Origin, Owner, host_port
from scanner.model.scan_policy import Scope, any_matches
from scanner.node.proc_reader import ListeningSocket, Namespace, NodeSockets
from scanner.report.page import counted
from scanner.values import replace

SCHEMA = "adhere.node/v1"
REACHED = "listeners that objects declare and a scan of the cluster reaches (--all probes them here too)"
_PLAIN = "ports that use no TLS according to the component catalogue"
_EXCLUDED = "excluded"
_ALL = Scope()
_LOOPBACK = tuple(f"127.0.0.{number}" for number in range(1, 255))
_EVERY_IPV4 = str(IPv4Address(0))
_HIDDEN = "listeners on all addresses, with other sockets of the same port on each loopback address"


class NodeListeners(Struct, frozen=True, kw_only=True):
    """The endpoints of a node, and what was read for them: ``node.json`` of a saved scan."""

    schema: str = SCHEMA
    node: str
    namespaces: int
    processes: int
    sockets: int
    unread: tuple[tuple[str, int], ...] = ()
    """Reasons and counts of what could not be read."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Reasons and counts of listeners that are not probed."""
    truncated: int = 0
    """Listeners beyond the limit of their namespace; ``left_out`` counts them too."""
    endpoints: tuple[Endpoint, ...] = ()
    beside: tuple[str, ...] = ()
    """All nodes of the cluster, by its objects: a merged scan without one of them is not complete."""


class Destination(Struct, frozen=True, kw_only=True):
    """The place of a listener: its namespace, the addresses to try in order, and its port."""

    namespace: Namespace
    addresses: tuple[str, ...]
    port: int


class _Met(Struct):
    """Sockets of one process that are one listener."""

    socket: ListeningSocket
    addresses: tuple[str, ...]


def node_listeners(
    found: NodeSockets, node: str, assessment: Assessment | None = None, *, scope: Scope = _ALL, every: bool = False
) -> tuple[NodeListeners, dict[str, Destination]]:
    """Return the endpoints of a node, and by instance where each is dialled. ``assessment``: of the node's cluster.
    ``scope``: of the policy file. ``every``: also those that a scan of the cluster reaches."""
    cluster = _Cluster(assessment, node) if assessment else None
    outside = {(each.namespace.inode, each.port) for each in found.sockets if not each.is_loopback}
    left_out, hidden = Counter[str](), 0
    endpoints: dict[str, Endpoint] = {}
    destinations: dict[str, Destination] = {}
    for met in _listeners(found.sockets):
        if not met.addresses:
            hidden += 1
            continue
        alone = (met.socket.namespace.inode, met.socket.port) not in outside
        for endpoint, why in _endpoints(met, node, cluster, alone=alone, every=every):
            reason = why if _in_scope(endpoint, scope) else _EXCLUDED
            if reason:
                left_out[reason] += 1
                continue
            instance = endpoint.instance
            if instance in endpoints:  # a pod with a network namespace inside of its own
                instance = f"{instance} in network namespace {met.socket.namespace.inode}"
            endpoints[instance] = replace(endpoint, instance=instance)
            namespace, port = met.socket.namespace, met.socket.port
            destinations[instance] = Destination(namespace=namespace, addresses=met.addresses, port=port)
    kept = [endpoints[each] for each in sorted(endpoints)]
    if cluster:
        kept, cut = cluster.shared(kept, scope.endpoints_per_namespace)
        left_out.update(cut)
    unread = (*found.unread, *(cluster.unseen(found) if cluster else ()), *([(_HIDDEN, hidden)] if hidden else ()))
    listeners = NodeListeners(
        node=node,
        namespaces=len(found.namespaces),
        processes=found.processes,
        sockets=len(found.sockets),
        unread=unread,
        left_out=tuple(sorted(left_out.items())),
        truncated=len(endpoints) - len(kept),
        endpoints=tuple(kept),
        beside=cluster.nodes if cluster else (),
    )
    return listeners, {each.instance: destinations[each.instance] for each in kept}


def _listeners(sockets: Sequence[ListeningSocket]) -> Iterator[_Met]:
    """The listeners: all addresses of IPv4 and of IPv6 are one if the same program has both."""
    met: dict[tuple[object, ...], _Met] = {}
    bound = _bound(sockets)
    for each in sockets:
        program = each.process.pid if each.process else -each.address.version  # not known: not the same
        anywhere = each.address.is_unspecified
        key = each.namespace.inode, each.port, *(("any", program) if anywhere else (str(each.address),))
        addresses = _dialled(each, bound[each.namespace.inode, each.port])
        first = met.setdefault(key, _Met(each, addresses))
        first.addresses = tuple(dict.fromkeys((*first.addresses, *addresses)))
    yield from met.values()


def _bound(sockets: Iterable[ListeningSocket]) -> dict[tuple[int, int], set[str]]:
    found: dict[tuple[int, int], set[str]] = {}
    for each in sockets:
        found.setdefault((each.namespace.inode, each.port), set()).add(str(each.address))
    return found


def _dialled(socket: ListeningSocket, bound: set[str]) -> tuple[str, ...]:
    """The addresses to try in order. ``bound``: those of all sockets of the port: of two sockets, the one on the single
    address answers there, and not the one on all addresses (Linux, ``compute_score`` in net/ipv4/inet_hashtables.c)."""
    if not socket.address.is_unspecified:
        return (str(socket.address),)
    four = [each for each in _LOOPBACK if each not in bound][:1]
    if socket.address.version == 4:
        return tuple(four)
    # An IPv6 socket takes IPv4 too, unless it is restricted or another one does; IPv6 may be off on loopback.
    six = ["::1"] if "::1" not in bound else []
    return (*six, *(four if _EVERY_IPV4 not in bound else []))


def _endpoints(
    met: _Met, node: str, cluster: _Cluster | None, *, alone: bool, every: bool
) -> Iterator[tuple[Endpoint, str | None]]:
    """The endpoints of a listener, each with the reason why it is not probed, or None. ``alone``: no other socket of
    the namespace has this port for clients outside of it."""
    socket = met.socket
    if cluster is None:
        yield _at(_of_process(socket, node), met, node, None), None
        return
    pod = cluster.pod_of(socket)
    declared = cluster.declared(socket, pod, alone=alone)
    reachable = not socket.is_loopback and any(cluster.is_scanned(each, socket) for each in declared)
    for endpoint in declared or cluster.undeclared(socket, pod):
        placed = _at(endpoint, met, node, pod)
        if cluster.is_plain(placed):
            yield placed, _PLAIN
        else:
            yield placed, REACHED if reachable and not every else None


def _at(endpoint: Endpoint, met: _Met, node: str, pod: Pod | None) -> Endpoint:
    """The endpoint inside of the network namespace of its socket."""
    socket = met.socket
    if socket.namespace.of_node:
        vantage, network = f"on {node}", f"node {node}"
    elif pod and not pod.host_network:
        vantage, network = f"in {pod.name}", f"pod {pod.namespace}/{pod.name}"
    else:
        vantage = f"in network namespace {socket.namespace.inode} on {node}"
        network = f"namespace {socket.namespace.inode} of node {node}"
    address = met.addresses[0]
    return replace(
        endpoint,
        instance=f"{endpoint.id} @ {host_port(address, socket.port)} {vantage}",
        address=address,
        node=node if socket.namespace.of_node else None,
        runs_on=node,
        origins=(*endpoint.origins, Origin(role="socket", part=_said(socket, node))),
        sampled=False,
        ready=True,
        tunnel=None,
        network=network,
    )


def _said(socket: ListeningSocket, node: str) -> str:
    where = f"socket {host_port(str(socket.address), socket.port)} on node {node}"
    process = socket.process
    if process is None:
        return where
    container = f", container {process.container[:12]}" if process.container else ""
    return f"{where}, process {process.name}{container}"


def _of_process(socket: ListeningSocket, node: str) -> Endpoint:
    """The endpoint of a listener without a known pod, named after its process: the same program of two nodes has the
    same id."""
    owner = _owner(socket, node)
    transport = hints.transport(socket.port, "")
    return Endpoint(
        id=called(owner, socket.port, None, transport),
        instance="",
        address="",
        port=socket.port,
        transport=transport,
        host=str(socket.address),  # no object has a name for it
        owner=owner,
        certainty=hints.certainty(socket.port, "", ""),
    )


def _owner(socket: ListeningSocket, node: str) -> Owner:
    return Owner(kind="Node", name=(socket.process.name if socket.process else "") or node)


def _in_scope(endpoint: Endpoint, scope: Scope) -> bool:
    """True if the policy file includes the endpoint."""
    included = not scope.include or any_matches(scope.include, endpoint)
    return included and not any_matches(scope.exclude, endpoint)


class _Cluster:
    """The listeners that objects of the cluster declare on a node, and its pods."""

    def __init__(self, assessment: Assessment, node: str) -> None:
        self._node = node
        self._index = Index(assessment.snapshot, assessment.catalogue, via_port_forward=False)
        self._pods = {uid: pod for pod in self._index.workloads.pods for uid in pod.raw.uids}
        self.nodes = tuple(sorted(each.name for each in self._index.workloads.nodes.values()))
        found = assessment.discovery
        self._declared: dict[tuple[str, int], dict[str, Endpoint]] = {}
        for each in (*found.endpoints, *found.unasked, *(endpoint for endpoint, _ in found.omitted)):
            if each.node == node:
                key = "", each.port
            elif each.pod and each.node is None:
                key = str(each.pod), each.port
            else:
                continue
            self._declared.setdefault(key, {}).setdefault(each.id, each)
        self._scanned: dict[str, set[str]] = {}
        for each in found.endpoints:
            self._scanned.setdefault(each.id, set()).add(each.address)

    def pod_of(self, socket: ListeningSocket) -> Pod | None:
        """The pod in whose network the socket is; in the network of the node, the pod of its process."""
        of_process = socket.process.pods if socket.process else ()
        pods = of_process if socket.namespace.of_node else (*socket.namespace.pods, *of_process)
        return next((self._pods[uid] for uid in pods if uid in self._pods), None)

    def declared(self, socket: ListeningSocket, pod: Pod | None, *, alone: bool) -> list[Endpoint]:
        """The endpoints that objects declare at this socket, one for each server name.

        If a socket for other clients has the same port, the objects mean that one, not a socket on loopback: a proxy
        can have the address of the node, and its backend the same port on loopback.
        """
        if socket.namespace.of_node:
            found = self._declared.get(("", socket.port), {})
        else:
            found = self._declared.get((str(pod.reference), socket.port), {}) if pod else {}
        every = [each for each in found.values() if pod is None or not _is_guess(each)]
        if socket.is_loopback and not alone:
            return [each for each in every if _is_loopback(each)]
        return every

    def undeclared(self, socket: ListeningSocket, pod: Pod | None) -> list[Endpoint]:
        """The endpoints of a listener that no object declares, with the owner and component of its pod."""
        address = str(socket.address)
        if pod:
            place = Place(address, socket.port, pod, self._node if socket.namespace.of_node else None)
        elif socket.namespace.of_node:
            place = Place(address, socket.port, node=self._node, owner=_owner(socket, self._node))
        else:
            return [_of_process(socket, self._node)]
        certainty = hints.certainty(socket.port, "", "")
        listener = Listener(place)
        listener.add(PlacedClaim(Claim(certainty=certainty, origin=Origin(role="socket")), place))
        builder = EndpointBuilder(self._index, listener, via_port_forward=False)
        made = {each.id: replace(each, origins=(), aliases=()) for each in builder.endpoints()}
        return list(made.values())

    def is_scanned(self, endpoint: Endpoint, socket: ListeningSocket) -> bool:
        """True if a scan of the cluster dials this socket for the endpoint, and does not merely guess a listener."""
        addresses = self._scanned.get(endpoint.id, set())
        here = socket.address.is_unspecified or str(socket.address) in addresses
        return bool(addresses) and here and not _is_guess(endpoint)

    def is_plain(self, endpoint: Endpoint) -> bool:
        """True for a port without TLS according to the catalogue, unless an object declares TLS there."""
        names, namespace = (endpoint.owner.name,), endpoint.owner.namespace
        on_node = endpoint.node is not None
        entry = self._index.entry(namespace, names, endpoint.port, on_node=on_node)
        return endpoint.certainty != "declared" and entry is not None and entry.speaks in ("plain", "nothing")

    def shared(self, endpoints: list[Endpoint], most: int) -> tuple[list[Endpoint], Counter[str]]:
        """The endpoints in the order of a scan of the cluster: the platform's first, then the namespaces of users in
        turns, ``most`` of each. Also the reasons and counts of those beyond that: any user can open 65,535 ports."""
        found = shares(endpoints, self._index.authority, most)
        in_turns = sorted(range(len(found.kept)), key=found.turns.__getitem__)
        return [found.kept[each] for each in in_turns], Counter(reason for _, reason in found.cut)

    def unseen(self, found: NodeSockets) -> Iterator[tuple[str, int]]:
        """Pods of the node without a process: of a sandbox with a kernel of its own, or without hostPID."""
        missing = [
            pod
            for pod in self._index.workloads.pods
            if pod.node == self._node and pod.ready and not pod.terminating and found.pods.isdisjoint(pod.raw.uids)
        ]
        if missing:
            yield "pods of the node without a visible process", len(missing)


def _is_guess(endpoint: Endpoint) -> bool:
    """True if only the catalogue suggests the listener."""
    return all(each.role == "well-known" for each in endpoint.origins)


def _is_loopback(endpoint: Endpoint) -> bool:
    address = parse_zoned_address(endpoint.address)
    return address is not None and address.is_loopback


def with_listeners(assessment: Assessment, listeners: Sequence[NodeListeners]) -> Assessment:
    """Return the assessment with the endpoints of its nodes, each once, instead of those of its objects."""
    endpoints = {each.instance: each for one in listeners for each in one.endpoints}
    discovery = replace(
        assessment.discovery,
        endpoints=tuple(endpoints.values()),
        turns=(0,) * len(endpoints),
        left_out=_left_out(listeners),
        truncated=sum(each.truncated for each in listeners),
        unasked=(),
        why_unasked=(),
        omitted=(),
    )
    return replace(assessment, discovery=discovery)


def jobs_of(listeners: Sequence[NodeListeners], owed: Owes) -> Iterator[Job]:
    """Yield a job for each endpoint of nodes without a cluster."""
    for place, endpoint in enumerate(each for one in listeners for each in one.endpoints):
        yield Job(endpoint=endpoint, owes=owed, place=place, replicated=True)


def _left_out(listeners: Iterable[NodeListeners]) -> tuple[tuple[str, int], ...]:
    counts = Counter[str]()
    for each in listeners:
        counts.update(dict(each.left_out))
    return tuple(sorted(counts.items()))


def said(listeners: Sequence[NodeListeners]) -> str:
    """Return what was read on the nodes, for people."""
    name = f"node {listeners[0].node}" if len(listeners) == 1 else counted(len(listeners), "node")
    counts = (
        counted(sum(each.namespaces for each in listeners), "network namespace"),
        counted(sum(each.processes for each in listeners), "process", "processes"),
        counted(sum(each.sockets for each in listeners), "listening socket"),
    )
    return f"{name}: {', '.join(counts)} read"


def node_surroundings(around: Surroundings, listeners: Sequence[NodeListeners]) -> Surroundings:
    """Add to the parts of the report what was read on the nodes; without a cluster, they are its only subject."""
    name = f"node {listeners[0].node}" if len(listeners) == 1 else counted(len(listeners), "node")
    gaps = tuple(
        Unreadable(
            kind=NODE_SOCKETS,
            gap="forbidden" if "permission denied" in reason else "failed",
            reason=f"node {each.node}: {reason} ({count:,})",
        )
        for each in listeners
        for reason, count in each.unread
    )
    discovered, left_out = around.discovered, around.left_out
    if discovered is None:
        left_out = _left_out(listeners)
        discovered = sum(len(each.endpoints) for each in listeners) + sum(count for _, count in left_out)
    return replace(
        around,
        cluster={**(around.cluster or {"name": name}), "read": said(listeners)},
        discovered=discovered,
        left_out=left_out,
        unreadable=(*around.unreadable, *gaps),
    )
