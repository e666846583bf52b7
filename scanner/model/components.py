"""The component catalogue: which listener belongs to which component, and which object governs what it speaks.

The data is in ``profiles/components/``, and in files that a user gives with ``--components``; those come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from scanner.model.endpoint import Owner
from scanner.model.observation import ClientCertificate

API_SERVICE = ("default", "kubernetes")
"""Namespace and name of the Service of which the API server itself writes the backends."""

Governor = Literal["apiserver", "apiserver-if-strict", "kubelet", "ingress", "gateway", "flags", "backend", "own"]
"""What decides the profile of a listener: the APIServer object always; that only under strict adherence; KubeletConfig;
IngressController; Gateway controller; the process's own flags; the listener that it passes connections on to; or
something that no object of the cluster says."""

Speaks = Literal["tls", "plain", "both", "nothing", "unknown"]
"""What is known to be on a port: ``both`` is plaintext and TLS on one port; ``nothing``: declared, never opened;
``unknown``: the component is known and what it speaks is not, so it is asked like any other open port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One known listener: an entry of the catalogue."""

    component: str
    """``etcd``, ``kube-apiserver``, ``router`` ..."""
    listener: str
    """Which of the component's listeners: ``client``, ``metrics``."""
    namespaces: tuple[str, ...]
    """Patterns; empty for a process of the node itself (kubelet, crio)."""
    workloads: tuple[str, ...] = ()
    """Patterns of the owner's name; empty for any in the namespace."""
    ports: tuple[int, ...]
    host_network: bool | None = None
    """Whether it listens on the node's addresses; None if either."""
    loopback: bool = False
    """It listens on loopback only: nobody but the node, or a port-forward, can reach it."""
    governor: Governor
    management_side: bool = False
    """In the namespace of a hosted control plane, and configured by the cluster that hosts it."""
    either_side: bool = False
    """In such a namespace, where code and document disagree: the code has it follow the HostedCluster, the document the
    cluster that hosts it."""
    speaks: Speaks = "tls"
    client_certificate: ClientCertificate | None = None
    certificate: str | None = None
    """Who signs the serving certificate: ``service-ca``, ``etcd-signer`` ..."""
    server_names: tuple[str, ...] = ()
    """SNI names to ask for, beside none."""
    honours_since: str | None = None
    """First release in which the component follows its governor; None: in every release that is known."""
    tls13_suites_configurable: bool = False
    """HAProxy restricts TLS 1.3 suites, Go never does."""
    groups_configurable: bool = False
    """The component is known to apply the profile's groups; else a deviation is informational."""
    source: str = ""
    """Where the entry's facts come from."""
    note: str = ""
    place: str = ""
    """The entry itself: ``profiles/components/openshift.yaml:40:7``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component, with what is true of all its listeners."""

    name: str
    operator: str = ""
    """The ClusterOperator that reports on it."""
    platform: bool = True
    """Part of the platform, hence bound by the cluster's profile; else a layered product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All that is known of components, in the order in which it is tried."""

    listeners: tuple[Listener, ...] = ()
    components: tuple[Component, ...] = ()
    platform_namespaces: tuple[str, ...] = ("openshift-*", "kube-*", "openshift", "default")
    """Patterns of the namespaces whose workloads are the platform's even where no entry knows them."""
    _by_port: dict[int, tuple[Listener, ...]] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        ports: dict[int, list[Listener]] = {}
        for each in self.listeners:
            for port in each.ports:
                ports.setdefault(port, []).append(each)
        self._by_port.update({port: tuple(entries) for port, entries in ports.items()})

    def find(self, namespace: str | None, workloads: Iterable[str], port: int, *, on_node: bool) -> Listener | None:
        """The first entry for a port of one of ``workloads``. ``namespace`` is None for a process of the node."""
        names = tuple(workloads)
        entries = self._by_port.get(port, ())
        return next((each for each in entries if _fits(each, namespace, names, on_node=on_node)), None)

    def behind(self, service: Owner) -> Listener | None:
        """What answers at a Service of which the pods are not known: of ``default/kubernetes`` it is the API server,
        whatever its slices say."""
        if (service.kind, service.namespace, service.name) != ("Service", *API_SERVICE):
            return None
        found = (each for each in self.listeners if each.component == "kube-apiserver" and 6443 in each.ports)
        return next(found, None)

    def component(self, name: str) -> Component | None:
        """The component of that name."""
        return next((each for each in self.components if each.name == name), None)


def _fits(entry: Listener, namespace: str | None, workloads: tuple[str, ...], *, on_node: bool) -> bool:
    if entry.host_network is not None and entry.host_network != on_node:
        return False
    if namespace is None:
        return not entry.namespaces
    if not _among(namespace, entry.namespaces):
        return False
    return not entry.workloads or any(_among(name, entry.workloads) for name in workloads)


def _among(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns means ``name``. Most patterns are plain names, which are compared at no cost."""
    return name in patterns or any(
        fnmatchcase(name, each) for each in patterns if "*" in each or "?" in each or "[" in each
    )
