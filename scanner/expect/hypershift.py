"""HyperShift, seen from the management cluster: what the components of a hosted control plane owe.

Its namespace holds a HostedControlPlane, a copy of the HostedCluster's ``spec.configuration`` (hypershift.openshift.io
v1beta1). The control plane's operator maps ten cipher suites and ignores tlsAdherence (``support/config/cipher.go``);
the network operator reads both. A guest cluster has an APIServer object of its own and needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.api_server import Wishes, with_wishes
from scanner.expect.authority import Authority
from scanner.expect.release import Releases, asked_for, of_history
from scanner.kube.api_server import api_server_config, read_adherence
from scanner.kube.cluster_facts import hosted_namespace
from scanner.kube.kinds import HOSTED_CLUSTER, HOSTED_CONTROL_PLANE
from scanner.kube.meta import condition
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import HostedCluster
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import HOSTED_PROFILE, HYPERSHIFT


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
        field=".".join(HOSTED_PROFILE),
        holder=holder,
        steps=HOSTED_PROFILE,
        reader=HYPERSHIFT,
        releases=asked_for(wishes.release) if wishes.release else _releases(holder),
        adherence=read_adherence(
            api_server_config(holder).adherence, source, ".".join((*HOSTED_PROFILE[:-1], "tlsAdherence"))
        ),
        implementation="hypershift",
    )


def _releases(holder: KubeObject) -> Releases:
    """``status.version`` of a HostedCluster, ``status.versionStatus`` of a HostedControlPlane."""
    cluster = HostedCluster.of(holder)
    where, history = (
        ("versionStatus", cluster.version_status) if cluster.version_status else ("version", cluster.version)
    )
    progressing = condition(holder, "ClusterVersionProgressing")
    return of_history(
        str(holder.reference),
        "",
        history,
        where=f"status.{where}",
        upgrading=progressing is not None and progressing.holds,
    )
