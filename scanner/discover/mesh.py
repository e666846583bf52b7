"""Whether a service mesh takes a pod's connections: then its proxy answers, not the workload."""

from __future__ import annotations

from scanner.kube.objects import Fields

SIDECARS = frozenset({"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"})
"""Names of the containers that meshes inject."""
AMBIENT = "ambient.istio.io/redirection"
"""What Istio's CNI writes on a pod whose connections it hands to ztunnel (``enabled``)."""
MODE = "istio.io/dataplane-mode"
"""``ambient`` or ``none``, on pods and namespaces."""


def injected(containers: object, init_containers: object) -> bool:
    """A sidecar beside another container. A gateway is a proxy alone, and no workload of a mesh."""
    spec = Fields({"containers": containers, "initContainers": init_containers})
    regular = {each.text("name") for each in spec.each("containers")}
    started = {each.text("name") for each in spec.each("initContainers")}
    return not regular <= SIDECARS and not SIDECARS.isdisjoint(regular | started)


def captured(metadata: Fields, ambient_namespaces: frozenset[str]) -> bool:
    """Ambient capture."""
    mode = metadata.text("labels", MODE)
    if metadata.text("annotations", AMBIENT) == "enabled" or mode == "ambient":
        return True
    return mode != "none" and metadata.text("namespace") in ambient_namespaces
