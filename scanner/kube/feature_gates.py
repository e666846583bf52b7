"""Feature gates, as FeatureGate/cluster has them for each release in play (openshift/api ``features/features.go``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.kube.kinds import FEATURE_GATE
from scanner.kube.objects import Fields
from scanner.kube.snapshot import Snapshot

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
