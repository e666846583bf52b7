"""Several KubeletConfigs of one pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.label_selector import is_empty
from scanner.kube.objects import KubeObject
from scanner.lint.openshift.kubelet_pools import known_pools
from scanner.lint.openshift.kubelet_tls import speaks_of_tls
from scanner.model.declared import Declared, Missing
from scanner.model.kubelet_pools import SUFFIX, in_order, is_for
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_SHOWN: Final = 5
_OTHERS: Final = 10
"""KubeletConfigs of one pool that are looked at: the operator takes no more."""


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """One KubeletConfig for each pool, where TLS matters."""
    config, declared = subject.object, subject.declared
    if not speaks_of_tls(config) or is_empty(config.fields(*_SELECTOR)):
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

    every: tuple[KubeObject, ...]
    by: Mapping[str, list[KubeObject]]
    of: Mapping[str, list[str]]
    gap: str | None
    """Why there may be other pools."""


def _choices(declared: Declared) -> _Choices:
    """Made once, the pools first: what is known of a pair by a pool is told by it."""
    every = tuple(each for each in declared.every(KUBELET_CONFIG) if not is_empty(each.fields(*_SELECTOR)))
    pools, gap = known_pools(declared)
    by: dict[str, list[KubeObject]] = {}
    of: dict[str, list[str]] = {}
    for config in every:
        selector = f"the pools of the selector {shown(config.at(*_SELECTOR), 200)}"
        for what in (selector, *(str(pool.reference) for pool in pools if is_for(config, pool))):
            by.setdefault(what, []).append(config)
            of.setdefault(config.name, []).append(what)
    return _Choices(every, by, of, gap)


def _conflict(config: KubeObject, others: Sequence[KubeObject], shared: str) -> Flaw:
    every = in_order((config, *others))
    known = any(each.annotations.get(SUFFIX) for each in every)  # the operator's own count
    last = f"{every[-1].reference}, the later one, counts alone"
    names = ", ".join(str(each.reference) for each in others[:_SHOWN]) + (" and others" if others[_SHOWN:] else "")
    return Flaw(
        message=f"{names}: for {shared}, too: {last if known else 'the one that is created last counts alone'}",
        at=_SELECTOR,
        observed=tuple(str(each.reference) for each in others[:_SHOWN]),
        fix="write all of it in one KubeletConfig for each pool",
    )


CONFLICT = ObjectRule(
    id="kubelet-config-conflict",
    subjects=(KUBELET_CONFIG,),
    check=check_conflict,
    reads=(MACHINE_CONFIG_POOL,),
)
