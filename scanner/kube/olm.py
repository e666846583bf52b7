"""What the Operator Lifecycle Manager installed: layered products, also in namespaces that look like the platform's."""

from __future__ import annotations

from scanner.kube.kinds import CLUSTER_SERVICE_VERSION
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot


def installed(snapshot: Snapshot) -> tuple[KubeObject, ...]:
    """Every ClusterServiceVersion that was read; a copy in another namespace installs and owns nothing."""
    every = snapshot.objects.get(CLUSTER_SERVICE_VERSION, ())
    return tuple(
        each for each in every if "olm.copiedFrom" not in each.labels and each.text("status", "reason") != "Copied"
    )
