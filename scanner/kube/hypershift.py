"""HyperShift (hypershift.openshift.io v1beta1): hosted control planes, and the pools of their nodes."""

from __future__ import annotations

from scanner.kube.objects import KubeObject
from scanner.kube.view import Flag


class HostedCluster(KubeObject):
    """A HostedCluster, or the HostedControlPlane that HyperShift makes of it."""

    fips = Flag("spec", "fips")
