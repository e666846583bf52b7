"""Services by their names in DNS."""

from __future__ import annotations

from scanner.model.kinds import SERVICE
from scanner.model.objects import KubeObject
from scanner.model.snapshot import Snapshot


def service_of(snapshot: Snapshot, host: str) -> KubeObject | None:
    """The Service of which ``NAME.NAMESPACE.svc``, with or without the cluster's domain, is the name."""
    name, namespace, *domain = (*host.split("."), "", "")
    return snapshot.get(SERVICE, name, namespace) if domain[0] == "svc" else None
