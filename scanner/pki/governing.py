"""The PKI configuration that governs a namespace, now and before. No I/O.

An object shows the time of its last change, but not its previous content. A snapshot shows the configuration from the
last change until the snapshot was taken.

HyperShift (the enhancement, "Hypershift / Hosted Control Planes"): the management cluster's PKI object governs the
hosted control planes, which run there; a guest cluster's own governs the components that run in the guest. Neither is
ever judged by the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from msgspec import Struct

from scanner.kube.cluster_facts import hosted_namespaces, is_guest
from scanner.kube.kinds import (
    CONFIG_MAP,
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    INFRASTRUCTURE,
    MICROSHIFT_CONFIG,
    NAMESPACE,
    PKI,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import MicroShiftConfig
from scanner.kube.snapshot import Snapshot
from scanner.model.expectation import Because
from scanner.model.pki_config import PkiConfig
from scanner.pki import config as objects
from scanner.pki.config import ALWAYS, of_spec, pki_config
from scanner.pki.install_config import install_config_of_cluster

INSTALLATION: Final = timedelta(days=1)
"""Before and after a cluster's first namespace: the installer makes its signers hours before there is a cluster, and
operators replace what else it made within a day (the enhancement, "Initial Cluster Installation")."""


class Past(Struct, frozen=True, kw_only=True):
    """A configuration that was in force before."""

    config: PkiConfig
    since: datetime
    until: datetime
    """The last moment at which it is known to have been."""
    slack: timedelta = timedelta(0)
    """Time before and after in which it also was in force."""
    text: str
    """Source of the configuration, as a clause of a message."""


def past(earlier: Iterable[Snapshot], now: Snapshot) -> tuple[Past, ...]:
    """Every known previous configuration: from earlier snapshots of the same cluster, and from its install-config."""
    seen = (each for snapshot in sorted(earlier, key=lambda one: one.taken_at) for each in _seen(snapshot))
    return (*_installed(now), *seen)


def in_force(history: Iterable[Past], at: datetime, tolerance: timedelta) -> Past | None:
    """The configuration at that time, or None if unknown. The last of several counts: the API server's object before
    the install-config."""
    # Differences: a certificate or an object may name the first and the last day that a calendar has.
    found = [each for each in history if each.since - at < tolerance + each.slack and at - each.until <= each.slack]
    return found[-1] if found else None


def _seen(snapshot: Snapshot) -> Iterator[Past]:
    if PKI not in snapshot.objects:
        return
    config = pki_config(snapshot)
    if config.reason == "unreadable" or (config.in_force and config.since is None):
        return
    # Without an object the start is unknown, and the state counts as unchanged since the beginning.
    since = snapshot.taken_at if config.since_vague else config.since or ALWAYS
    text = f"the snapshot of {snapshot.taken_at.date().isoformat()}"
    yield Past(config=config, since=since, until=snapshot.taken_at, text=text)


def _installed(snapshot: Snapshot) -> Iterator[Past]:
    """The install-config, in force for the signers of the installation."""
    config = install_config_of_cluster(snapshot)
    system = snapshot.get(NAMESPACE, "kube-system") if NAMESPACE in snapshot.objects else None
    made = system.created if system else None
    if config is None or made is None or not config.in_force:
        return
    yield Past(config=config, since=made, until=made, slack=INSTALLATION, text=config.source)


READS: tuple[Kind, ...] = (*objects.READS, CONFIG_MAP, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, INFRASTRUCTURE, NAMESPACE)
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
"""Control plane namespaces, which a hosted cluster has in the management cluster."""


class Governed(Struct, frozen=True, kw_only=True):
    """A configuration, and the reason why it governs."""

    config: PkiConfig
    because: Because | None = None
    """None for the plain case: the cluster's own."""
    history: tuple[Past, ...] = ()
    """Known previous configurations."""


class Governing(Struct, frozen=True, dict=True):
    """The configurations that a snapshot knows of."""

    snapshot: Snapshot
    earlier: tuple[Snapshot, ...] = ()
    """Earlier snapshots of the same cluster, the oldest first."""
    user_provided: PkiConfig | None = None
    """The configuration of a user's file, which replaces the cluster's own."""

    @cached_property
    def own(self) -> PkiConfig:
        """The cluster's own: the user's file, MicroShift's file, or PKI/cluster."""
        if self.user_provided is not None:
            return self.user_provided
        file = next(iter(self.snapshot.objects.get(MICROSHIFT_CONFIG, ())), None)
        if file is not None:
            return microshift_config(file)
        if self.snapshot.get(CONFIG_MAP, "microshift-version", "kube-public"):
            text = f"{MICROSHIFT_FILE} is not in the snapshot"
            return PkiConfig(source=MICROSHIFT_FILE, reason="unreadable", platform_said=text)
        return objects.pki_config(self.snapshot, self.earlier[-1] if self.earlier else None)

    @cached_property
    def history(self) -> tuple[Past, ...]:
        """Known previous configurations of the cluster."""
        return past(self.earlier, self.snapshot)

    @cached_property
    def hosted(self) -> frozenset[str]:
        """Namespaces of hosted control planes, which this cluster manages."""
        return frozenset(hosted_namespaces(self.snapshot))

    @cached_property
    def is_guest(self) -> bool:
        """True if the control plane runs in another cluster."""
        return is_guest(self.snapshot)

    def of(self, namespace: str | None) -> Governed:
        """The configuration that governs the certificates of a namespace (None: in no namespace)."""
        if namespace in self.hosted:
            text = f"the management cluster's governs hosted control planes, and {namespace} is one"
            because = Because(source=self.own.source, field="", said=text)
            return Governed(config=self.own, because=because, history=self.history)
        if self.is_guest and namespace in _ELSEWHERE:
            text = "the control plane is hosted: the management cluster's PKI governs it, and is not in this snapshot"
            config = PkiConfig(source="the management cluster's PKI/cluster", reason="unreadable", platform_said=text)
            return Governed(config=config, because=Because(source="Infrastructure/cluster", field="", said=text))
        return Governed(config=self.own, history=self.history)


def microshift_config(file: KubeObject) -> PkiConfig:
    """``pki`` of MicroShift's configuration. The enhancement proposes it; no release reads it yet."""
    if not MicroShiftConfig.of(file).has_pki:
        text = "pki is not set: MicroShift's own choice"
        return PkiConfig(source=MICROSHIFT_FILE, reason="empty", platform_said=text)
    return objects.always_in_force(of_spec(file.raw, ("pki",), source=MICROSHIFT_FILE))
