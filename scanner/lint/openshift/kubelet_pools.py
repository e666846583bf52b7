"""KubeletConfigs and the MachineConfigPools that they select."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.label_selector import is_empty
from scanner.kube.objects import KubeObject
from scanner.lint.openshift.kubelet_tls import speaks_of_tls
from scanner.model.declared import Declared, Missing
from scanner.model.kubelet_pools import is_for
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_MOST: Final = 100
"""Pools that are looked at. A cluster has a handful; each is held against each KubeletConfig."""


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig that says something of TLS selects a pool."""
    config = subject.object
    if not speaks_of_tls(config):
        return
    at, label = _at(config), "pools.operator.machineconfiguration.openshift.io/worker"
    correction = f'machineConfigPoolSelector:\n  matchLabels:\n    {label}: ""'
    fix = "select a pool by a label of its metadata"
    if is_empty(config.fields(*_SELECTOR)):
        message = "it selects no pool, so what it says of TLS holds for no kubelet"
        yield Flaw(message=message, at=at, fix=fix, correction=correction)
        return
    pools, gap = known_pools(subject.declared)
    if any(is_for(config, each) for each in pools):
        return
    if gap:
        yield undecided(Missing(name=MACHINE_CONFIG_POOL.name, gap=gap), at, "whether it selects a pool")
        return
    message = "its selector matches no MachineConfigPool, so what it says of TLS holds for no kubelet"
    observed = tuple(str(each.reference) for each in pools[:5])
    yield Flaw(message=message, at=at, observed=observed, fix=fix, correction=correction)


def known_pools(declared: Declared) -> tuple[tuple[KubeObject, ...], str | None]:
    """The pools that are looked at, and why there may be others."""
    every = declared.every(MACHINE_CONFIG_POOL)
    return every[:_MOST], f"there are more than {_MOST}" if len(every) > _MOST else declared.gap(MACHINE_CONFIG_POOL)


def _at(config: KubeObject) -> Steps:
    return _SELECTOR if config.has(*_SELECTOR) else _SPEC


POOL = ObjectRule(
    id="kubelet-config-pool",
    subjects=(KUBELET_CONFIG,),
    check=check_pool,
    reads=(MACHINE_CONFIG_POOL,),
)
