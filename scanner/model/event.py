"""Events: what controllers say of objects as things happen (core/v1 Event; those of events.k8s.io are served by it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject

EVENT = Kind(group="", plural="events", name="Event", opt_in="doctor")
"""Apart from the kinds that are read of a whole cluster: they are many, last for an hour or so, and anybody writes
them. The doctor alone looks at them, and in few namespaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The warnings of some namespaces."""

    found: tuple[KubeObject, ...] = ()
    missed: Mapping[str, str] = field(default_factory=dict)
    """Namespaces of which not all were read, and why."""
