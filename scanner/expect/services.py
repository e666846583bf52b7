"""Services by their names in DNS."""

from __future__ import annotations

from scanner.kube.kinds import SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot


def service_of(snapshot: Snapshot, host: str) -> KubeObject | None:
    """The Service of which ``NAME.NAMESPACE.svc``, with or without the cluster's domain, is the name."""
    name, namespace, *domain = (*host.split("."), "", "")
    return snapshot.get(SERVICE, name, namespace) if domain[0] == "svc" else None
