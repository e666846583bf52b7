"""Which configuration governs the certificates of a namespace: MicroShift's file, and HyperShift's two clusters. Pure.

HyperShift (the enhancement, "Hypershift / Hosted Control Planes"): the management cluster's PKI object governs the
hosted control planes, which run there; a guest cluster's own governs the components that run in the guest. Neither is
ever judged by the other's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from scanner.kube.cluster_facts import hosted_namespaces, is_guest
from scanner.kube.kinds import CONFIG_MAP, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, INFRASTRUCTURE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import MicroShiftConfig
from scanner.kube.snapshot import Snapshot
from scanner.model.expectation import Because
from scanner.model.pki_config import PkiConfig
from scanner.model.unlisted_kinds import MICROSHIFT_CONFIG
from scanner.pki import config as objects
from scanner.pki.history import READS as BEFORE
from scanner.pki.history import Past, past
from scanner.pki.reading import of_spec

READS: tuple[Kind, ...] = (*objects.READS, CONFIG_MAP, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, INFRASTRUCTURE, *BEFORE)
MICROSHIFT_FILE: Final = "/etc/microshift/config.yaml"
_ELSEWHERE: Final = (
    "openshift-kube-apiserver",
    "openshift-kube-apiserver-operator",
    "openshift-etcd",
    "openshift-etcd-operator",
    "openshift-kube-controller-manager",
    "openshift-kube-controller-manager-operator",
    "openshift-kube-scheduler",
    "openshift-kube-scheduler-operator",
)
"""Of a guest cluster, whose control plane runs in another cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """A configuration, and why it is this one."""

    config: PkiConfig
    because: Because | None = None
    """None for the plain case: the cluster's own."""
    history: tuple[Past, ...] = ()
    """What it was before, as far as anybody knows."""


@dataclass(frozen=True)
class Governing:
    """The configurations that a snapshot knows of."""

    snapshot: Snapshot
    earlier: tuple[Snapshot, ...] = ()
    """Of the same cluster, the oldest first."""
    given: PkiConfig | None = None
    """A file's, which takes the place of the cluster's own."""

    @cached_property
    def own(self) -> PkiConfig:
        """The cluster's own: what was given in its place, of MicroShift the file's, else PKI/cluster's."""
        if self.given is not None:
            return self.given
        file = next(iter(self.snapshot.objects.get(MICROSHIFT_CONFIG, ())), None)
        if file is not None:
            return microshift_config(file)
        if self.snapshot.get(CONFIG_MAP, "microshift-version", "kube-public"):
            said = f"{MICROSHIFT_FILE} is not in the snapshot"
            return PkiConfig(source=MICROSHIFT_FILE, reason="unreadable", platform_said=said)
        return objects.pki_config(self.snapshot, self.earlier[-1] if self.earlier else None)

    @cached_property
    def history(self) -> tuple[Past, ...]:
        """What the cluster's own was before."""
        return past(self.earlier, self.snapshot)

    @cached_property
    def hosted(self) -> frozenset[str]:
        """Namespaces of hosted control planes, which this cluster manages."""
        return frozenset(hosted_namespaces(self.snapshot))

    @cached_property
    def is_guest(self) -> bool:
        """Whether the control plane runs in another cluster."""
        return is_guest(self.snapshot)

    def of(self, namespace: str | None) -> Governed:
        """What governs the certificates of a namespace; None for what is in no namespace."""
        if namespace in self.hosted:
            said = f"the management cluster's governs hosted control planes, and {namespace} is one"
            because = Because(source=self.own.source, field="", said=said)
            return Governed(config=self.own, because=because, history=self.history)
        if self.is_guest and namespace in _ELSEWHERE:
            said = "the control plane is hosted: the management cluster's PKI governs it, and is not in this snapshot"
            config = PkiConfig(source="the management cluster's PKI/cluster", reason="unreadable", platform_said=said)
            return Governed(config=config, because=Because(source="Infrastructure/cluster", field="", said=said))
        return Governed(config=self.own, history=self.history)


def microshift_config(file: KubeObject) -> PkiConfig:
    """``pki`` of MicroShift's configuration. The enhancement wishes for it; no release reads it yet."""
    if not MicroShiftConfig.of(file).has_pki:
        said = "pki is not set: MicroShift's own choice"
        return PkiConfig(source=MICROSHIFT_FILE, reason="empty", platform_said=said)
    return objects.held_always(of_spec(file.raw, ("pki",), source=MICROSHIFT_FILE))
