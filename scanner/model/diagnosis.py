"""A diagnosis: each step by which the cluster's configuration reaches the listeners of one component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject

EVENT = Kind(group="", plural="events", name="Event", opt_in="doctor")
"""The kind of events. Only the doctor reads them, in a few namespaces: they are many, expire after an hour, and
every user can write them."""


class Events(Struct, frozen=True, kw_only=True):
    """Warnings of some namespaces."""

    found: tuple[KubeObject, ...] = ()
    missed: Mapping[str, str] = field(default_factory=dict)
    """Namespaces whose events are incomplete, and why."""


Outcome = Literal["ok", "stopped", "unknown", "not-read", "not-applicable"]
"""``unknown``: not determined. ``not-read``: adhere never reads it, or the user did not provide it.
``not-applicable``: such clusters or components do not have this step."""

Conclusion = Literal["ok", "stopped", "unknown"]


class Answer(Struct, frozen=True, kw_only=True):
    """The result of one step."""

    outcome: Outcome
    lines: tuple[str, ...]
    """Sentences for people, unescaped: a format escapes them."""


class Step(Struct, frozen=True, kw_only=True):
    """One step of the procedure."""

    name: str
    answer: Answer
    commands: tuple[str, ...] = ()
    """Shell commands that show it in the cluster."""
    proven: bool = True
    """True if a correct listener proves this step: TLS versions and suites prove nothing about keys."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All steps for one component."""

    component: str
    place: str = ""
    """Its hosted control plane: ``HostedCluster/clusters/prod``. Empty for the cluster's own."""
    operator: str = ""
    """The ClusterOperator that reports on it, if any."""
    listeners: int = 0
    required: str = ""
    """Name of the required profile, or why that is unknown."""
    bound: bool = True
    """False if the cluster's profile binds none of its listeners."""
    steps: tuple[Step, ...]
    """Steps in the order of propagation; the last is the served result."""

    @property
    def stopped_at(self) -> int | None:
        """The number, from 1, of the failed step."""
        return next((n for n, step in enumerate(self.steps, start=1) if step.answer.outcome == "stopped"), None)

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion. A correct listener proves the steps before it, even if they could not be read; a profile
        that binds no listener need not reach one."""
        if self.stopped_at is not None:
            return "stopped"
        outcomes = [step.answer.outcome for step in self.steps]
        if any(step.answer.outcome == "unknown" and not step.proven for step in self.steps):
            return "unknown"
        if outcomes[-1] == "ok" or not self.bound:
            return "ok"
        return "unknown" if "unknown" in outcomes or "ok" not in outcomes else "ok"
