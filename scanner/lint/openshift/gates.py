"""Feature gates, as far as they decide whether a field that was written is kept."""

from __future__ import annotations

from scanner.kube.feature_gates import gates
from scanner.kube.kinds import CLUSTER_VERSION, FEATURE_GATE
from scanner.model.declared import Declared, Missing

READS = (CLUSTER_VERSION, FEATURE_GATE)


def is_off(declared: Declared, names: tuple[str, ...]) -> bool:
    """Whether a gate, by all names that it ever had, is known to be off in the release that runs."""
    version = declared.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(version, Missing) else version.text("status", "desired", "version")
    return gates(declared.known, release).state(names) == "off"
