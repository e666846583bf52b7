"""A policy file that gives a metrics or webhook listener a profile of its own."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.observation import JUDGEABLE
from scanner.model.rule import Case, Rule

_LISTENERS = {"metrics": "a metrics listener", "webhook": "a webhook listener", "api": "an aggregated API"}


def check_override(rule: Rule, case: Case) -> Iterator[Finding]:
    """No policy file gives a metrics or webhook listener another profile than the cluster's."""
    role = case.expectation.overridden
    if role is None or case.observation.reach not in JUDGEABLE:  # what speaks no TLS has no profile to deviate from
        return
    decided = next((step for step in case.expectation.because if step.decides), None)
    where = decided.source if decided else "the policy file"
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"an override in the policy file gives {_LISTENERS[role]} a profile of its own",
        expected=("the profile of the cluster",),
        observed=(f"{where}: {decided.said}" if decided else where,),
        fix=f"leave {_LISTENERS[role]} out of the override at {where}",
    )


OVERRIDE = Rule(
    id="policy-override",
    check=check_override,
)
