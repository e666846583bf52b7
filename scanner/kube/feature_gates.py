"""Feature gates, as FeatureGate/cluster has them for each release in play, and whether the cluster's API has the fields
behind them at all.

A gate that is off prunes its field without an error (openshift/api ``features/features.go``). So the release alone does
not say which fields there are: FeatureGate and the schema of the CustomResourceDefinition do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION, FEATURE_GATE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Parts, Text, View

State = Literal["on", "off", "unknown"]
ADHERENCE: Final = ("TLSAdherence",)
GROUPS: Final = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The gate's name, and the one that it had before."""


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


class _Gate(View):
    name = Text()


class _Release(View):
    version = Text()
    enabled = Parts(_Gate)
    disabled = Parts(_Gate)


class _FeatureGate(KubeObject):
    releases = Parts(_Release, "status", "featureGates")


def gates(snapshot: Snapshot, release: str) -> Gates:
    """``status.featureGates`` has a list for each release in play; the other's is no answer."""
    found = snapshot.get(FEATURE_GATE, "cluster")
    every = _FeatureGate.of(found).releases[:50] if found else ()
    mine = next((each for each in every if each.version == release), every[0] if len(every) == 1 else None)
    if mine is None:
        return Gates()
    enabled, disabled = ({each.name for each in some} for some in (mine.enabled, mine.disabled))
    return Gates(enabled=frozenset(enabled), disabled=frozenset(disabled))


def served(snapshot: Snapshot, *field: str) -> bool | None:
    """Whether the schema of ``APIServer.spec`` has this field; None where no schema can be seen."""
    definition = snapshot.get(CUSTOM_RESOURCE_DEFINITION, "apiservers.config.openshift.io")
    for version in definition.each("spec", "versions") if definition else ():
        spec = version.fields("schema", "openAPIV3Schema", "properties", "spec", "properties")
        # A snapshot keeps a part of the schema only: without the profile's it was not kept.
        if version.text("name") == "v1" and spec.has("tlsSecurityProfile"):
            return spec.has(*[step for name in field for step in (name, "properties")][:-1])
    return None
