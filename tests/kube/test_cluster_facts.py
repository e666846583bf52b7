"""The distribution of a cluster, by the objects in its snapshot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from scanner.kube import kinds
from scanner.kube.cluster_facts import cluster_facts, hosted_namespaces
from scanner.kube.kinds import KINDS, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Gap, Origin, Snapshot, Unreadable


def object_(kind: Kind, name: str, namespace: str | None = None, **more: Any) -> KubeObject:  # noqa: ANN401 - JSON
    labels, annotations = more.pop("labels", {}), more.pop("annotations", {})
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return KubeObject({"metadata": metadata, **more}, kind)


def snapshot(*held: KubeObject, gap: Gap | None = None, absent: frozenset[Kind] = frozenset()) -> Snapshot:
    objects = {kind: tuple(each for each in held if each.kind is kind) for kind in KINDS}
    empty = [kind for kind, found in objects.items() if not found and kind not in absent]
    gaps = {kind: Unreadable(kind=kind, gap=gap, reason="") for kind in empty} if gap else {}
    return Snapshot(
        taken_at=datetime(2026, 11, 21, tzinfo=UTC),
        origin=Origin(name="x"),
        objects=objects,
        absent=absent,
        unreadable=gaps,
    )


KUBEADM = object_(kinds.CONFIG_MAP, "kubeadm-config", "kube-system")
STATIC = object_(
    kinds.POD,
    "kube-apiserver-cp",
    "kube-system",
    labels={"component": "kube-apiserver"},
    annotations={"kubernetes.io/config.mirror": "x"},
)
WEB = object_(kinds.SERVICE, "web", "shop")
ROUTE = object_(kinds.ROUTE, "web", "shop")
POOL = object_(kinds.MACHINE_CONFIG_POOL, "worker")
HOSTED = object_(kinds.HOSTED_CLUSTER, "prod.eu", "clusters")
PLANE = object_(kinds.HOSTED_CONTROL_PLANE, "other", "ocm-1")
NO_OPENSHIFT = frozenset({kinds.CLUSTER_VERSION, kinds.API_SERVER})


@pytest.mark.parametrize(
    ("found", "distribution"),
    [
        (snapshot(WEB, gap="not-saved"), "kubernetes"),
        (snapshot(WEB, KUBEADM, gap="not-saved"), "kubernetes"),
        (snapshot(WEB, STATIC, gap="not-saved"), "kubernetes"),
        (snapshot(WEB, ROUTE, gap="not-saved"), "openshift"),
        (snapshot(POOL, gap="not-saved"), "openshift"),
        (snapshot(object_(kinds.POD, "etcd-m", "openshift-etcd"), gap="not-saved"), "openshift"),
        # A product with OpenShift's prefix that runs on any Kubernetes.
        (snapshot(object_(kinds.POD, "pipelines", "openshift-pipelines"), gap="not-saved"), "kubernetes"),
        # HyperShift runs on any Kubernetes too.
        (snapshot(HOSTED, KUBEADM, gap="not-saved"), "kubernetes"),
        # Served but not readable: only OpenShift serves it.
        (snapshot(WEB, gap="forbidden"), "openshift"),
        (snapshot(WEB, gap="failed"), "openshift"),
        (snapshot(WEB, ROUTE, gap="forbidden", absent=NO_OPENSHIFT), "kubernetes"),
        (snapshot(WEB), "kubernetes"),
    ],
)
def test_distribution(found: Snapshot, distribution: str) -> None:
    assert cluster_facts(found).distribution == distribution


def test_control_planes_are_found_by_either_of_their_objects() -> None:
    assert hosted_namespaces(snapshot(HOSTED, PLANE)) == ("clusters-prod-eu", "ocm-1")
    assert hosted_namespaces(snapshot(WEB)) == ()
