"""``python -m benchmarks.discovery``: what discovery costs on made-up clusters, and that the cost is linear.

A cluster of size n has n pods in n/4 Deployments, n/2 Services with an EndpointSlice each, and a node for every hundred
pods, with three DaemonSets on its network.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from scanner.__main__ import SELDOM
from scanner.config.component_catalogue import load_catalogue
from scanner.discover import READS, Discovery, discover
from scanner.kube.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot

Raw = dict[str, Any]


def cluster(pods: int) -> Snapshot:
    """A cluster with this many pods."""
    objects: dict[Kind, tuple[KubeObject, ...]] = dict.fromkeys(READS, ())
    nodes = max(1, pods // 100)
    objects[NODE] = tuple(KubeObject(_node(number), NODE) for number in range(nodes))
    objects[POD] = tuple(KubeObject(raw, POD) for raw in _pods(pods, nodes))
    objects[SERVICE] = tuple(KubeObject(_service(number), SERVICE) for number in range(pods // 2))
    objects[ENDPOINT_SLICE] = tuple(KubeObject(_slice(number), ENDPOINT_SLICE) for number in range(pods // 2))
    return Snapshot(taken_at=datetime.now(UTC), origin=Origin(name="benchmark"), objects=objects)


def _address(number: int) -> str:
    return f"10.{128 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"


def _host(node: int) -> str:
    return f"192.168.{node >> 8}.{node & 255}"


def _node(number: int) -> Raw:
    return {
        "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/os": "linux", "zone": f"z{number % 3}"}},
        "spec": {"podCIDRs": ["10.128.0.0/14"]},
        "status": {
            "addresses": [{"type": "InternalIP", "address": _host(number)}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    }


def _pods(count: int, nodes: int) -> Iterator[Raw]:
    for number in range(count - 3 * nodes):
        app = number // 4
        probe = {"httpGet": {"path": "/healthz", "port": "https", "scheme": "HTTPS"}}
        plain = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}}
        container = {
            "name": "app",
            "command": ["/app"],
            "args": ["--listen=:8443", "--metrics=:8080", "--log-level=info"],
            "ports": [{"name": "https", "containerPort": 8443}, {"name": "metrics", "containerPort": 8080}],
            "livenessProbe": probe,
            "readinessProbe": plain,
        }
        meta = {
            "name": f"app-{app}-7d9c6b5f4-{number:05d}",
            "ownerReferences": [{"kind": "ReplicaSet", "name": f"app-{app}-7d9c6b5f4", "controller": True}],
            "labels": {
                "app": f"app-{app}",
                "pod-template-hash": "7d9c6b5f4",
                "team": "a",
                "version": "1",
                "tier": "web",
            },
        }
        yield _pod(meta, f"ns-{app % 500}", number % nodes, _address(number), [container], on_host=False)
    for node in range(nodes):
        for each in range(3):
            container = {"name": "agent", "args": [f"--secure-listen-address=:{9100 + each}"]}
            meta = {"name": f"agent-{each}-{node}", "ownerReferences": [{"kind": "DaemonSet", "name": f"agent-{each}"}]}
            yield _pod(meta, "openshift-agents", node, _host(node), [container], on_host=True)


def _pod(meta: Raw, namespace: str, node: int, address: str, containers: list[Raw], *, on_host: bool) -> Raw:
    return {
        "metadata": {**meta, "namespace": namespace},
        "spec": {"nodeName": f"node-{node}", "hostNetwork": on_host, "containers": containers},
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": address}],
            "conditions": [{"type": each, "status": "True"} for each in ("Initialized", "Ready", "PodScheduled")],
        },
    }


def _service(number: int) -> Raw:
    app = number // 2
    return {
        "metadata": {"name": f"app-{number}", "namespace": f"ns-{app % 500}", "labels": {"app": f"app-{app}"}},
        "spec": {
            "type": "ClusterIP",
            "clusterIPs": [f"172.30.{number >> 8 & 255}.{number & 255}"],
            "selector": {"app": f"app-{app}"},
            "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
        },
    }


def _slice(number: int) -> Raw:
    app = number // 2
    return {
        "metadata": {
            "name": f"app-{number}-x",
            "namespace": f"ns-{app % 500}",
            "labels": {"kubernetes.io/service-name": f"app-{number}"},
        },
        "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": [_address(app * 4 + each)], "conditions": {"ready": True}, "nodeName": "node-0"}
            for each in range(4)
        ],
    }


def measured(snapshot: Snapshot) -> tuple[float, Discovery]:
    """The best of three runs, in seconds of CPU."""
    catalogue = load_catalogue("openshift")
    runs = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        found = discover(snapshot, catalogue)
        runs.append((time.process_time() - start, found))
    return min(runs, key=lambda run: run[0])


def memory(snapshot: Snapshot) -> float:
    """MiB that discovery takes at its peak beside the snapshot."""
    catalogue = load_catalogue("openshift")
    tracemalloc.start()
    discover(snapshot, catalogue)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> int:
    """Prints a line for each size, and the ratio of the last to the first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.discovery", description=__doc__)
    parser.add_argument("--pods", type=int, nargs="+", default=[2_000, 20_000])
    gc.set_threshold(SELDOM)  # as the program does
    times: list[float] = []
    for pods in parser.parse_args().pods:
        snapshot = cluster(pods)
        seconds, found = measured(snapshot)
        times.append(seconds)
        print(
            f"{pods:6} pods, {pods // 2:6} Services: {len(found.endpoints):6} endpoints in {seconds:.2f} s of CPU, "
            f"{memory(snapshot):.0f} MiB"
        )
    print(f"the last takes {times[-1] / times[0]:.1f} times as long as the first")
    return 0


if __name__ == "__main__":
    sys.exit(main())
