"""The cluster's pods and nodes, indexed once: by name, by address, by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scanner.discover.alike import Alike
from scanner.discover.containers import Container, named_ports, staying
from scanner.discover.cuts import Cuts
from scanner.discover.draft import Place
from scanner.discover.labels import Labelled
from scanner.discover.mesh import MODE, captured, injected
from scanner.discover.names import address, port, sound
from scanner.discover.owners import Owners
from scanner.kube.kinds import NAMESPACE, NODE, POD
from scanner.kube.objects import Fields, KubeObject, Reference
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Owner

READS = (POD, NODE, NAMESPACE)
MAX_ADDRESSES = 8
"""Addresses of one pod or node that are looked at. Dual stack has two."""


@dataclass(slots=True, kw_only=True, eq=False)
class Pod:
    """A pod that has an address."""

    raw: KubeObject
    namespace: str
    name: str
    owner: Owner
    addresses: tuple[str, ...]
    """Canonical, the primary one first."""
    node: str | None
    host_network: bool
    labels: tuple[tuple[str, str], ...]
    mesh: bool
    ready: bool
    """False where the cluster says that it is not."""
    leaves: bool
    """Whether it was deleted, and only ends."""
    containers: tuple[Container, ...]
    """Those that stay."""
    ports: Mapping[str, int | None]
    """Of all containers, by the names that they have."""
    reference: Reference = field(init=False)
    """Its name, which every endpoint of the pod has."""

    def __post_init__(self) -> None:
        self.reference = Reference(kind="Pod", name=self.name, namespace=self.namespace)

    @property
    def vantage(self) -> str | None:
        """The node in whose network it is, or None for the pod network."""
        return self.node if self.host_network else None

    def number(self, target: object) -> int | None:
        """A port by number, or by the name that a container gave it."""
        return numbered(target, self.ports)


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A node."""

    raw: KubeObject
    name: str
    addresses: tuple[str, ...]
    """Where it is reached inside the cluster."""
    labels: tuple[tuple[str, str], ...]


class Workloads:
    """Pods and nodes, by what other objects call them."""

    def __init__(self, snapshot: Snapshot, cuts: Cuts, *, primary_only: bool) -> None:
        self._cuts = cuts
        self._primary_only = primary_only
        self.unfinished: dict[str, int] = {}
        """Pods that cannot listen, by reason."""
        self.nodes = {node.name: node for node in map(self._node, snapshot.every(NODE)) if sound(node.name)}
        self._node_at: dict[str, str] = {}
        for node in self.nodes.values():
            self._node_at |= {each: node.name for each in all_addresses(node.raw, cuts) if each not in self._node_at}
        self._ambient = frozenset(each.name for each in snapshot.every(NAMESPACE) if each.labels.get(MODE) == "ambient")
        self._alike = _Alike()
        self.pods = [pod for pod in map(self._pod, snapshot.every(POD)) if pod]
        self.named = {(pod.namespace, pod.name): pod for pod in self.pods}
        self.on_pod_network: dict[str, Pod] = {}
        self._shared: dict[str, list[Pod]] = {}
        """Addresses that several pods say they have."""
        self.on_node: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if pod.vantage:
                self.on_node.setdefault(pod.vantage, []).append(pod)
                for each in pod.addresses:
                    self._node_at.setdefault(each, pod.vantage)
            elif not pod.host_network:
                for each in pod.addresses:
                    first = self.on_pod_network.setdefault(each, pod)
                    if first is not pod:
                        self._shared.setdefault(each, [first]).append(pod)
        self._labelled = Labelled(self.pods, _where)
        self._host_ports: dict[tuple[str, int], list[Pod]] | None = None

    def select(self, namespace: str | None, selector: Fields) -> list[Pod]:
        """Pods that a LabelSelector selects."""
        return self._labelled.select(namespace, selector)

    def with_host_port(self, node: str, number: int) -> list[Pod]:
        """Pods of the pod network to which a port of a node leads; looked for when it is first asked."""
        if self._host_ports is None:
            self._host_ports = {}
            for pod in self.pods:
                for each in (one for container in pod.containers for one in container.ports):
                    if each.on_node and pod.node and not pod.host_network:
                        self._host_ports.setdefault((pod.node, each.on_node), []).append(pod)
        return self._host_ports.get((node, number), [])

    def places(self, pod: Pod, number: int) -> list[Place]:
        """Where ``pod`` listens on a port: each of its addresses, or one where a tunnel makes them the same."""
        addresses = pod.addresses[:1] if self._primary_only else pod.addresses
        return [Place(each, number, pod, pod.vantage) for each in addresses]

    def at(self, where: str, number: int, pod: Pod | None = None) -> list[Place]:
        """The place of a canonical address that is a pod's or a node's: of all pods that say they have it, those that
        stay. ``pod``: who is said to be there."""
        found = pod if pod and where in pod.addresses else self.on_pod_network.get(where)
        if found and found is not pod and where in self._shared:
            several = self._shared[where][:MAX_ADDRESSES]
            staying = [each for each in several if not each.leaves] or several
            return [self._place(where, number, each) for each in staying]
        if found:
            return [self._place(where, number, found)]
        node = self._node_at.get(where)
        return [Place(where, number, None, node)] if node else []

    def _place(self, where: str, number: int, pod: Pod) -> Place:
        return Place(pod.addresses[0] if self._primary_only else where, number, pod, pod.vantage)

    def _pod(self, raw: KubeObject) -> Pod | None:
        metadata, spec = raw.fields("metadata"), raw.fields("spec")
        namespace, name = metadata.text("namespace"), metadata.text("name")
        if not sound(namespace, name):
            self._not("pods with a name that no API server takes")
            return None
        if raw.text("status", "phase") in ("Succeeded", "Failed"):
            self._not("pods that have finished")
            return None
        on_host = spec.flag("hostNetwork")
        node = spec.text("nodeName") or None
        addresses = _addresses(raw, self._cuts, on_host=on_host) or (
            self.nodes[node].addresses if on_host and node in self.nodes else ()
        )
        if not addresses:
            self._not("pods without an address")
            return None
        if node is None and on_host:
            node = self._node_at.get(addresses[0])
        containers = self._alike.containers(spec)
        return Pod(
            raw=raw,
            namespace=namespace,
            name=name,
            owner=self._alike.owners.of(metadata, node),
            addresses=addresses,
            node=node,
            host_network=on_host,
            labels=self._alike.labels(metadata.at("labels")),
            mesh=not on_host and (self._alike.injected(spec) or captured(metadata, self._ambient)),
            ready=self._alike.ready(raw.at("status", "conditions")),
            leaves=metadata.has("deletionTimestamp"),
            containers=containers,
            ports=self._alike.ports(containers),
        )

    def _node(self, raw: KubeObject) -> Node:
        kinds: dict[str, list[str]] = {}
        for each in raw.each("status", "addresses"):
            found = address(each.text("address"))
            if found:
                kinds.setdefault(each.text("type"), []).append(found)
        addresses = kinds.get("InternalIP") or kinds.get("ExternalIP") or []
        return Node(
            raw=raw,
            name=raw.name,
            addresses=tuple(dict.fromkeys(self._cuts.first(addresses, MAX_ADDRESSES, "addresses of a node", raw))),
            labels=tuple(sorted(raw.labels.items())),
        )

    def _not(self, reason: str) -> None:
        self.unfinished[reason] = self.unfinished.get(reason, 0) + 1


def numbered(target: object, names: Mapping[str, int | None]) -> int | None:
    """A port by number, or by one of ``names``."""
    return names.get(target) if isinstance(target, str) and not target.isdigit() else port(target)


def all_addresses(node: KubeObject, cuts: Cuts) -> tuple[str, ...]:
    """Every IP address that a node says it has."""
    found = [address(each.text("address")) for each in node.each("status", "addresses")]
    return tuple(dict.fromkeys(each for each in cuts.first(found, MAX_ADDRESSES, "addresses of a node", node) if each))


def _addresses(raw: KubeObject, cuts: Cuts, *, on_host: bool) -> tuple[str, ...]:
    found = [address(each.text("ip")) for each in raw.each("status", "podIPs")] or [
        address(raw.text("status", "podIP"))
    ]
    if on_host and not any(found):
        found = [address(raw.text("status", "hostIP"))]
    return tuple(dict.fromkeys(each for each in cuts.first(found, MAX_ADDRESSES, "addresses of a pod", raw) if each))


class _Alike:
    """What replicas have alike."""

    def __init__(self) -> None:
        self.labels = Alike(_labels)
        self.ready = Alike(_is_ready)
        self.owners = Owners()
        self._staying = Alike(staying)
        self.ports = Alike(named_ports)
        self._injected = Alike(injected)

    def injected(self, spec: Fields) -> bool:
        """Whether a mesh has put a sidecar in."""
        return self._injected(spec.at("containers"), spec.at("initContainers"))

    def containers(self, spec: Fields) -> tuple[Container, ...]:
        """Those that stay."""
        raw = spec.raw
        return self._staying(raw.get("containers"), raw.get("initContainers"), raw.get("ephemeralContainers"))


def _labels(value: object) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(Fields({"labels": value}).words("labels").items()))


def _is_ready(conditions: object) -> bool:
    each_condition = Fields({"conditions": conditions}).each("conditions")
    return not any(each.text("type") == "Ready" and each.text("status") == "False" for each in each_condition)


def _where(pod: Pod) -> tuple[str, Mapping[str, str]]:
    return pod.namespace, dict(pod.labels)
