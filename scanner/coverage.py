"""What a scan saw and what it did not, and whether that was everything: the coverage statement of the report."""

from __future__ import annotations

from scanner.jobs import Surroundings
from scanner.model.report import CountRow, Coverage, DiscoveryRow, PolicyRow, Summary, UnreadableRow
from scanner.model.scan_policy import ScanPolicy
from scanner.model.snapshot import Unreadable


def coverage(
    summary: Summary, around: Surroundings, policy: ScanPolicy, *, not_judged: int, interrupted: str | None
) -> Coverage:
    """The statement. It is complete only where all that is declared was judged and every kind could be read.

    What nobody asked for (Secrets without permission) is no gap, and neither is what the policy file accepts.
    """
    gaps = [each for each in around.unreadable if each.gap != "not-asked"]
    unseen = any(each.kind.resource not in policy.scope.accept_unreadable for each in gaps)
    return Coverage(
        endpoints=summary.endpoints,
        judged=summary.endpoints - not_judged,
        not_judged=not_judged,
        interrupted=interrupted,
        complete=not (not_judged or summary.unsettled or unseen or interrupted is not None),
        discovery=None if around.discovered is None else _discovery(summary, around, policy, around.discovered),
    )


def _discovery(summary: Summary, around: Surroundings, policy: ScanPolicy, discovered: int) -> DiscoveryRow:
    counts, left_out = summary.verdicts, dict(around.left_out)
    return DiscoveryRow(
        discovered=discovered,
        not_reached=max(discovered - sum(left_out.values()) - summary.endpoints, 0),
        probed=summary.endpoints,
        judged=counts["pass"] + counts["fail"],
        undetermined=counts["inconclusive"],
        not_applicable=counts["not_applicable"],
        left_out=[CountRow(reason=reason, count=count) for reason, count in left_out.items()],
        unreadable=[unreadable_row(each, policy) for each in around.unreadable],
        network_policies=[PolicyRow(policy=name, endpoints=count) for name, count in summary.policies.items()],
    )


def unreadable_row(gap: Unreadable, policy: ScanPolicy) -> UnreadableRow:
    """A kind that nobody could read, and what would allow it."""
    return UnreadableRow(
        resource=gap.kind.resource,
        gap=gap.gap,
        reason=gap.reason,
        remedy=_remedy(gap),
        accepted=gap.kind.resource in policy.scope.accept_unreadable,
    )


def _remedy(gap: Unreadable) -> str:
    if gap.kind.opt_in:
        return f"adhere rbac --with {gap.kind.opt_in} writes the role that allows it"
    if gap.gap == "failed":
        return "find out why the API server cannot answer: it may be an aggregated API that is down"
    return f"allow '{'get' if gap.kind.named else 'list'}' on {gap.kind.resource}: adhere rbac writes the ClusterRole"
