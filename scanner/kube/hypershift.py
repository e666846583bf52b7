"""HyperShift (hypershift.openshift.io v1beta1): hosted control planes, and the pools of their nodes."""

from __future__ import annotations

from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ReleaseHistory
from scanner.kube.view import Flag, Part, Text


class HostedCluster(KubeObject):
    """A HostedCluster, or the HostedControlPlane that HyperShift makes of it."""

    cluster_id = Text("spec", "clusterID")
    fips = Flag("spec", "fips")
    version = Part(ReleaseHistory, "status", "version")
    """Of a HostedCluster."""
    version_status = Part(ReleaseHistory, "status", "versionStatus")
    """Of a HostedControlPlane."""


class NodePool(KubeObject):
    """The nodes of a hosted cluster that are configured alike."""

    cluster_name = Text("spec", "clusterName")
