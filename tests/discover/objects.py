"""Small clusters written as YAML, one flow-style line an object, and discovery on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.discover import READS, Discovery, discover
from scanner.kube.kinds import INGRESS, KINDS, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import Selector
from scanner.report.rows import origin_text
from tests.yaml_documents import documents

KIND = {**{each.name: each for each in KINDS}, "Ingress": INGRESS}
"""By name; of the two kinds called Ingress, the one of Kubernetes."""

CATALOGUE = Catalogue(
    listeners=(
        Listener(component="etcd", listener="client", namespaces=("openshift-etcd", "kube-system"), workloads=("etcd",),
                 ports=(2379,), governor="apiserver", client_certificate="required"),
        Listener(component="policy", listener="secure", namespaces=("openshift-policy",), ports=(10357,),
                 loopback=True, governor="apiserver"),
        Listener(component="mcs", listener="plain", namespaces=("openshift-mco",), ports=(22624,), governor="own",
                 speaks="plain"),
        Listener(component="metrics-server", listener="api", namespaces=("openshift-monitoring",), ports=(10250,),
                 host_network=False, governor="apiserver"),
        Listener(component="router", listener="stats", namespaces=("openshift-ingress",), workloads=("router-*",),
                 ports=(1936,), governor="apiserver", speaks="both"),
        Listener(component="router", listener="tls", namespaces=("openshift-ingress",), workloads=("router-*",),
                 ports=(443,), governor="ingress"),
        Listener(component="kubelet", listener="api", namespaces=(), ports=(10250,), governor="kubelet",
                 client_certificate="requested"),
        Listener(component="crio", listener="stream", namespaces=(), ports=(10010,), governor="own", speaks="unknown"),
        Listener(component="crio", listener="metrics", namespaces=(), ports=(9537,), governor="own", speaks="plain"),
    )
)  # fmt: skip

NOTHING = Catalogue()

NETWORKS = """
---
{kind: Network, metadata: {name: cluster},
 status: {clusterNetwork: [{cidr: 10.128.0.0/14}], serviceNetwork: [172.30.0.0/16]}}
"""


def snapshot(text: str, *, gaps: Mapping[Kind, str] | None = None) -> Snapshot:
    """The objects of a YAML text of several documents, beside the cluster's networks."""
    return of_objects(documents(f"{NETWORKS}---\n{text}"), gaps=gaps)


def of_objects(raws: list[dict[str, Any]], *, gaps: Mapping[Kind, str] | None = None) -> Snapshot:
    """A snapshot of objects as the API has them."""
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in READS}
    for raw in raws:
        kind = KIND[raw["kind"]]
        # Pruned like in a scan: no source can read a dropped field.
        objects[kind].append(kept(kind, raw, Pruner()) or KubeObject(raw, kind))
    return Snapshot(
        taken_at=datetime(2026, 11, 21, tzinfo=UTC),
        origin=Origin(name="test"),
        objects={kind: tuple(found) for kind, found in objects.items()},
        unreadable={kind: Unreadable(kind=kind, gap="forbidden", reason=why) for kind, why in (gaps or {}).items()},
    )


def found(
    text: str,
    catalogue: Catalogue = CATALOGUE,
    *,
    gaps: Mapping[Kind, str] | None = None,
    include: Sequence[Selector] = (),
    exclude: Sequence[Selector] = (),
    allow_external: bool = False,
    loopback: bool = False,
    via_port_forward: bool = False,
    everything: bool = False,
) -> Discovery:
    """Discovery on a cluster."""
    return discover(
        snapshot(text, gaps=gaps),
        catalogue,
        include=include,
        exclude=exclude,
        allow_external=allow_external,
        loopback=loopback,
        via_port_forward=via_port_forward,
        everything=everything,
    )


def instances(discovery: Discovery) -> list[str]:
    """The instances that would be probed."""
    return [each.instance for each in discovery.endpoints]


def by_id(discovery: Discovery) -> dict[str, Endpoint]:
    """The endpoints, the last one of each id."""
    return {each.id: each for each in discovery.endpoints}


def only(discovery: Discovery) -> Endpoint:
    """The only endpoint that there is."""
    assert len(discovery.endpoints) == 1, instances(discovery)
    return discovery.endpoints[0]


def origins(endpoint: Endpoint) -> list[str]:
    """The origins of an endpoint, as reports show them."""
    return [origin_text(each) for each in endpoint.origins]


def left_out(discovery: Discovery) -> dict[str, int]:
    """Reasons, and how often."""
    return dict(discovery.left_out)
