"""A policy file that gives a metrics or webhook listener a profile of its own."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.observation import JUDGEABLE
from scanner.model.rule import Case, Rule

_LISTENERS = {"metrics": "a metrics listener", "webhook": "a webhook listener", "api": "an aggregated API"}


def check_override(rule: Rule, case: Case) -> Iterator[Finding]:
    """No policy file gives a metrics or webhook listener another profile than the cluster's.

    ## What it requires

    Of the overrides in the policy file none selects a listener that serves metrics or an admission, conversion or
    aggregated API by TLS. Where none does, nothing is reported.

    ## Why

    A layered product may offer a profile of its own for what it serves to others, with a justification. Its metrics and
    webhooks are called by the platform alone, which speaks whatever the cluster's profile asks for, so that nothing
    there needs to deviate.

    ## What fails

    An override that decides about such a listener, justified or not: low.

    ## What is inconclusive

    Nothing: the policy file is at hand.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # The first override in the policy file that selects the listener
    override: {listener: metrics, profile: old, justification: old clients}
    ```

    ## Example that passes

    ```yaml
    # Nothing is reported
    override: {listener: api, profile: old, justification: old clients}
    ```

    ## How to fix

    Make the selector of the override narrower, so that it leaves out the metrics and webhook listeners. Where one of
    them cannot follow the cluster's profile, waive the finding that says so, with a date.
    """
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
    title="Metrics and webhook listeners follow the cluster's profile",
    severity="low",
    check=check_override,
    references=('enhancement "Cluster-wide TLS Security Profile Configuration", Layered Products',),
)
