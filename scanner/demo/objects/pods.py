"""Pods, Services, EndpointSlices: made from the workloads (core/v1, discovery.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanner.demo.api.store import Object
from scanner.demo.cluster_workloads import WORKLOADS
from scanner.demo.layout import Layout, Replica
from scanner.demo.workload_types import API_PORT, GATEWAY_PORT, Port, ServiceSpec, Workload

_OWNER_KINDS = {"StaticPod": "Node", "DaemonSet": "DaemonSet", "Deployment": "ReplicaSet"}
_SERVING_CERT = "service.beta.openshift.io/serving-cert-secret-name"
_SIGNED_BY = "service.beta.openshift.io/serving-cert-signed-by"


def pod(layout: Layout, replica: Replica) -> Object:
    """The Pod of a replica."""
    workload = replica.workload
    host = layout.addresses.node(replica.node)
    container: dict[str, Any] = {
        "name": workload.name,
        "image": f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{replica.hash}",
        "args": list(workload.args),
        "ports": [_container_port(workload, each) for each in workload.ports if each.declared],
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    for port in workload.ports:
        if port.probed:
            request = {"path": "/healthz", "port": port.number, "scheme": "HTTPS"}
            probe = {"httpGet": request, "timeoutSeconds": 1, "periodSeconds": 10}
            container |= {"livenessProbe": probe, "readinessProbe": probe}
    return {
        "metadata": _pod_metadata(replica),
        "spec": {
            "containers": [container],
            "nodeName": replica.node,
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            **({"hostNetwork": True} if workload.host_network else {}),
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady")],
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": replica.address,
            "podIPs": [{"ip": replica.address}],
            "containerStatuses": [{"name": workload.name, "ready": True, "restartCount": 0}],
        },
    }


def _container_port(workload: Workload, port: Port) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": port.name, "containerPort": port.number, "protocol": "TCP"}
    if workload.host_network:
        declared["hostPort"] = port.number  # as the API server fills it in
    return declared


def _pod_metadata(replica: Replica) -> dict[str, Any]:
    workload = replica.workload
    owner = {"StaticPod": replica.node, "DaemonSet": workload.name, "Deployment": f"{workload.name}-{replica.hash}"}[
        workload.kind
    ]
    labels = dict(workload.labels)
    annotations: dict[str, str] = {"openshift.io/scc": "restricted-v2"}
    if workload.kind == "Deployment":
        labels["pod-template-hash"] = replica.hash
    if workload.kind == "StaticPod":
        annotations = {"kubernetes.io/config.mirror": replica.hash, "kubernetes.io/config.source": "file"}
    kind = _OWNER_KINDS[workload.kind]
    reference = {"apiVersion": "v1" if kind == "Node" else "apps/v1", "kind": kind, "name": owner, "controller": True}
    return {
        "name": replica.pod,
        "namespace": workload.namespace,
        "labels": labels | ({"olm.owner": workload.installed_by} if workload.installed_by else {}),
        "annotations": annotations,
        "ownerReferences": [reference],
    }


# --- Services ---------------------------------------------------------------------------------------------------------


def services(layout: Layout) -> Iterator[Object]:
    """Services of workloads, of the API server, of the Gateway, without pods (``reports``), of type ExternalName."""
    for workload in WORKLOADS:
        if workload.service is not None:
            yield _service(layout, workload, workload.service)
    yield _service_object("kubernetes", "default", layout.addresses.kubernetes_service, [_port("https", 443, API_PORT)])
    reports = _service_object("reports", "shop", layout.cluster_ips["shop", "reports"], [_port("https", 443, 8443)])
    reports["spec"]["selector"] = {"app": "reports"}
    yield reports
    yield {
        "metadata": {"name": "bank", "namespace": "shop"},
        "spec": {"type": "ExternalName", "externalName": "bank.example.net", "sessionAffinity": "None"},
        "status": {"loadBalancer": {}},
    }
    gateway = _service_object(
        "shop-openshift-default",
        "openshift-ingress",
        layout.cluster_ips["openshift-ingress", "shop-openshift-default"],
        [_port("https-shop", GATEWAY_PORT, GATEWAY_PORT)],
    )
    gateway["metadata"]["labels"] = {"gateway.networking.k8s.io/gateway-name": "shop"}
    gateway["spec"] |= {"type": "LoadBalancer", "selector": {"gateway.networking.k8s.io/gateway-name": "shop"}}
    gateway["status"]["loadBalancer"] = {"ingress": [{"ip": layout.addresses.load_balancer, "ipMode": "VIP"}]}
    yield gateway


def _service(layout: Layout, workload: Workload, service: ServiceSpec) -> Object:
    address = layout.cluster_ips.get((workload.namespace, service.name), "None")
    ports = [_port(name, number, name) for number, name in service.ports]
    if workload.host_network and workload.kind == "StaticPod":  # their Services name the number
        ports = [_port(name, number, _number(workload, name)) for number, name in service.ports]
    found = _service_object(service.name, workload.namespace, address, ports)
    found["spec"]["selector"] = dict(workload.labels)
    found["metadata"]["labels"] = dict(workload.labels)
    if service.serving_cert:
        signer = f"openshift-service-serving-signer@{int(layout.now.timestamp())}"
        found["metadata"]["annotations"] = {_SERVING_CERT: service.serving_cert, _SIGNED_BY: signer}
    return found


def _number(workload: Workload, name: str) -> int:
    return next(each.number for each in workload.ports if each.name == name)


def _port(name: str, number: int, target: int | str) -> dict[str, Any]:
    return {"name": name, "protocol": "TCP", "port": number, "targetPort": target}


def _service_object(name: str, namespace: str, address: str, ports: list[dict[str, Any]]) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "ports": ports,
            "sessionAffinity": "None",
        },
        "status": {"loadBalancer": {}},
    }


# --- EndpointSlices ---------------------------------------------------------------------------------------------------


def endpoint_slices(layout: Layout) -> Iterator[Object]:
    """One for each Service with a selector, and that of the API server."""
    for workload in WORKLOADS:
        if workload.service is not None:
            ports = {name: _number(workload, name) for _, name in workload.service.ports}
            yield _slice(workload.namespace, workload.service.name, ports, layout.of(workload))
    gateway = next(each for each in WORKLOADS if each.name == "shop-openshift-default")
    yield _slice("openshift-ingress", gateway.name, {"https-shop": GATEWAY_PORT}, layout.of(gateway))
    yield _slice("shop", "reports", {"https": 8443}, [])
    api = _slice("default", "kubernetes", {"https": API_PORT}, [])
    api["metadata"]["name"] = "kubernetes"
    api["endpoints"] = [{"addresses": [layout.addresses.api], "conditions": {"ready": True}}]
    yield api


def _slice(namespace: str, service: str, ports: dict[str, int], replicas: list[Replica]) -> Object:
    return {
        "metadata": {
            "name": f"{service}-{len(service):02}x{len(ports)}z",
            "namespace": namespace,
            "labels": {
                "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": service, "controller": True}],
        },
        "addressType": "IPv4",
        "ports": [{"name": name, "port": number, "protocol": "TCP"} for name, number in ports.items()],
        "endpoints": [
            {
                "addresses": [each.address],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": each.node,
                "targetRef": {"kind": "Pod", "name": each.pod, "namespace": namespace},
            }
            for each in replicas
        ],
    }
