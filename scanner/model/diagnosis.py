"""A diagnosis: how far a cluster's configuration got on its way to the listeners of one component, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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


Outcome = Literal["ok", "stopped", "unknown", "not-read", "not-applicable"]
"""``unknown``: not determined. ``not-read``: nobody looked, because adhere never reads it or
the user did not give it. ``not-applicable``: clusters or components like this one have no such step."""

Conclusion = Literal["ok", "stopped", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one step says."""

    outcome: Outcome
    said: tuple[str, ...]
    """Sentences for people, as received: a format escapes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the procedure."""

    name: str
    answer: Answer
    commands: tuple[str, ...] = ()
    """For a shell: what shows it in the cluster itself."""
    proven: bool = True
    """Whether it went well where what is served is as required: TLS versions and suites prove nothing about keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All steps for one component."""

    component: str
    place: str = ""
    """The hosted control plane that it is of: ``HostedCluster/clusters/prod``. Empty for the cluster's own."""
    operator: str = ""
    """The ClusterOperator that reports on it, where one does."""
    listeners: int = 0
    owes: str = ""
    """Name of what it owes, or why that is not known."""
    bound: bool = True
    """False where nothing holds any of its listeners to the cluster's profile."""
    steps: tuple[Step, ...]
    """In the order in which a configuration travels; the last is what is served."""

    @property
    def stopped_at(self) -> int | None:
        """The number, from 1 on, of the step at which the configuration stopped."""
        return next((n for n, step in enumerate(self.steps, start=1) if step.answer.outcome == "stopped"), None)

    @property
    def conclusion(self) -> Conclusion:
        """What the steps amount to. What is served proves that those before it went well, whatever could be read;
        and nothing has to reach what nothing holds to it."""
        if self.stopped_at is not None:
            return "stopped"
        outcomes = [step.answer.outcome for step in self.steps]
        if any(step.answer.outcome == "unknown" and not step.proven for step in self.steps):
            return "unknown"
        if outcomes[-1] == "ok" or not self.bound:
            return "ok"
        return "unknown" if "unknown" in outcomes or "ok" not in outcomes else "ok"
