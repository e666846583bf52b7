"""The configuration of kubelets: the kubelet's own, and the KubeletConfig in effect on a node.

machine-config-operator ``pkg/helpers`` (pools of a node) and ``pkg/controller/kubelet-config``; in a hosted cluster
hypershift ``hypershift-operator/controllers/nodepool``, where a ConfigMap that a NodePool names has the KubeletConfig.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from scanner.files import yaml_values
from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import Condition, LabelSelector, condition, is_empty, selects
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import has_profile
from scanner.kube.view import Flag, Part, Present, Text, Texts, Value, View

SUFFIX = "machineconfiguration.openshift.io/mc-name-suffix"
"""Annotation of a KubeletConfig: the N of its generated ``99-POOL-generated-kubelet-N``, empty for the first."""

NODE_POOL_LABEL = "hypershift.openshift.io/nodePool"
"""Label of a node in a hosted cluster: the name of its NodePool."""
MANIFESTS = "config"
"""Key of a ConfigMap that a NodePool names: one manifest or several."""
_LONGEST = 32_768
"""Maximum size of manifests in bytes; parsing them takes 50 ms."""
CURRENT = "machineconfiguration.openshift.io/currentConfig"
_DEGRADED = ("Degraded", "NodeDegraded", "RenderDegraded")
DESIRED = "machineconfiguration.openshift.io/desiredConfig"


class KubeletConfiguration(View):
    """The kubelet's own configuration (kubelet.config.k8s.io/v1beta1)."""

    tls_min_version = Text("tlsMinVersion")
    raw_min_version = Value("tlsMinVersion")
    tls_cipher_suites = Texts("tlsCipherSuites")
    raw_cipher_suites = Value("tlsCipherSuites")
    tls_curve_preferences = Value()
    tls_cert_file = Text("tlsCertFile")
    tls_private_key_file = Text("tlsPrivateKeyFile")
    rotate_certificates = Value()
    server_tls_bootstrap = Value("serverTLSBootstrap")
    read_only_port = Value()

    @property
    def sets_tls(self) -> bool:
        """True if it sets anything about TLS."""
        return any(self.has(name) for name in _OF_TLS)


_OF_TLS = (
    *("tlsMinVersion", "tlsCipherSuites", "tlsCurvePreferences", "tlsCertFile", "tlsPrivateKeyFile"),
    *("rotateCertificates", "serverTLSBootstrap", "readOnlyPort"),
)


class Configz(KubeObject):
    """The answer of a kubelet at ``/configz``: its configuration in effect."""

    configuration = Part(KubeletConfiguration, "kubeletconfig")


class KubeletConfig(KubeObject):
    """A KubeletConfig of machineconfiguration.openshift.io/v1."""

    spec = Value()
    configuration = Part(KubeletConfiguration, "spec", "kubeletConfig")
    pool_selector = Part(LabelSelector, "spec", "machineConfigPoolSelector")
    has_pool_selector = Present("spec", "machineConfigPoolSelector")

    @property
    def sets_tls(self) -> bool:
        """True if it sets anything about TLS."""
        return has_profile(self) or self.configuration.sets_tls


class MachineConfigPool(KubeObject):
    """A pool of nodes with one configuration."""

    node_selector = Part(LabelSelector, "spec", "nodeSelector")
    paused = Flag("spec", "paused")
    configuration = Text("spec", "configuration", "name")
    """Name of the rendered configuration for its nodes."""


def selects_pool(config: KubeObject, pool: KubeObject) -> bool:
    """True if a KubeletConfig selects a pool by its labels; an empty selector selects nothing."""
    return _selects(KubeletConfig.of(config).pool_selector, pool)


def in_merge_order(configs: Iterable[KubeletConfig]) -> tuple[KubeletConfig, ...]:
    """Sort the KubeletConfigs of one pool; the last is in effect. Each becomes a complete configuration file. Generated
    files are merged in the order of their names, in which ``-10`` is before ``-2``."""
    return tuple(sorted(configs, key=lambda each: (each.annotation(SUFFIX), each.creation_timestamp, each.name)))


def in_manifests(text: str) -> Iterator[KubeletConfig]:
    """Yield the KubeletConfigs among manifests. Raises ``InputError`` for invalid YAML, and for YAML that is too
    long."""
    for each in yaml_values.documents(text.encode("utf-8", "replace"), MANIFESTS, _LONGEST):
        found = Fields(each if isinstance(each, dict) else {})
        group, _, _ = found.text("apiVersion").partition("/")
        if (group, found.text("kind")) == (KUBELET_CONFIG.group, KUBELET_CONFIG.name):
            yield KubeletConfig(found.raw, KUBELET_CONFIG)


def pool_of(snapshot: Snapshot, node: KubeObject) -> Known[MachineConfigPool]:
    """The pool of a node: the control plane's first, then a custom pool, then ``worker``."""
    if gap := snapshot.gap(MACHINE_CONFIG_POOL):
        return Unknown(f"the pool of {node.reference} is unknown: {gap}")
    found = {
        pool.name: pool
        for pool in map(MachineConfigPool.of, snapshot.every(MACHINE_CONFIG_POOL))
        if _selects(pool.node_selector, node)
    }
    for name in ("master", "arbiter"):
        if name in found:
            return found[name]
    custom = sorted(set(found) - {"worker"})
    if len(custom) > 1:
        return Unknown(f"{node.reference} belongs to several custom pools: {', '.join(custom[:5])}")
    name = custom[0] if custom else "worker"
    if name not in found:
        return Unknown(f"no MachineConfigPool selects {node.reference}")
    return found[name]


def kubelet_configs(snapshot: Snapshot, pool: MachineConfigPool) -> tuple[KubeletConfig, ...]:
    """KubeletConfigs of a pool; the last is in effect."""
    return in_merge_order(KubeletConfig.of(each) for each in snapshot.every(KUBELET_CONFIG) if selects_pool(each, pool))


def _selects(selector: Fields, each: KubeObject) -> bool:
    """True if the selector selects the object; an empty selector selects nothing."""
    return not is_empty(selector) and selects(selector, each.labels)


def updating(pool: MachineConfigPool, node: KubeObject) -> tuple[str, datetime | None] | None:
    """The reason why the node may still run its previous configuration, and since when. None if it has the pool's
    configuration, or if the pool does not update it: the pool is paused, degraded or not updating."""
    updated, rolling = condition(pool, "Updated"), condition(pool, "Updating")
    at_work = (rolling is not None and rolling.holds) or (rolling is None and updated is not None and not updated.holds)
    degraded = any((found := condition(pool, each)) is not None and found.holds for each in _DEGRADED)
    if pool.paused or degraded or not at_work:
        return None
    target, current = pool.configuration, node.annotations.get(CURRENT, "")
    desired = node.annotations.get(DESIRED, "")
    since = _since(rolling, updated)
    if current and desired and current != desired:
        return f"{node.reference} runs {current}; its desired configuration is {desired}", since
    if current and current == target:
        return None
    if current and target:
        return f"{node.reference} runs {current}; the configuration of the pool is {target}", since
    return f"{pool.reference} is being updated", since


def _since(*conditions: Condition | None) -> datetime | None:
    known = [each.since for each in conditions if each is not None and each.since is not None]
    return max(known, default=None)
