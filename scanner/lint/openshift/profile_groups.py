"""``groups`` of a Custom profile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, KUBELET_CONFIG
from scanner.lint.openshift import gates
from scanner.lint.openshift.profiles import Declaration
from scanner.model.custom_profile import GROUPS
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw

GATE: Final = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The feature gate of the field, and its earlier name (openshift/api ``features/features.go``)."""
_WITHOUT: Final = {
    KUBELET_CONFIG: "the machine config operator",
    HOSTED_CLUSTER: "HyperShift",
    HOSTED_CONTROL_PLANE: "HyperShift",
}
"""Who has only versions and suites for the programs that it configures, by the kind that it reads."""
_GROUPS_AT_MOST: Final = 7
_MOST: Final = 500


def group_flaws(each: Declaration, declared: Declared) -> Iterator[Flaw]:
    """What the schema refuses of ``groups``, and whether it is kept at all."""
    value, at = each.custom.at("groups"), (*each.steps, "custom", "groups")
    if value is not None and gates.is_off(declared, GATE):
        message = f"the feature gate {GATE[0]} is off: groups is pruned without a word, and each component has its own"
        yield Flaw(message=message, at=at, severity="low", fix="leave groups out, or turn the feature gate on")
    if value is not None and each.object.kind in _WITHOUT:
        message = f"{_WITHOUT[each.object.kind]} hands no groups on: they mean nothing here"
        yield Flaw(message=message, at=at, severity="low", fix="leave groups out")
    if not isinstance(value, list):
        return
    if not 1 <= len(value) <= _GROUPS_AT_MOST:
        yield Flaw(
            message=f"no API takes it: it has {len(value)} groups, and must have 1 to {_GROUPS_AT_MOST}",
            at=at,
            fix="leave groups out, so that every component has its own" if not value else "remove some",
        )
    yield from _names(value, at)


def _names(value: list[object], at: Steps) -> Iterator[Flaw]:
    seen: set[str] = set()
    for index, name in enumerate(islice(value, _MOST)):
        if not isinstance(name, str) or name not in GROUPS:
            fix = did_you_mean(name, GROUPS) if isinstance(name, str) else f"one of {', '.join(GROUPS)}"
            yield Flaw(message=f"no API takes it: unknown group {shown(name)}", at=(*at, index), fix=fix)
        elif name in seen:
            yield Flaw(message=f"no API takes it: Duplicate value: {shown(name)}", at=(*at, index), fix="remove it")
        else:
            seen.add(name)
