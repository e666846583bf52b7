"""The addresses of the demo's cluster: 127.N.0.0/16 on loopback, of which each run takes the first free block.

Linux has all of 127.0.0.0/8 on its loopback; others have 127.0.0.1 alone and cannot play a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BLOCKS = range(10, 100)
"""N, in the order in which they are tried: two demos at once do not meet."""

MASTER, WORKER_0, WORKER_1 = "master-0", "worker-0", "worker-1"
NODES = (MASTER, WORKER_0, WORKER_1)
API_PORT = 6443
GATEWAY_PORT = 8443
"""No port of the demo is below 1024: those are root's. Where there is a choice it is one that few programs take."""

BASE_DOMAIN = "demo.example"
APPS = f"apps.{BASE_DOMAIN}"
LEGACY = f"legacy.{BASE_DOMAIN}"
GATEWAY = f"gw.{BASE_DOMAIN}"


@dataclass(slots=True)
class Addresses:
    """Addresses of one block, assigned in order: the same objects get the same ones."""

    block: int
    _pods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, 3))
    _services: int = 10
    _published: int = 9

    @property
    def pod_network(self) -> str:
        """``Network/cluster`` status.clusterNetwork."""
        return f"127.{self.block}.0.0/17"

    @property
    def service_network(self) -> str:
        """``Network/cluster`` status.serviceNetwork."""
        return f"127.{self.block}.128.0/18"

    def node(self, name: str) -> str:
        """InternalIP of a node."""
        return f"127.{self.block}.192.{10 + NODES.index(name)}"

    def pod(self, node: str) -> str:
        """The next address of the pod network on a node."""
        self._pods[node] += 1
        return f"127.{self.block}.{NODES.index(node)}.{self._pods[node]}"

    def service(self) -> str:
        """The next clusterIP. Nothing listens there: the demo has no kube-proxy."""
        self._services += 1
        return f"127.{self.block}.128.{self._services}"

    def published(self) -> str:
        """The next address of a load balancer."""
        self._published += 1
        return f"127.{self.block}.193.{self._published}"

    def hidden(self, node: str) -> str:
        """Plays the loopback of a node: only the API server's port-forward leads there."""
        return f"127.{self.block}.254.{10 + NODES.index(node)}"

    @property
    def kubernetes_service(self) -> str:
        """ClusterIP of ``default/kubernetes``."""
        return f"127.{self.block}.128.1"

    @property
    def api(self) -> str:
        """Of the API server, on the control plane's node."""
        return self.node(MASTER)
