"""Feature gates, and whether the cluster's API has the fields behind them at all.

A gate that is off prunes its field without a word (openshift/api ``features/features.go``), so which release has it is
never guessed from the release: FeatureGate and the schema of the CustomResourceDefinition say it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.model.kinds import CUSTOM_RESOURCE_DEFINITION, FEATURE_GATE
from scanner.model.objects import Fields
from scanner.model.snapshot import Snapshot

ADHERENCE = ("TLSAdherence",)
GROUPS = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The gate's name, and the one that it had before."""

State = Literal["on", "off", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What FeatureGate/cluster says for the release that runs."""

    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def state(self, names: tuple[str, ...]) -> State:
        """Of a gate, by all names that it ever had."""
        if not self.enabled.isdisjoint(names):
            return "on"
        return "unknown" if self.disabled.isdisjoint(names) else "off"


def gates(snapshot: Snapshot, release: str) -> Gates:
    """``status.featureGates`` has a list for each release in play; the other's is no answer."""
    found = snapshot.get(FEATURE_GATE, "cluster")
    every = list(found.each("status", "featureGates"))[:50] if found else []
    mine = next((each for each in every if each.text("version") == release), every[0] if len(every) == 1 else None)
    if mine is None:
        return Gates()
    return Gates(enabled=_names(mine, "enabled"), disabled=_names(mine, "disabled"))


def _names(holder: Fields, field: str) -> frozenset[str]:
    return frozenset(each.text("name") for each in holder.each(field))


def served(snapshot: Snapshot, *field: str) -> bool | None:
    """Whether the schema of ``APIServer.spec`` has this field; None where no schema can be seen."""
    definition = snapshot.get(CUSTOM_RESOURCE_DEFINITION, "apiservers.config.openshift.io")
    for version in definition.each("spec", "versions") if definition else ():
        spec = version.fields("schema", "openAPIV3Schema", "properties", "spec", "properties")
        # A snapshot keeps a part of the schema only: without the profile's it was not kept.
        if version.text("name") == "v1" and spec.has("tlsSecurityProfile"):
            return spec.has(*[step for name in field for step in (name, "properties")][:-1])
    return None
