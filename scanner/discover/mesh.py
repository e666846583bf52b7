"""Whether a service mesh takes a pod's connections: then its proxy answers, not the workload."""

from __future__ import annotations

from scanner.model.objects import KubeObject

SIDECARS = frozenset({"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"})
"""Names of the containers that meshes inject."""
AMBIENT = "ambient.istio.io/redirection"
"""What Istio's CNI writes on a pod whose connections it hands to ztunnel (``enabled``)."""
MODE = "istio.io/dataplane-mode"
"""``ambient`` or ``none``, on pods and namespaces."""


def captured(pod: KubeObject, ambient_namespaces: frozenset[str]) -> bool:
    """A sidecar beside another container, or ambient capture. A gateway is a proxy alone, and no workload of a mesh."""
    regular = {each.text("name") for each in pod.each("spec", "containers")}
    if regular - SIDECARS and (regular & SIDECARS or any(
        each.text("name") in SIDECARS for each in pod.each("spec", "initContainers")
    )):  # fmt: skip
        return True
    mode = pod.text("metadata", "labels", MODE)
    if pod.text("metadata", "annotations", AMBIENT) == "enabled" or mode == "ambient":
        return True
    return mode != "none" and pod.namespace in ambient_namespaces
