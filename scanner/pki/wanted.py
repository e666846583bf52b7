"""Which Secrets have certificates that somebody serves or signs with: read by name, and only with permission."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from scanner.kube.kinds import INGRESS_CONTROLLER, NAMESPACE, NODE, SERVICE, Kind
from scanner.kube.references import MOST
from scanner.kube.secrets import service_ca_secret
from scanner.kube.snapshot import Snapshot
from scanner.model.well_known import Names
from scanner.pki import given
from scanner.pki.given import Name

READS: tuple[Kind, ...] = (*given.READS, SERVICE, NODE, NAMESPACE)

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

_ROUTER = "openshift-ingress"
_ETCD = "openshift-etcd"
"""Where the etcd operator keeps a certificate of each kind for every node of the control plane: ``etcd-peer-NODE``."""


def wanted_secrets(snapshot: Snapshot, names: Names) -> Iterator[Name]:
    """(namespace, name) of every Secret worth reading, each once: the platform's first, where its namespaces exist.

    ``cluster.read`` takes it as ``secrets=partial(wanted_secrets, names=names)``.
    """
    named = chain(
        _of_platform(snapshot, names),
        _given(snapshot, platform=True),
        _of_routers(snapshot),
        _of_services(snapshot),
        _given(snapshot, platform=False),
    )
    complete = (name for name in named if all(name))
    return islice(dict.fromkeys(complete), MOST)


def _given(snapshot: Snapshot, *, platform: bool) -> Iterator[Name]:
    """Those that objects name: the platform's configuration, or any other."""
    for link in given.given(snapshot):
        if link.is_secret and (link.source.kind in given.PLATFORM) == platform:
            yield link.namespace or "", link.name


def _of_platform(snapshot: Snapshot, names: Names) -> Iterator[Name]:
    """Those in which the operators keep what has a name."""
    namespaces = {each.name for each in snapshot.every(NAMESPACE)}
    # Where namespaces may not be listed, nobody knows that one is missing: then it is asked for.
    unknown = snapshot.gap(NAMESPACE) is not None
    nodes = [node.name for node in snapshot.every(NODE) if any(label in node.labels for label in _CONTROL_PLANE)]
    for pattern in dict.fromkeys(path for each in names.all for path in each.recognition.secrets):
        namespace, _, name = pattern.partition("/")
        if "*" in namespace:
            within = sorted(fnmatch.filter(namespaces, namespace))
        else:
            within = [namespace] if unknown or namespace in namespaces else []
        for each in within:
            yield from ((each, one) for one in _names(each, name, nodes))


def _names(namespace: str, pattern: str, nodes: Iterable[str]) -> Iterable[str]:
    """The names that a pattern stands for. Only those of nodes can be told; of what others stand for, an object says
    the name (routers), or it is the copy of a revision."""
    if "*" not in pattern:
        return (pattern,)
    return (pattern.replace("*", node) for node in nodes) if namespace == _ETCD else ()


def _of_routers(snapshot: Snapshot) -> Iterator[Name]:
    """The certificate that the ingress operator makes where the user gave none."""
    for controller in snapshot.every(INGRESS_CONTROLLER):
        if not controller.text("spec", "defaultCertificate", "name"):
            yield _ROUTER, f"router-certs-{controller.name}"


def _of_services(snapshot: Snapshot) -> Iterator[Name]:
    for service in snapshot.every(SERVICE):
        yield service.namespace or "", service_ca_secret(service)
