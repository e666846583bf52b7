"""Which Secrets have certificates that somebody serves or signs with: read by name, and only with permission."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from scanner.model.kinds import INGRESS_CONTROLLER, NAMESPACE, NODE, SERVICE, Kind
from scanner.model.snapshot import Snapshot
from scanner.pki import given
from scanner.pki.given import INGRESS_NAMESPACE, Name

READS: tuple[Kind, ...] = (*given.READS, SERVICE, NODE, NAMESPACE)

MOST = 20_000
"""Secrets. Each is a request of its own to the API server."""

_SERVING_CERT = (
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
)
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

# Where the operators of OpenShift keep theirs: cluster-kube-apiserver-operator pkg/operator/certrotationcontroller,
# cluster-etcd-operator pkg/tlshelpers, service-ca-operator, cluster-kube-controller-manager-operator, machine-config.
_WELL_KNOWN: dict[str, tuple[str, ...]] = {
    "openshift-kube-apiserver-operator": (
        "localhost-serving-signer", "service-network-serving-signer", "loadbalancer-serving-signer",
        "localhost-recovery-serving-signer", "aggregator-client-signer", "kube-apiserver-to-kubelet-signer",
        "kube-control-plane-signer", "node-system-admin-signer", "node-system-admin-client",
    ),
    "openshift-kube-apiserver": (
        "localhost-serving-cert-certkey", "service-network-serving-certkey", "external-loadbalancer-serving-certkey",
        "internal-loadbalancer-serving-certkey", "localhost-recovery-serving-certkey", "aggregator-client",
        "kubelet-client", "check-endpoints-client-cert-key", "control-plane-node-admin-client-cert-key",
    ),
    "openshift-config-managed": ("kube-controller-manager-client-cert-key", "kube-scheduler-client-cert-key"),
    "openshift-etcd": ("etcd-signer", "etcd-metric-signer", "etcd-client", "etcd-metric-client"),
    "openshift-service-ca": ("signing-key",),
    "openshift-kube-controller-manager-operator": ("csr-signer", "csr-signer-signer"),
    "openshift-ingress-operator": ("router-ca",),
    "openshift-machine-config-operator": ("machine-config-server-tls", "machine-config-server-ca"),
}  # fmt: skip
_OF_NODE = ("etcd-peer-", "etcd-serving-", "etcd-serving-metrics-")
"""In ``openshift-etcd``, for each node of the control plane."""


def wanted_secrets(snapshot: Snapshot) -> Iterator[Name]:
    """(namespace, name) of every Secret worth reading, each once: the platform's first, where its namespaces exist."""
    named = chain(
        _well_known(snapshot),
        (name for name, _ in given.of_platform(snapshot)),
        _of_routers(snapshot),
        _of_services(snapshot),
        (name for name, _ in given.of_workloads(snapshot)),
    )
    complete = (name for name in named if all(name))
    return islice(dict.fromkeys(complete), MOST)


def _well_known(snapshot: Snapshot) -> Iterator[Name]:
    namespaces = {each.name for each in snapshot.every(NAMESPACE)}
    # Where namespaces may not be listed, nobody knows that one is missing: then it is asked for.
    unknown = snapshot.gap(NAMESPACE) is not None
    for namespace, names in _WELL_KNOWN.items():
        if unknown or namespace in namespaces:
            yield from ((namespace, name) for name in names)
    if unknown or "openshift-etcd" in namespaces:
        for node in snapshot.every(NODE):
            if any(label in node.labels for label in _CONTROL_PLANE):
                yield from (("openshift-etcd", prefix + node.name) for prefix in _OF_NODE)


def _of_routers(snapshot: Snapshot) -> Iterator[Name]:
    """The certificate that the ingress operator makes where the user gave none."""
    for controller in snapshot.every(INGRESS_CONTROLLER):
        if not controller.text("spec", "defaultCertificate", "name"):
            yield INGRESS_NAMESPACE, f"router-certs-{controller.name}"


def _of_services(snapshot: Snapshot) -> Iterator[Name]:
    for service in snapshot.every(SERVICE):
        annotations = service.annotations
        yield from ((service.namespace or "", annotations[each]) for each in _SERVING_CERT if each in annotations)
