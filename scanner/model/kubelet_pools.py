"""Which KubeletConfig counts for a MachineConfigPool (machine-config-operator ``pkg/controller/kubelet-config``)."""

from __future__ import annotations

from collections.abc import Iterable

from scanner.kube.objects import KubeObject
from scanner.model.label_selector import is_empty, selects

SUFFIX = "machineconfiguration.openshift.io/mc-name-suffix"
"""On a KubeletConfig: the N of the ``99-POOL-generated-kubelet-N`` that it becomes, empty for the first."""


def is_for(config: KubeObject, pool: KubeObject) -> bool:
    """Whether a KubeletConfig selects a pool, by the labels of its metadata; an empty selector selects nothing."""
    selector = config.fields("spec", "machineConfigPoolSelector")
    return not is_empty(selector) and selects(selector, pool.labels)


def in_order(configs: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The KubeletConfigs of one pool, the one that counts last. Each becomes a whole configuration file, and generated
    files are merged in the order of their names, in which ``-10`` stands before ``-2``."""
    return tuple(sorted(configs, key=_order))


def _order(config: KubeObject) -> tuple[str, str, str]:
    return config.annotations.get(SUFFIX, ""), config.text("metadata", "creationTimestamp"), config.name
