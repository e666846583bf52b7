"""KubeletConfigs: the one that counts for a MachineConfigPool, and those in a ConfigMap that a NodePool names.

machine-config-operator ``pkg/controller/kubelet-config``, hypershift ``hypershift-operator/controllers/nodepool``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.files import yaml_values
from scanner.kube.kinds import KUBELET_CONFIG
from scanner.kube.label_selector import is_empty, selects
from scanner.kube.objects import Fields, KubeObject

SUFFIX = "machineconfiguration.openshift.io/mc-name-suffix"
"""On a KubeletConfig: the N of the ``99-POOL-generated-kubelet-N`` that it becomes, empty for the first."""

NODE_POOL = "hypershift.openshift.io/nodePool"
"""Label of a node in a hosted cluster: the name of its NodePool."""
MANIFESTS = "config"
"""Key of a ConfigMap that a NodePool names: one manifest or several."""
_LONGEST = 32_768
"""Bytes of manifests that are parsed: 50 ms."""


def is_for(config: KubeObject, pool: KubeObject) -> bool:
    """Whether a KubeletConfig selects a pool, by the labels of its metadata; an empty selector selects nothing."""
    selector = config.fields("spec", "machineConfigPoolSelector")
    return not is_empty(selector) and selects(selector, pool.labels)


def in_order(configs: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The KubeletConfigs of one pool, the one that counts last. Each becomes a whole configuration file, and generated
    files are merged in the order of their names, in which ``-10`` stands before ``-2``."""
    return tuple(sorted(configs, key=_order))


def _order(config: KubeObject) -> tuple[str, str, str]:
    return config.annotations.get(SUFFIX, ""), config.creation_timestamp, config.name


def in_manifests(text: str) -> Iterator[Fields]:
    """Yield the KubeletConfigs among manifests. Raises ``InputError`` for what is no YAML, or too long."""
    for each in yaml_values.documents(text.encode("utf-8", "replace"), MANIFESTS, _LONGEST):
        found = Fields(each if isinstance(each, dict) else {})
        group, _, _ = found.text("apiVersion").partition("/")
        if (group, found.text("kind")) == (KUBELET_CONFIG.group, KUBELET_CONFIG.name):
            yield found
