"""The dial scope: which addresses are the cluster's own, and which it publishes (design, "Dial scope").

What only a tenant says is not among them: addresses of EndpointSlices, external IPs, URLs, names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_network

from scanner.discover import published
from scanner.discover import view as views
from scanner.discover.names import parsed
from scanner.discover.view import View
from scanner.discover.workloads import all_addresses
from scanner.kube.cluster_facts import document
from scanner.kube.kinds import CONFIG_MAP, NETWORK
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Fields
from scanner.kube.snapshot import Snapshot
from scanner.model.dial_scope import Address, DialScope, Network

READS = (NETWORK, CONFIG_MAP, *published.READS, *views.READS)

MIN_PREFIX = 8
"""Bits. A wider network than 10.0.0.0/8 is no cluster's, whoever wrote it."""
MAX_NETWORKS = 32
"""Of one object."""


def dial_scope(view: View, *, external: bool, loopback: bool) -> DialScope:
    """Where listeners of this cluster may be dialled."""
    networks = {found for text in _cidrs(view) if (found := _network(text))}
    return DialScope(
        networks=tuple(sorted(networks, key=str)),
        addresses=frozenset(_addresses(view)),
        published=frozenset(published.places(view)),
        external=external,
        loopback=loopback,
    )


def _network(text: str) -> Network | None:
    try:
        found = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return found if found.prefixlen >= MIN_PREFIX else None


def _cidrs(view: View) -> Iterator[str]:
    network = view.snapshot.get(NETWORK, "cluster")
    for where in ("spec", "status") if network else ():
        yield from _of_network(view, network.fields(where)) if network else ()
    for node in view.workloads.nodes.values():
        yield from _bounded(view, node.raw.pod_cidrs) or (node.raw.pod_cidr,)
    yield from _of_network(view, _networking(view.snapshot, "cluster-config-v1", "install-config"))
    kubeadm = _networking(view.snapshot, "kubeadm-config", "ClusterConfiguration")
    for field in ("podSubnet", "serviceSubnet"):
        yield from _bounded(view, kubeadm.text(field).split(","))


def _of_network(view: View, fields: Fields) -> Iterator[str]:
    """OpenShift's Network and its install-config say it alike."""
    yield from _bounded(view, [each.text("cidr") for each in fields.each("clusterNetwork")])
    yield from _bounded(view, fields.texts("serviceNetwork"))


def _bounded(view: View, texts: Sequence[str]) -> Sequence[str]:
    if len(texts) > MAX_NETWORKS:
        view.cuts.note(f"networks of one object beyond the first {MAX_NETWORKS}", texts[0], len(texts) - MAX_NETWORKS)
    return texts[:MAX_NETWORKS]


def _networking(snapshot: Snapshot, name: str, key: str) -> Fields:
    """What an installer was told of networks; nothing where that is not known."""
    found = document(snapshot, name, key)
    return Fields({}) if found is None or isinstance(found, Unknown) else found.fields("networking")


def _addresses(view: View) -> Iterator[Address]:
    for text in _texts(view):
        found = parsed(text)
        if found:
            yield found


def _texts(view: View) -> Iterator[str]:
    for pod in view.workloads.pods:
        yield from pod.addresses
    for node in view.workloads.nodes.values():
        yield from all_addresses(node.raw, view.cuts)
