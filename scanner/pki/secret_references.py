"""Secrets and ConfigMaps that objects refer to: those that people gave the cluster, of which the PKI object cannot ask
anything, and the Secrets that a scan with permission reads by name for their certificates."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TypeAlias

from scanner.files.source_positions import dotted
from scanner.kube.contour import configured
from scanner.kube.ingress import ROUTER_NAMESPACE, IngressController
from scanner.kube.kinds import (
    API_SERVER,
    BACKEND_TLS_POLICY,
    CONFIG_MAP,
    CONTOUR_CONFIGURATION,
    GATEWAY,
    HTTP_PROXY,
    INGRESS,
    INGRESS_CONFIG,
    INGRESS_CONTROLLER,
    LISTENER_SET,
    NAMESPACE,
    NODE,
    ROUTE,
    SERVICE,
    X_LISTENER_SET,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.references import MOST, Link, links
from scanner.kube.secrets import KEEPER, OF_SERVICE, service_ca_secret
from scanner.kube.snapshot import Snapshot
from scanner.model.well_known import Names

PLATFORM: tuple[Kind, ...] = (API_SERVER, INGRESS_CONFIG, INGRESS_CONTROLLER)
"""Whose Secrets take the place of those that operators generate."""
READS: tuple[Kind, ...] = (
    *PLATFORM,
    INGRESS,
    GATEWAY,
    LISTENER_SET,
    X_LISTENER_SET,
    BACKEND_TLS_POLICY,
    HTTP_PROXY,
    CONTOUR_CONFIGURATION,
    CONFIG_MAP,
    ROUTE,
)

TO_SECRETS: tuple[Kind, ...] = (*READS, SERVICE, NODE, NAMESPACE)
"""What tells which Secrets are worth reading."""

Name: TypeAlias = tuple[str, str]
"""Namespace and name."""

_INJECTED = ("cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret")
_TRUST_BUNDLE = "config.openshift.io/inject-trusted-cabundle"
_INSTALL_CONFIG = ("kube-system", "cluster-config-v1")
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

_ETCD = "openshift-etcd"
"""Where the etcd operator keeps a certificate of each kind for every node of the control plane: ``etcd-peer-NODE``."""

# --- Who gave it ------------------------------------------------------------------------------------------------------


def provided(snapshot: Snapshot) -> Iterator[Link]:
    """The Secrets and ConfigMaps that people had objects name: the platform's own configuration first, whose Secrets
    take the place of an operator's."""
    for kind in READS:
        for item in snapshot.every(kind):
            yield from (replace(each, source=item) for each in links(configured(item)))


class UserProvided:
    """Who gave what."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._platform: dict[Name, str] = {}
        self._workloads: dict[Name, str] = {}
        self._client_cas: dict[Name, str] = {}
        for link in provided(snapshot):
            by = self._platform if link.source.kind in PLATFORM else self._workloads
            if not link.is_secret:
                by = self._client_cas
            if link.is_secret or (link.source.kind, link.role) == (API_SERVER, "client-ca"):
                by.setdefault((link.namespace or "", link.name), f"{link.source.reference} {dotted(link.steps)}")

    def secret(self, secret: KubeObject) -> str | None:
        """Why the Secret's certificates are nobody's to generate, or None. What the service CA made for a Service is
        the cluster's own, whoever uses it."""
        name = (secret.namespace or "", secret.name)
        if name in self._platform:
            return self._platform[name]
        if any(each in secret.annotations for each in OF_SERVICE):
            return None
        issued = secret.annotations.get(KEEPER)
        return f"cert-manager's Certificate {issued[:253]}" if issued else self._workloads.get(name)

    def config_map(self, found: KubeObject) -> str | None:
        """Why the CAs in a ConfigMap are not the cluster's, or None."""
        name = (found.namespace or "", found.name)
        if name == _INSTALL_CONFIG:
            return "additionalTrustBundle of the install-config"
        if found.labels.get(_TRUST_BUNDLE) == "true":
            return f"the label {_TRUST_BUNDLE}: the system's trusted CAs and those of Proxy spec.trustedCA"
        others = None if name in CONFIG_MAP.named else "none of the platform's: an object names it as a CA"
        return self._client_cas.get(name) or others


def injected(found: KubeObject) -> str | None:
    """Why the caBundle of a webhook, a conversion or an aggregated API is not the cluster's, or None."""
    annotations = found.annotations
    return next((f"the annotation {name}" for name in _INJECTED if name in annotations), None)


# --- What is worth reading --------------------------------------------------------------------------------------------


def secret_references(snapshot: Snapshot, names: Names) -> Iterator[Name]:
    """(namespace, name) of every Secret worth reading, each once: the platform's first, where its namespaces exist.

    ``cluster.read`` takes it as ``secrets=partial(secret_references, names=names)``.
    """
    named = chain(
        _of_platform(snapshot, names),
        _named(snapshot, platform=True),
        _of_routers(snapshot),
        _of_services(snapshot),
        _named(snapshot, platform=False),
    )
    complete = (name for name in named if all(name))
    return islice(dict.fromkeys(complete), MOST)


def _named(snapshot: Snapshot, *, platform: bool) -> Iterator[Name]:
    """Those that objects name: the platform's configuration, or any other."""
    for link in provided(snapshot):
        if link.is_secret and (link.source.kind in PLATFORM) == platform:
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
    for controller in map(IngressController.of, snapshot.every(INGRESS_CONTROLLER)):
        if not controller.default_secret:
            yield ROUTER_NAMESPACE, controller.certificate


def _of_services(snapshot: Snapshot) -> Iterator[Name]:
    for service in snapshot.every(SERVICE):
        yield service.namespace or "", service_ca_secret(service)
