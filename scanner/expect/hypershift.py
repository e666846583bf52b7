"""HyperShift, seen from the management cluster: what the components of a hosted control plane owe.

Its namespace holds a HostedControlPlane, a copy of the HostedCluster's ``spec.configuration`` (hypershift.openshift.io
v1beta1). The control plane's operator maps ten cipher suites and ignores tlsAdherence (``support/config/cipher.go``);
the network operator reads both. A guest cluster has an APIServer object of its own and needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect import adherence
from scanner.expect.api_server import Wishes, with_wishes
from scanner.expect.authority import Authority
from scanner.expect.release import Releases, asked_for, of_history
from scanner.kube.cluster_facts import hosted_namespace
from scanner.kube.conditions import condition
from scanner.kube.kinds import HOSTED_CLUSTER, HOSTED_CONTROL_PLANE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import HYPERSHIFT

_STEPS = ("spec", "configuration", "apiServer")


def authorities(snapshot: Snapshot, wishes: Wishes) -> dict[str, Authority]:
    """By the namespace of the control plane. A HostedCluster is what people edit, so it goes first."""
    found: dict[str, Authority] = {}
    for namespace, holder in _planes(snapshot):
        if namespace not in found:
            found[namespace] = with_wishes(_authority(holder, wishes), wishes)
    return found


def _planes(snapshot: Snapshot) -> Iterator[tuple[str, KubeObject]]:
    for each in snapshot.every(HOSTED_CLUSTER):
        if namespace := hosted_namespace(each):
            yield namespace, each
    for each in snapshot.every(HOSTED_CONTROL_PLANE):
        if each.namespace:
            yield each.namespace, each


def _authority(holder: KubeObject, wishes: Wishes) -> Authority:
    source = str(holder.reference)
    return Authority(
        source=source,
        field=".".join((*_STEPS, "tlsSecurityProfile")),
        holder=holder,
        steps=(*_STEPS, "tlsSecurityProfile"),
        reader=HYPERSHIFT,
        releases=asked_for(wishes.release) if wishes.release else _releases(holder),
        adherence=adherence.read(holder.at(*_STEPS, "tlsAdherence"), source, ".".join((*_STEPS, "tlsAdherence"))),
        implementation="hypershift",
    )


def _releases(holder: KubeObject) -> Releases:
    """``status.version`` of a HostedCluster, ``status.versionStatus`` of a HostedControlPlane."""
    where = "versionStatus" if holder.fields("status", "versionStatus").raw else "version"
    progressing = condition(holder, "ClusterVersionProgressing")
    return of_history(
        str(holder.reference),
        "",
        holder.fields("status", where),
        where=f"status.{where}",
        upgrading=progressing is not None and progressing.holds,
    )
