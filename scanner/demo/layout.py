"""The demo's cluster, laid out: which pod is where, which Service has which address, who signed what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from scanner.demo.addresses import Addresses
from scanner.demo.certificates import Signers
from scanner.demo.cluster_workloads import PLATFORM, USERS
from scanner.demo.tls_settings import Serves
from scanner.demo.workloads import Outcome, Port, Workload

WORKLOADS = (*PLATFORM, *USERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One pod."""

    workload: Workload
    pod: str
    """Its name."""
    hash: str
    """``pod-template-hash``, of a Deployment's."""
    node: str
    address: str
    odd: bool
    """The last of several: the one that disagrees, where one does."""

    def serves(self, port: Port) -> Serves | None:
        """How it speaks on a port."""
        return port.odd_serves if self.odd and port.odd_serves else port.serves

    def outcome(self, port: Port) -> Outcome:
        """What a scan should say of it."""
        return port.odd_outcome if self.odd and port.odd_outcome else port.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The input of both the objects and the listeners."""

    addresses: Addresses
    signers: Signers
    now: datetime
    replicas: tuple[Replica, ...]
    cluster_ips: dict[tuple[str, str], str]
    """Of Services, by namespace and name."""
    load_balancer: str
    """Of the Gateway."""

    def of(self, workload: Workload) -> list[Replica]:
        """Its pods."""
        return [each for each in self.replicas if each.workload is workload]

    def backends(self, namespace: str, service: str, port: str) -> Iterator[tuple[str, int]]:
        """Address and port of every pod behind a port of a Service."""
        for each in self.replicas:
            front = each.workload.front
            if each.workload.namespace == namespace and front is not None and front.name == service:
                yield from ((each.address, at.number) for at in each.workload.ports if at.name == port)


def lay_out(block: int, now: datetime) -> Layout:
    """The cluster in 127.``block``.0.0/16."""
    addresses = Addresses(block)
    others = [("openshift-ingress", "shop-openshift-default"), ("shop", "reports")]
    fronts = [(each.namespace, each.front.name) for each in WORKLOADS if each.front and not each.front.headless]
    return Layout(
        addresses=addresses,
        signers=Signers(now),
        now=now,
        replicas=tuple(replica for each in WORKLOADS for replica in _replicas(addresses, each)),
        cluster_ips={each: addresses.service() for each in (*fronts, *others)},
        load_balancer=addresses.published(),
    )


def _replicas(addresses: Addresses, workload: Workload) -> Iterator[Replica]:
    template = _letters(workload.name, 10)
    for number, node in enumerate(workload.nodes):
        suffix = _letters(f"{workload.name}/{number}", 5)
        name = {
            "StaticPod": f"{workload.name}-{node}",
            "DaemonSet": f"{workload.name}-{suffix}",
            "Deployment": f"{workload.name}-{template}-{suffix}",
        }[workload.kind]
        yield Replica(
            workload=workload,
            pod=name,
            hash=template,
            node=node,
            address=addresses.node(node) if workload.host_network else addresses.pod(node),
            odd=number == len(workload.nodes) - 1 and number > 0,
        )


def _letters(text: str, count: int) -> str:
    """As Kubernetes ends names: no vowels, so that they are no words. The same in each run."""
    letters = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(letters[byte % len(letters)] for byte in hashlib.sha256(text.encode()).digest()[:count])
