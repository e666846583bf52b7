"""What the Operator Lifecycle Manager installed: layered products, also in namespaces that look like the platform's."""

from __future__ import annotations

from scanner.kube.kinds import CLUSTER_SERVICE_VERSION
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Parts, Text, View


class Deployment(View):
    """A Deployment that is installed."""

    name = Text()


class OwnedKind(View):
    """A kind that the product brings: ``widgets.example.com``, ``Widget``."""

    name = Text()
    kind = Text()


class ClusterServiceVersion(KubeObject):
    """What OLM installs for one version of a product."""

    reason = Text("status", "reason")
    deployments = Parts(Deployment, "spec", "install", "spec", "deployments")
    owned = Parts(OwnedKind, "spec", "customresourcedefinitions", "owned")


def installed(snapshot: Snapshot) -> tuple[ClusterServiceVersion, ...]:
    """Every ClusterServiceVersion that was read; a copy in another namespace installs and owns nothing."""
    every = map(ClusterServiceVersion.of, snapshot.objects.get(CLUSTER_SERVICE_VERSION, ()))
    return tuple(each for each in every if "olm.copiedFrom" not in each.labels and each.reason != "Copied")
