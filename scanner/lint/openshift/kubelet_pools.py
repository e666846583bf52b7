"""KubeletConfigs and the MachineConfigPools that they select: none, or one that another selects too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.kubelet import SUFFIX, KubeletConfig, in_order, is_for
from scanner.kube.meta import is_empty
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_SHOWN: Final = 5
_OTHERS: Final = 10
"""KubeletConfigs of one pool that are looked at: the operator takes no more."""
_MOST: Final = 100
"""Pools that are looked at. A cluster has a handful; each is held against each KubeletConfig."""


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig that says something of TLS selects a pool."""
    config = KubeletConfig.of(subject.object)
    if not config.speaks_of_tls:
        return
    at, label = _at(config), "pools.operator.machineconfiguration.openshift.io/worker"
    correction = f'machineConfigPoolSelector:\n  matchLabels:\n    {label}: ""'
    fix = "select a pool by a label that a MachineConfigPool has"
    if is_empty(config.pool_selector):
        message = "it selects no pool, so its TLS settings apply to no kubelet"
        yield Flaw(message=message, at=at, fix=fix, correction=correction)
        return
    pools, gap = known_pools(subject.declared)
    if any(is_for(config, each) for each in pools):
        return
    if gap:
        yield undecided(Missing(name=MACHINE_CONFIG_POOL.name, gap=gap), at, "whether it selects a pool")
        return
    message = "its selector matches no MachineConfigPool, so its TLS settings apply to no kubelet"
    observed = tuple(str(each.reference) for each in pools[:5])
    yield Flaw(message=message, at=at, observed=observed, fix=fix, correction=correction)


def known_pools(declared: Declared) -> tuple[tuple[KubeObject, ...], str | None]:
    """The pools that are looked at, and why there may be others."""
    every = declared.every(MACHINE_CONFIG_POOL)
    return every[:_MOST], f"there are more than {_MOST}" if len(every) > _MOST else declared.gap(MACHINE_CONFIG_POOL)


def _at(config: KubeletConfig) -> Steps:
    return _SELECTOR if config.has_pool_selector else _SPEC


POOL = ObjectRule(id="kubelet-config-pool", subjects=(KUBELET_CONFIG,), check=check_pool, reads=(MACHINE_CONFIG_POOL,))


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """One KubeletConfig for each pool, where TLS matters."""
    config, declared = KubeletConfig.of(subject.object), subject.declared
    if not config.speaks_of_tls or is_empty(config.pool_selector):
        return
    known = declared.once(_choices)
    seen = {config.name}
    for what in known.of.get(config.name, ()):
        others = [each for each in known.by[what][:_OTHERS] if each.name not in seen]
        seen.update(each.name for each in others)
        if others:
            yield _conflict(config, others, what)
    unclear = next((each for each in known.every if each.name not in seen), None)
    if unclear is not None and known.gap:
        missing = Missing(name=MACHINE_CONFIG_POOL.name, gap=known.gap)
        yield undecided(missing, _SELECTOR, f"whether {unclear.reference} selects the same pool")


@dataclass(frozen=True, slots=True)
class _Choices:
    """Who selects what: a pool, or the pools of one selector, wherever they are."""

    every: tuple[KubeletConfig, ...]
    by: Mapping[str, list[KubeletConfig]]
    of: Mapping[str, list[str]]
    gap: str | None
    """Why there may be other pools."""


def _choices(declared: Declared) -> _Choices:
    """Made once, the pools first: what is known of a pair by a pool is told by it."""
    every = tuple(
        each for each in map(KubeletConfig.of, declared.every(KUBELET_CONFIG)) if not is_empty(each.pool_selector)
    )
    pools, gap = known_pools(declared)
    by: dict[str, list[KubeletConfig]] = {}
    of: dict[str, list[str]] = {}
    for config in every:
        selector = f"the pools of the selector {json.dumps(config.pool_selector.raw)[:200]}"
        for what in (selector, *(str(pool.reference) for pool in pools if is_for(config, pool))):
            by.setdefault(what, []).append(config)
            of.setdefault(config.name, []).append(what)
    return _Choices(every, by, of, gap)


def _conflict(config: KubeletConfig, others: Sequence[KubeletConfig], shared: str) -> Flaw:
    every = in_order((config, *others))
    known = any(each.annotations.get(SUFFIX) for each in every)  # the operator's own count
    last = f"{every[-1].reference}, the later one, takes effect alone"
    names = ", ".join(str(each.reference) for each in others[:_SHOWN]) + (" and others" if others[_SHOWN:] else "")
    return Flaw(
        message=f"{names}: for {shared}, too: {last if known else 'only the one that is created last takes effect'}",
        at=_SELECTOR,
        observed=tuple(str(each.reference) for each in others[:_SHOWN]),
        fix="combine the settings in one KubeletConfig for each pool",
    )


CONFLICT = ObjectRule(
    id="kubelet-config-conflict",
    subjects=(KUBELET_CONFIG,),
    check=check_conflict,
    reads=(MACHINE_CONFIG_POOL,),
)
