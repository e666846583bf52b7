"""OpenShift's routers: which pods answer for an IngressController (openshift/cluster-ingress-operator)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.discover.draft import Place
from scanner.discover.names import port, server_name, sound
from scanner.discover.workloads import Workloads
from scanner.kube.ingress_controller import ROUTER_LABEL, ROUTER_NAMESPACE, IngressController
from scanner.kube.kinds import INGRESS_CONTROLLER
from scanner.kube.label_selector import LabelSelector
from scanner.kube.snapshot import Snapshot

READS = (INGRESS_CONTROLLER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """One IngressController and where it listens for TLS."""

    controller: IngressController
    name: str
    places: tuple[Place, ...]
    """Its pods' primary address each: every name is asked there. The other family leads to the same process."""
    services: tuple[str, ...]
    """Services that lead to it, in the order in which they are tried where no pod is known."""
    hostnames: tuple[str, ...]
    """The names under which Routes and Ingresses say that it is reached."""
    namespace: str = ROUTER_NAMESPACE


def find(snapshot: Snapshot, workloads: Workloads) -> dict[str, Router]:
    """Every router by the name of its IngressController."""
    every = map(IngressController.of, snapshot.every(INGRESS_CONTROLLER))
    return {each.name: _router(each, workloads) for each in every if sound(each.name)}


def _router(controller: IngressController, workloads: Workloads) -> Router:
    name, domain = controller.name, controller.domain
    canonical = server_name(f"router-{name}.{domain}") if domain else None
    return Router(
        controller=controller,
        name=name,
        places=tuple(_places(controller, workloads)),
        services=(f"router-internal-{name}", f"router-{name}", f"router-nodeport-{name}"),
        hostnames=(canonical,) if canonical else (),
    )


def _places(controller: IngressController, workloads: Workloads) -> Iterator[Place]:
    for pod in workloads.select(ROUTER_NAMESPACE, LabelSelector({"matchLabels": {ROUTER_LABEL: controller.name}})):
        number = (port(controller.https_port) if pod.host_network else None) or pod.number("https") or 443
        yield from workloads.places(pod, number)[:1]
