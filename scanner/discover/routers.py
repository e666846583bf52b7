"""OpenShift's routers: which pods answer for an IngressController (openshift/cluster-ingress-operator)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.discover.draft import Place
from scanner.discover.names import port, server_name, sound
from scanner.discover.workloads import Workloads
from scanner.kube.kinds import INGRESS_CONTROLLER
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot

READS = (INGRESS_CONTROLLER,)

NAMESPACE = "openshift-ingress"
LABEL = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
"""On the router's pods; its value is the IngressController's name."""
_STRATEGY = ("status", "endpointPublishingStrategy", "hostNetwork", "httpsPort")


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """One IngressController and where it listens for TLS."""

    raw: KubeObject
    name: str
    places: tuple[Place, ...]
    """Its pods' primary address each: every name is asked there. The other family leads to the same process."""
    services: tuple[str, ...]
    """Services that lead to it, in the order in which they are tried where no pod is known."""
    hostnames: tuple[str, ...]
    """The names under which Routes and Ingresses say that it is reached."""
    namespace: str = NAMESPACE


def find(snapshot: Snapshot, workloads: Workloads) -> dict[str, Router]:
    """Every router by the name of its IngressController."""
    return {each.name: _router(each, workloads) for each in snapshot.every(INGRESS_CONTROLLER) if sound(each.name)}


def _router(raw: KubeObject, workloads: Workloads) -> Router:
    domain = raw.text("status", "domain") or raw.text("spec", "domain")
    canonical = server_name(f"router-{raw.name}.{domain}") if domain else None
    return Router(
        raw=raw,
        name=raw.name,
        places=tuple(_places(raw, workloads)),
        services=(f"router-internal-{raw.name}", f"router-{raw.name}", f"router-nodeport-{raw.name}"),
        hostnames=(canonical,) if canonical else (),
    )


def _places(raw: KubeObject, workloads: Workloads) -> Iterator[Place]:
    for pod in workloads.select(NAMESPACE, Fields({"matchLabels": {LABEL: raw.name}})):
        number = (port(raw.at(*_STRATEGY)) if pod.host_network else None) or pod.number("https") or 443
        yield from workloads.places(pod, number)[:1]
