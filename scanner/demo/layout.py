"""The layout of the demo's cluster: the node and address of each pod, the address of each Service, the signers.

Addresses are in 127.N.0.0/16 on loopback; each run takes the first N that is free. Linux has all of 127.0.0.0/8 on its
loopback; other systems have only 127.0.0.1 and cannot run the demo's cluster.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import count

from msgspec import Struct

from scanner.demo.certificates import Signers
from scanner.demo.cluster_workloads import WORKLOADS
from scanner.demo.workload_types import MASTER, NODES, Outcome, Port, Serves, Workload

BLOCKS = range(10, 100)
"""N, in the order of trying."""


class Addresses(Struct, frozen=True):
    """Addresses of one block."""

    block: int

    @property
    def pod_network(self) -> str:
        """``Network/cluster`` status.clusterNetwork."""
        return f"127.{self.block}.0.0/17"

    @property
    def service_network(self) -> str:
        """``Network/cluster`` status.serviceNetwork. No address in it has a listener: the demo has no kube-proxy."""
        return f"127.{self.block}.128.0/18"

    @property
    def kubernetes_service(self) -> str:
        """ClusterIP of ``default/kubernetes``."""
        return f"127.{self.block}.128.1"

    @property
    def load_balancer(self) -> str:
        """Address of the Gateway's load balancer."""
        return f"127.{self.block}.193.10"

    @property
    def api(self) -> str:
        """Address of the API server, on the control plane's node."""
        return self.node(MASTER)

    def node(self, name: str) -> str:
        """InternalIP of a node."""
        return f"127.{self.block}.192.{10 + NODES.index(name)}"

    def loopback(self, node: str) -> str:
        """Stand-in for the loopback of a node: only the API server's port-forward connects to it."""
        return f"127.{self.block}.254.{10 + NODES.index(node)}"


class Replica(Struct, frozen=True, kw_only=True):
    """One pod."""

    workload: Workload
    pod: str
    """Its name."""
    hash: str
    """``pod-template-hash`` of a Deployment's pod."""
    node: str
    address: str
    last: bool
    """True for the last of several replicas, which may differ from the others."""

    def serves(self, port: Port) -> Serves | None:
        """The settings of its listener on a port."""
        return port.last_serves if self.last and port.last_serves else port.serves

    def outcome(self, port: Port) -> Outcome:
        """The expected result of a scan."""
        return port.last_outcome if self.last and port.last_outcome else port.outcome


class Layout(Struct, frozen=True, kw_only=True):
    """The input of both the objects and the listeners."""

    addresses: Addresses
    signers: Signers
    now: datetime
    replicas: tuple[Replica, ...]
    cluster_ips: dict[tuple[str, str], str]
    """ClusterIP by namespace and name of the Service."""

    def of(self, workload: Workload) -> list[Replica]:
        """The pods of a workload."""
        return [each for each in self.replicas if each.workload is workload]

    def backends(self, namespace: str, service: str, port: str) -> Iterator[tuple[str, int]]:
        """Address and port of every pod behind a port of a Service."""
        for each in self.replicas:
            behind = each.workload.service
            if each.workload.namespace == namespace and behind is not None and behind.name == service:
                yield from ((each.address, at.number) for at in each.workload.ports if at.name == port)


def lay_out(block: int, now: datetime) -> Layout:
    """The cluster in 127.``block``.0.0/16."""
    addresses = Addresses(block)
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(4))
    services = [(each.namespace, each.service.name) for each in WORKLOADS if each.service and not each.service.headless]
    others = [("openshift-ingress", "shop-openshift-default"), ("shop", "reports")]
    return Layout(
        addresses=addresses,
        signers=Signers(now),
        now=now,
        replicas=tuple(replica for each in WORKLOADS for replica in _replicas(addresses, numbers, each)),
        cluster_ips={each: f"127.{block}.128.{number}" for number, each in enumerate((*services, *others), 11)},
    )


def _replicas(addresses: Addresses, numbers: defaultdict[str, Iterator[int]], workload: Workload) -> Iterator[Replica]:
    template = _letters(workload.name, 10)
    for number, node in enumerate(workload.nodes):
        suffix = _letters(f"{workload.name}/{number}", 5)
        name = {
            "StaticPod": f"{workload.name}-{node}",
            "DaemonSet": f"{workload.name}-{suffix}",
            "Deployment": f"{workload.name}-{template}-{suffix}",
        }[workload.kind]
        if workload.host_network:
            address = addresses.node(node)
        else:
            address = f"127.{addresses.block}.{NODES.index(node)}.{next(numbers[node])}"
        yield Replica(
            workload=workload,
            pod=name,
            hash=template,
            node=node,
            address=address,
            last=number == len(workload.nodes) - 1 and number > 0,
        )


def _letters(text: str, count: int) -> str:
    """A suffix in the alphabet of Kubernetes (rand.SafeEncodeString, no vowels); the same in each run."""
    letters = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(letters[byte % len(letters)] for byte in hashlib.sha256(text.encode()).digest()[:count])
