"""Feature gates, and whether the cluster's API has the fields behind them at all.

A gate that is off prunes its field without a word (openshift/api ``features/features.go``), so which release has it is
never guessed from the release: FeatureGate and the schema of the CustomResourceDefinition say it.
"""

from __future__ import annotations

from scanner.kube.feature_gates import Gates, State, gates
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.kube.snapshot import Snapshot

__all__ = ["ADHERENCE", "GROUPS", "Gates", "State", "gates", "served"]

ADHERENCE = ("TLSAdherence",)
GROUPS = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The gate's name, and the one that it had before."""


def served(snapshot: Snapshot, *field: str) -> bool | None:
    """Whether the schema of ``APIServer.spec`` has this field; None where no schema can be seen."""
    definition = snapshot.get(CUSTOM_RESOURCE_DEFINITION, "apiservers.config.openshift.io")
    for version in definition.each("spec", "versions") if definition else ():
        spec = version.fields("schema", "openAPIV3Schema", "properties", "spec", "properties")
        # A snapshot keeps a part of the schema only: without the profile's it was not kept.
        if version.text("name") == "v1" and spec.has("tlsSecurityProfile"):
            return spec.has(*[step for name in field for step in (name, "properties")][:-1])
    return None
