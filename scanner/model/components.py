"""The component catalogue: the component of each known listener, and the object that governs its TLS settings.

The data is in ``profiles/components/``, and in files of ``--components``, which come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from scanner.model.endpoint import Owner
from scanner.model.observation import ClientCertificate

API_SERVICE = ("default", "kubernetes")
"""Namespace and name of the Service whose backends the API server writes itself."""

Governor = Literal["apiserver", "apiserver-if-strict", "kubelet", "ingress", "gateway", "flags", "backend", "own"]
"""The source of a listener's profile: the APIServer object always; that only under strict adherence; KubeletConfig;
IngressController; Gateway controller; the process's own flags; the listener to which it passes connections; or a
setting that no object shows."""

Speaks = Literal["tls", "plain", "both", "nothing", "unknown"]
"""The protocol on a port: ``both`` is plaintext and TLS on one port; ``nothing``: declared, never open; ``unknown``:
the component is known but not its protocol, so it is probed like any other open port."""


class Listener(Struct, frozen=True, kw_only=True):
    """One known listener: an entry of the catalogue."""

    component: str
    """``etcd``, ``kube-apiserver``, ``router`` ..."""
    listener: str
    """Name of the listener within the component: ``client``, ``metrics``."""
    namespaces: tuple[str, ...]
    """Patterns; empty for a process of the node itself (kubelet, crio)."""
    workloads: tuple[str, ...] = ()
    """Patterns of the owner's name; empty for any in the namespace."""
    ports: tuple[int, ...]
    host_network: bool | None = None
    """True if it listens on the node's addresses; None if either."""
    loopback: bool = False
    """True if it listens on loopback: only the node, or a port-forward, can connect."""
    governor: Governor
    management_side: bool = False
    """True if it is in the namespace of a hosted control plane, and the hosting cluster configures it."""
    either_side: bool = False
    """True if, in such a namespace, code and document disagree: by the code it follows the HostedCluster, by the
    document the hosting cluster."""
    speaks: Speaks = "tls"
    client_certificate: ClientCertificate | None = None
    certificate: str | None = None
    """Signer of the serving certificate: ``service-ca``, ``etcd-signer`` ..."""
    server_names: tuple[str, ...] = ()
    """Server names to probe, besides none."""
    honours_since: str | None = None
    """First release in which the component follows its governor; None: in every known release."""
    tls13_suites_configurable: bool = False
    """True if TLS 1.3 suites can be restricted, as in HAProxy; never in Go."""
    groups_configurable: bool = False
    """True if the component applies the profile's groups; else a deviation is informational."""
    source: str = ""
    """Source of the entry's facts."""
    note: str = ""
    place: str = ""
    """Place of the entry: ``profiles/components/openshift.yaml:40:7``."""


class Component(Struct, frozen=True, kw_only=True):
    """One component, with facts about all its listeners."""

    name: str
    operator: str = ""
    """The ClusterOperator that reports on it."""
    platform: bool = True
    """True for the platform, which the cluster's profile binds; else a layered product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All known components, in the order of matching."""

    listeners: tuple[Listener, ...] = ()
    components: tuple[Component, ...] = ()
    platform_namespaces: tuple[str, ...] = ("openshift-*", "kube-*", "openshift", "default")
    """Patterns of the namespaces whose workloads belong to the platform even without an entry."""
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
        """The listener behind a Service without known pods: for ``default/kubernetes`` the API server."""
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
    """True if a pattern matches ``name``. Most patterns are plain names, which compare fast."""
    return name in patterns or any(
        fnmatchcase(name, each) for each in patterns if "*" in each or "?" in each or "[" in each
    )
