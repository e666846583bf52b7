"""Who answers for a Gateway, by its class (Gateway API apis/v1 ``GatewayClassSpec.controllerName``)."""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import GATEWAY_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot

OPENSHIFT: Final = "openshift.io/gateway-controller/v1"
CONTOUR: Final = "projectcontour.io/gateway-controller"


def controller_of(snapshot: Snapshot, gateway: KubeObject) -> str:
    """What its class says who answers for it; empty where that is not known."""
    found = snapshot.get(GATEWAY_CLASS, gateway.text("spec", "gatewayClassName"))
    return found.text("spec", "controllerName") if found else ""
