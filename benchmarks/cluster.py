"""Cost of reading a large cluster and finding its listeners: ``python -m benchmarks.cluster [PODS SERVICES]``.

A process of its own generates an API on loopback (TLS, gzip, pages of 500, objects as a cluster sends them: managed
fields, annotations, probes, volumes). This process reads it, pruned, discovers, and prints its own CPU time and peak memory.
"""

from __future__ import annotations

import gc
import gzip
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import trio

from scanner.__main__ import SELDOM
from scanner.cluster import Access, read
from scanner.cluster.api_connection import Credential, Trust
from scanner.cluster.exec_plugin import Fixed
from scanner.config.component_catalogue import load_catalogue
from scanner.discover import READS, discover
from scanner.kube.kinds import ENDPOINT_SLICE, POD, SERVICE, Kind
from scanner.values import replace
from tests.cluster.api import Answer, Api, Asked, authority, running

KINDS = (POD, SERVICE, ENDPOINT_SLICE)
REPLICAS = 4
COMPRESSED = 128 << 10
"""Bytes from which on an API server compresses, where the client takes it (k8s.io/apiserver, responsewriters)."""


# ruff: noqa: E501 - objects as they come


def pod(number: int) -> dict[str, object]:
    """As the API server sends one; some 7 KB."""
    app, namespace = workload(number // REPLICAS)
    probe = {"httpGet": {"path": "/healthz", "port": 8443, "scheme": "HTTPS"}, "periodSeconds": 10, "timeoutSeconds": 1}
    container = {
        "name": "web", "image": f"registry.example/{app}@sha256:{number // REPLICAS:064x}",
        "args": ["--tls-min-version=VersionTLS12", f"--listen=:{8443}", "--config=/etc/config/config.yaml"],
        "ports": [{"name": "https", "containerPort": 8443, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9090}],
        "env": [{"name": f"VARIABLE_{each}", "value": f"value of {each}"} for each in range(12)],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": [{"name": "tls", "mountPath": "/tls", "readOnly": True}, {"name": "config", "mountPath": "/etc/config", "readOnly": True},
                         {"name": f"kube-api-access-{number:05x}", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}],
        "livenessProbe": probe, "readinessProbe": probe, "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
    }  # fmt: skip
    sidecar = {**container, "name": "proxy", "args": ["--upstream=http://127.0.0.1:9090"], "env": []}
    fields: dict[str, object] = {f"f:field{each}": {"f:nested": {}, "f:other": {".": {}}} for each in range(40)}
    return {
        "metadata": {
            "name": pod_name(number), "namespace": namespace, "uid": f"{number:08x}-0000-4000-8000-000000000000",
            "labels": {"app": app, "app.kubernetes.io/name": app, "pod-template-hash": "7d4b9c6f5", "team": namespace},
            "annotations": {"openshift.io/scc": "restricted-v2", "k8s.ovn.org/pod-networks": networks(number),
                            "k8s.v1.cni.cncf.io/network-status": networks(number)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-7d4b9c6f5",
                                 "uid": f"{number // REPLICAS:08x}-1", "controller": True, "blockOwnerDeletion": True}],
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": fields}],
            "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": str(number), "generateName": f"{app}-",
        },
        "spec": {
            "nodeName": f"worker-{number % 250}", "containers": [container, sidecar], "serviceAccountName": "default",
            "volumes": [{"name": "tls", "secret": {"secretName": f"{app}-tls", "defaultMode": 420}},
                        {"name": "config", "configMap": {"name": app}},
                        {"name": f"kube-api-access-{number:05x}", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}] * 2,
        },
        "status": {
            "phase": "Running", "hostIP": f"10.1.0.{number % 250}", "podIP": address(number), "podIPs": [{"ip": address(number)}],
            "conditions": [{"type": each, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                           for each in ("Initialized", "Ready", "ContainersReady", "PodScheduled")],
            "containerStatuses": [{"name": each, "ready": True, "started": True, "imageID": "x" * 100,
                                   "containerID": f"cri-o://{number:064x}"} for each in ("web", "proxy")],
        },
    }  # fmt: skip


def workload(number: int) -> tuple[str, str]:
    """Name and namespace of a Deployment."""
    return f"app-{number}", f"team-{number % 200}"


def pod_name(number: int) -> str:
    return f"app-{number // REPLICAS}-7d4b9c6f5-{number:05x}"


def address(number: int) -> str:
    return f"10.{128 + number // 65536}.{number // 256 % 256}.{number % 256}"


def networks(number: int) -> str:
    """Annotations by OVN-Kubernetes and Multus on each pod: its own addresses."""
    return json.dumps({"default": {"ip_addresses": [f"{address(number)}/23"], "mac_address": f"0a:58:{number:06x}",
                                   "gateway_ips": ["10.128.0.1"], "routes": [{"dest": "10.128.0.0/14", "nextHop": "10.128.0.1"}],
                                   "ip_address": f"{address(number)}/23", "gateway_ip": "10.128.0.1", "role": "primary"}})  # fmt: skip


def service(number: int) -> dict[str, object]:
    """One of two of each Deployment."""
    app, namespace = workload(number // 2)
    cluster_ip = f"172.30.{number // 256}.{number % 256}"
    return {
        "metadata": {"name": f"{app}-{number % 2}", "namespace": namespace, "labels": {"app": app},
                     "managedFields": [{"manager": "oc", "fieldsV1": {"f:spec": {}}}]},
        "spec": {"clusterIP": cluster_ip, "clusterIPs": [cluster_ip],
                 "type": "ClusterIP", "selector": {"app": app}, "ipFamilies": ["IPv4"],
                 "ports": [{"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP"}]},
        "status": {"loadBalancer": {}},
    }  # fmt: skip


def endpoint_slice(number: int) -> dict[str, object]:
    """That of a Service, with all replicas of the Deployment."""
    app, namespace = workload(number // 2)
    replicas = range(number // 2 * REPLICAS, (number // 2 + 1) * REPLICAS)
    return {
        "metadata": {"name": f"{app}-{number % 2}-x", "namespace": namespace,
                     "labels": {"kubernetes.io/service-name": f"{app}-{number % 2}"}},
        "addressType": "IPv4", "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address(each)], "conditions": {"ready": True, "serving": True}, "nodeName": f"worker-{each % 250}",
                       "targetRef": {"kind": "Pod", "name": pod_name(each), "namespace": namespace, "uid": f"{each:08x}-0000-4000-8000-000000000000"}}
                      for each in replicas],
    }  # fmt: skip


def page(kind: Kind, start: int, end: int) -> bytes:
    make = {POD: pod, SERVICE: service, ENDPOINT_SLICE: endpoint_slice}[kind]
    return json.dumps([make(number) for number in range(start, end)]).encode()[1:-1]


async def serve(counts: dict[Kind, int]) -> None:
    """Say the port and the CA, then answer until standard input ends."""
    api = Api()
    paths = {api.add(kind): kind for kind in KINDS}

    def answer(asked: Asked) -> Answer | None:
        kind = paths.get(asked.path)
        if kind is None:
            return None
        start = int(asked.query.get("continue", "0"))
        end = min(start + int(asked.query["limit"]), counts[kind])
        rest = json.dumps({"continue": str(end)} if end < counts[kind] else {}).encode()
        body = b'{"kind": "List", "metadata": ' + rest + b', "items": [' + page(kind, start, end) + b"]}"
        if len(body) < COMPRESSED or "gzip" not in asked.headers.get("accept-encoding", ""):
            return Answer(200, body)
        return Answer(200, gzip.compress(body, 1), (("Content-Encoding", "gzip"),))

    api.script = answer
    async with running(api):
        print(json.dumps({"server": api.access.server, "ca": authority().pem.decode()}), flush=True)
        await trio.to_thread.run_sync(sys.stdin.read)


def main(pods: int, services: int) -> None:
    """Read the cluster and print what it cost."""
    gc.set_threshold(SELDOM)  # as the program does
    command = [sys.executable, "-m", "benchmarks.cluster", "serve", str(pods), str(services)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as server:
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        access = Access(
            name="bench", server=said["server"], source=Fixed(Credential()), trust=Trust(said["ca"].encode())
        )
        before, begun, cpu = _peak(), time.perf_counter(), time.process_time()
        found = trio.run(read, access, KINDS)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - begun
        whole = replace(found, objects={**dict.fromkeys(READS, ()), **found.objects})
        begun_discovery = time.process_time()
        listeners = discover(whole, load_catalogue("openshift"))
        discovery = time.process_time() - begun_discovery
        counts = ", ".join(f"{len(found.every(kind))} {kind.plural}" for kind in KINDS)
        print(f"{counts}: CPU {cpu:.2f} s, wall {wall:.2f} s, peak {_peak():.0f} MiB (before: {before:.0f})")
        print(
            f"{len(listeners.endpoints)} endpoints discovered: CPU {discovery:.2f} s; together {cpu + discovery:.2f} s"
        )
        server.communicate()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        size, half = int(arguments[1]), int(arguments[2])
        trio.run(serve, {POD: size, SERVICE: half, ENDPOINT_SLICE: half})
    else:
        main(*(int(each) for each in arguments or ("20000", "10000")))
