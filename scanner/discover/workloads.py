"""The cluster's pods and nodes, indexed by name, address and node; values that replicas share are computed once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple

from msgspec import Struct

from scanner.discover.truncation import Cuts
from scanner.kube.hostnames import address, port, valid_names
from scanner.kube.kinds import NAMESPACE, NODE, POD
from scanner.kube.meta import LabelIndex, LabelSelector
from scanner.kube.objects import KubeObject, OwnerReference, Reference
from scanner.kube.pod import Container as RawContainer
from scanner.kube.pod import Node as RawNode
from scanner.kube.pod import Pod as RawPod
from scanner.kube.pod import PodSpec
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Owner

READS = (POD, NODE, NAMESPACE)
MAX_ADDRESSES = 8
"""Maximum number of addresses that are read from one pod or node. Dual stack has two."""


class ContainerPort(NamedTuple):
    """A port that a container declares."""

    number: int | None
    """None if it is invalid."""
    name: str
    protocol: str
    on_node: int | None
    """Port of the node that leads there."""
    host: str
    """Address of the node for that port, if the object has one."""


class Container(Struct, eq=False):
    """A container that runs as long as its pod, parsed once for all replicas."""

    raw: RawContainer
    name: str
    ports: tuple[ContainerPort, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Pod:
    """A pod with an address."""

    raw: RawPod
    namespace: str
    name: str
    owner: Owner
    addresses: tuple[str, ...]
    """Canonical texts, the primary address first."""
    node: str | None
    host_network: bool
    labels: tuple[tuple[str, str], ...]
    mesh: bool
    ready: bool
    """False if a condition reports that it is not ready."""
    terminating: bool
    """True if it was deleted and is terminating."""
    containers: tuple[Container, ...]
    """Containers that run as long as the pod."""
    ports: Mapping[str, int | None]
    """Ports of all containers, by name."""
    reference: Reference = field(init=False)
    """The reference that all endpoints of the pod share."""

    def __post_init__(self) -> None:
        self.reference = Reference(kind="Pod", name=self.name, namespace=self.namespace)

    @property
    def vantage(self) -> str | None:
        """The node in whose network it is, or None for the pod network."""
        return self.node if self.host_network else None

    def port_number(self, target: object) -> int | None:
        """A port by number, or by the name that a container gave it."""
        return resolve_port(target, self.ports)


class Node(Struct, kw_only=True, eq=False):
    raw: RawNode
    name: str
    addresses: tuple[str, ...]
    """Addresses inside the cluster."""
    labels: tuple[tuple[str, str], ...]


class Place(NamedTuple):
    """An address and port where a server may listen."""

    address: str
    """IP address in its canonical text; empty where only ``host`` is known."""
    port: int
    pod: Pod | None = None
    """The pod that listens."""
    node: str | None = None
    """The node in whose network it listens."""
    host: str = ""
    owner: Owner | None = None
    """Owner, if no pod is known."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the object that ``owner`` names."""
    sampled: bool = False
    """True for a load-balanced address without a known backend."""
    apart: str = ""
    """Distinguishes it from places of the same owner that are not its replicas: the host of a URL."""


class Workloads:
    """Pods and nodes, indexed by the names and addresses that other objects use."""

    def __init__(self, snapshot: Snapshot, cuts: Cuts, *, primary_only: bool) -> None:
        self._cuts = cuts
        self._primary_only = primary_only
        self.not_listening: dict[str, int] = {}
        """Number of pods that cannot listen, by reason."""
        self.nodes: dict[str | None, Node] = {
            node.name: node for node in map(self._node, map(RawNode.of, snapshot.every(NODE))) if valid_names(node.name)
        }
        self._node_at: dict[str, str] = {}
        for node in self.nodes.values():
            self._node_at |= {each: node.name for each in all_addresses(node.raw, cuts) if each not in self._node_at}
        self._ambient = frozenset(each.name for each in snapshot.every(NAMESPACE) if each.label(MODE) == "ambient")
        self._template = MemoisedByIdentity(_template)
        self._labels = MemoisedByIdentity(_labels)
        self._is_ready = MemoisedByIdentity(_is_ready)
        self._owners = Owners()
        self.pods = [pod for pod in map(self._pod, map(RawPod.of, snapshot.every(POD))) if pod]
        self.named: dict[tuple[str | None, str], Pod] = {(pod.namespace, pod.name): pod for pod in self.pods}
        self.on_pod_network: dict[str, Pod] = {}
        self._shared: dict[str, list[Pod]] = {}
        """Addresses that several pods have in their status."""
        self.on_node: dict[str | None, list[Pod]] = {}
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
        self._labelled = LabelIndex(self.pods, _namespace_and_labels)
        self._host_ports: dict[tuple[str | None, int], list[Pod]] | None = None

    def select(self, namespace: str | None, selector: LabelSelector) -> list[Pod]:
        """Pods that a LabelSelector selects."""
        return self._labelled.select(namespace, selector)

    def with_host_port(self, node: str | None, number: int) -> list[Pod]:
        """Pods of the pod network to which a port of a node leads; indexed at the first lookup."""
        if self._host_ports is None:
            self._host_ports = {}
            for pod in self.pods:
                for each in (one for container in pod.containers for one in container.ports):
                    if each.on_node and pod.node and not pod.host_network:
                        self._host_ports.setdefault((pod.node, each.on_node), []).append(pod)
        return self._host_ports.get((node, number), [])

    def places(self, pod: Pod, number: int) -> list[Place]:
        """Places where ``pod`` listens on a port: each of its addresses, or one if a port-forward makes them the
        same."""
        addresses = pod.addresses[:1] if self._primary_only else pod.addresses
        return [Place(each, number, pod, pod.vantage) for each in addresses]

    def at(self, where: str, number: int, pod: Pod | None = None) -> list[Place]:
        """The place of a canonical address of a pod or node. If several pods have the address, those that are not
        terminating. ``pod``: the pod that should have the address."""
        found = pod if pod and where in pod.addresses else self.on_pod_network.get(where)
        if found and found is not pod and where in self._shared:
            several = self._shared[where][:MAX_ADDRESSES]
            staying = [each for each in several if not each.terminating] or several
            return [self._place(where, number, each) for each in staying]
        if found:
            return [self._place(where, number, found)]
        node = self._node_at.get(where)
        return [Place(where, number, None, node)] if node else []

    def _place(self, where: str, number: int, pod: Pod) -> Place:
        return Place(pod.addresses[0] if self._primary_only else where, number, pod, pod.vantage)

    def _pod(self, raw: RawPod) -> Pod | None:
        namespace, name, spec = raw.namespace, raw.name, raw.spec
        if namespace is None or not valid_names(namespace, name):
            self._skip("pods with an invalid name")
            return None
        if raw.has_finished:
            self._skip("pods that have finished")
            return None
        on_host, node = spec.host_network, spec.node_name or None
        addresses = _addresses(raw, self._cuts, on_host=on_host) or (
            self.nodes[node].addresses if on_host and node in self.nodes else ()
        )
        if not addresses:
            self._skip("pods without an address")
            return None
        if node is None and on_host:
            node = self._node_at.get(addresses[0])
        template = self._template(spec.container_values, spec.init_container_values, spec.ephemeral_container_values)
        return Pod(
            raw=raw,
            namespace=namespace,
            name=name,
            owner=self._owners.of(raw, node),
            addresses=addresses,
            node=node,
            host_network=on_host,
            labels=self._labels(raw.label_values),
            mesh=not on_host and (template.has_sidecar or is_ambient(raw, self._ambient)),
            ready=self._is_ready(raw.condition_values),
            terminating=raw.is_deleted,
            containers=template.containers,
            ports=template.ports,
        )

    def _node(self, raw: RawNode) -> Node:
        kinds: dict[str, list[str]] = {}
        for each in raw.addresses:
            found = address(each.address)
            if found:
                kinds.setdefault(each.type, []).append(found)
        addresses = kinds.get("InternalIP") or kinds.get("ExternalIP") or []
        return Node(
            raw=raw,
            name=raw.name,
            addresses=tuple(dict.fromkeys(self._cuts.first(addresses, MAX_ADDRESSES, "addresses of a node", raw))),
            labels=tuple(sorted(raw.labels.items())),
        )

    def _skip(self, reason: str) -> None:
        self.not_listening[reason] = self.not_listening.get(reason, 0) + 1


def resolve_port(target: object, names: Mapping[str, int | None]) -> int | None:
    """A port by number, or by one of ``names``."""
    return names.get(target) if isinstance(target, str) and not target.isdigit() else port(target)


def all_addresses(node: RawNode, cuts: Cuts) -> tuple[str, ...]:
    """Every IP address in the status of a node."""
    found = [address(each.address) for each in node.addresses]
    return tuple(dict.fromkeys(each for each in cuts.first(found, MAX_ADDRESSES, "addresses of a node", node) if each))


def _addresses(raw: RawPod, cuts: Cuts, *, on_host: bool) -> tuple[str, ...]:
    found = [address(each.ip) for each in raw.pod_ips] or [address(raw.pod_ip)]
    if on_host and not any(found):
        found = [address(raw.host_ip)]
    return tuple(dict.fromkeys(each for each in cuts.first(found, MAX_ADDRESSES, "addresses of a pod", raw) if each))


def _namespace_and_labels(pod: Pod) -> tuple[str, Mapping[str, str]]:
    return pod.namespace, dict(pod.labels)


# --- What replicas have in common -------------------------------------------------------------------------------------

Answer = TypeVar("Answer")
Values = TypeVarTuple("Values")


class MemoisedByIdentity(Generic[*Values, Answer]):
    """A function memoised by the identity of its arguments: comparing them would cost more than the call. Replicas
    share their containers and labels, because reading keeps equal values as one object."""

    def __init__(self, function: Callable[[*Values], Answer]) -> None:
        self._function = function
        self._results: dict[tuple[int, ...], tuple[tuple[object, ...], Answer]] = {}
        """Results with their arguments, which stay referenced so that their ids are not reused."""

    def __call__(self, *values: *Values) -> Answer:
        key = tuple(map(id, values))
        found = self._results.get(key)
        if found is None:
            found = self._results[key] = (values, self._function(*values))
        return found[1]


class Template(NamedTuple):
    """The parts of a pod template that discovery needs."""

    containers: tuple[Container, ...]
    """Containers that run as long as the pod."""
    ports: Mapping[str, int | None]
    """Declared ports of all containers, by name."""
    has_sidecar: bool
    """True if a mesh injected its proxy."""


def _template(containers: object, init_containers: object, ephemeral_containers: object) -> Template:
    spec = PodSpec(
        {"containers": containers, "initContainers": init_containers, "ephemeralContainers": ephemeral_containers}
    )
    regular = [_container(each) for each in spec.containers]
    staying = (*regular, *map(_container, spec.sidecars), *map(_container, spec.ephemeral_containers))
    ports: dict[str, int | None] = {}
    for port_ in (each for container in staying for each in container.ports):
        ports.setdefault(port_.name, port_.number)
    names = {each.name for each in regular}
    # A gateway has the proxy as its only container, and is no workload of a mesh.
    has_sidecar = not names <= SIDECARS and not SIDECARS.isdisjoint(
        names | {each.name for each in spec.init_containers}
    )
    return Template(staying, ports, has_sidecar)


def _labels(values: object) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(KubeObject({"metadata": {"labels": values}}, POD).labels.items()))


def _is_ready(conditions: object) -> bool:
    return RawPod({"status": {"conditions": conditions}}, POD).is_ready


def _container(raw: RawContainer) -> Container:
    ports = []
    for each in raw.ports:
        on_node = port(each.host_port)
        host = each.host_ip if on_node else ""
        ports.append(ContainerPort(port(each.container_port), each.name, each.protocol, on_node, host))
    return Container(raw, raw.name, tuple(ports))


# --- Service meshes: the proxy answers, not the workload --------------------------------------------------------------

SIDECARS = frozenset({"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"})
"""Names of the containers that meshes inject."""
AMBIENT = "ambient.istio.io/redirection"
"""Annotation by Istio's CNI on a pod whose connections go to ztunnel (``enabled``)."""
MODE = "istio.io/dataplane-mode"
"""``ambient`` or ``none``, on pods and namespaces."""


def is_ambient(pod: RawPod, ambient_namespaces: frozenset[str]) -> bool:
    """True if Istio's ambient mode captures the pod."""
    mode = pod.label(MODE)
    if pod.annotation(AMBIENT) == "enabled" or mode == "ambient":
        return True
    return mode != "none" and pod.namespace in ambient_namespaces


# --- Owners -----------------------------------------------------------------------------------------------------------

_HASHES = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))
"""Label of a ReplicaSet's pods with the end of its name, and the kind of its owner."""
_SCHEDULED = re.compile(r"(.+)-[0-9]{8,10}\Z")
"""Name of a CronJob's Job, which ends with the scheduled minute (pkg/controller/cronjob)."""
_DEPLOYED = "openshift.io/deployment-config.name"
_ATTEMPT = re.compile(r"(.+)-[0-9]{1,9}\Z")


class Owners:
    """Owners of pods: the object that a user created, above generated ReplicaSets and Jobs. Replicas share one
    value."""

    def __init__(self) -> None:
        self._above = MemoisedByIdentity(_above)

    def of(self, pod: RawPod, node: str | None) -> Owner:
        """The owner of a pod; that of a static pod is ``StaticPod`` of its name without the node's."""
        static = pod.is_static
        found = self._above(pod.owner_values, pod.label_values, pod.namespace, static, pod.annotation(_DEPLOYED))
        if found:
            return found
        name = pod.name
        if static:
            name = name.removesuffix(f"-{node}") if node else name
        return Owner(kind="StaticPod" if static else "Pod", name=name, namespace=pod.namespace)


def _above(references: object, labels: object, namespace: str | None, static: bool, config: str) -> Owner | None:  # noqa: FBT001 - a value beside others
    """The owner that does not depend on the pod's own name. ``config``: name of its DeploymentConfig."""
    pod = RawPod({"metadata": {"ownerReferences": references, "labels": labels}}, POD)
    above = _controller(pod)
    if above is None or static or not valid_names(above.kind, above.name):
        return None
    kind, name = above.kind, above.name
    if kind == "ReplicaSet":
        kind, name = _above_replicas(pod, name)
    elif kind == "ReplicationController":
        attempt = _ATTEMPT.match(name)
        kind, name = ("DeploymentConfig", config) if attempt and attempt[1] == config else (kind, name)
    elif kind == "Job":
        scheduled = _SCHEDULED.match(name)
        kind, name = ("CronJob", scheduled[1]) if scheduled else (kind, name)
    return Owner(kind=kind, name=name, namespace=namespace)


def _controller(pod: RawPod) -> OwnerReference | None:
    every = pod.owner_references
    return next((each for each in every if each.is_controller), next((each for each in every if each.raw), None))


def _above_replicas(pod: RawPod, name: str) -> tuple[str, str]:
    for label, kind in _HASHES:
        ending = f"-{pod.label(label)}"
        if ending != "-" and name.endswith(ending) and name != ending:
            return kind, name.removesuffix(ending)
    return "ReplicaSet", name
