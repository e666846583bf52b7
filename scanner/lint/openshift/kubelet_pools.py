"""KubeletConfigs and the MachineConfigPools that they select."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.objects import KubeObject
from scanner.lint.openshift.kubelet_tls import speaks_of_tls
from scanner.model.declared import Declared, Missing
from scanner.model.kubelet_pools import is_for
from scanner.model.label_selector import is_empty
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_MOST: Final = 100
"""Pools that are looked at. A cluster has a handful; each is held against each KubeletConfig."""
_OPERATOR: Final = "openshift/machine-config-operator pkg/controller/kubelet-config"


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig that says something of TLS selects a pool.

    ## What it requires

    Of a KubeletConfig with a `tlsSecurityProfile`, or with fields for TLS in `kubeletConfig`:
    `spec.machineConfigPoolSelector` is not empty, and matches the labels of a MachineConfigPool's metadata.

    ## Why

    A selector that is missing, empty, or matches nothing selects no pool, unlike elsewhere: what the object says then
    holds for no kubelet, and they all go on with the cluster's profile.

    ## What fails

    A selector that selects nothing: medium.

    ## What is inconclusive

    MachineConfigPools that were not given.

    ## Example that fails

    ```yaml
    apiVersion: machineconfiguration.openshift.io/v1
    kind: KubeletConfig
    metadata: {name: modern}
    spec:
      tlsSecurityProfile: {type: Modern, modern: {}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: machineconfiguration.openshift.io/v1
    kind: KubeletConfig
    metadata: {name: modern}
    spec:
      machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
      tlsSecurityProfile: {type: Modern, modern: {}}
    ---
    apiVersion: machineconfiguration.openshift.io/v1
    kind: MachineConfigPool
    metadata: {name: worker, labels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
    spec: {}
    ```

    ## How to fix

    Select by the label that each pool has: `pools.operator.machineconfiguration.openshift.io/NAME: ""`.
    """
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
    title="A KubeletConfig that says something of TLS selects a pool",
    severity="medium",
    subjects=(KUBELET_CONFIG,),
    check=check_pool,
    reads=(MACHINE_CONFIG_POOL,),
    references=(_OPERATOR,),
)
