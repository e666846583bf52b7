"""What a scan saw and what it did not, and whether that was everything: the coverage statement of the report."""

from __future__ import annotations

from collections.abc import Collection

from scanner.jobs import Surroundings
from scanner.model.report import Coverage, DiscoveryRow, Summary
from scanner.model.scan_policy import ScanPolicy
from scanner.report.coverage import discovery_row


def coverage(
    summary: Summary, around: Surroundings, policy: ScanPolicy, *, not_judged: int, interrupted: str | None
) -> Coverage:
    """The statement. It is complete only where all that is declared was judged and every kind could be read.

    What nobody asked for (Secrets without permission) is no gap, and neither is what the policy file accepts.
    """
    accepted = policy.scope.accept_unreadable
    unseen = any(each.gap != "not-asked" and each.kind.resource not in accepted for each in around.unreadable)
    return Coverage(
        endpoints=summary.endpoints,
        judged=summary.endpoints - not_judged,
        not_judged=not_judged,
        interrupted=interrupted,
        complete=not (not_judged or summary.unsettled or unseen or interrupted is not None),
        discovery=None if around.discovered is None else _discovery(summary, around, around.discovered, accepted),
    )


def _discovery(summary: Summary, around: Surroundings, discovered: int, accepted: Collection[str]) -> DiscoveryRow:
    return discovery_row(
        summary,
        discovered=discovered,
        left_out=around.left_out,
        unreadable=around.unreadable,
        accepted=accepted,
    )
