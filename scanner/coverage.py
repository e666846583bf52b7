"""What a scan saw and what it did not, and whether that was everything: the coverage statement of the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from scanner.jobs import Surroundings
from scanner.model.report import Coverage, DiscoveryRow, NotStarted, Summary
from scanner.model.scan_policy import ScanPolicy
from scanner.report.coverage import discovery_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """What a scan did not get to know."""

    not_judged: int = 0
    """Declared or hinted endpoints without a verdict of pass or fail."""
    undecided: int = 0
    """Requirements on the scan as a whole of which nobody can tell."""
    interrupted: str | None = None
    """Why it stopped early."""
    not_started: Mapping[str, int] = field(default_factory=dict)
    """Listeners that it had not begun with then, by namespace; the empty name for nodes and targets."""

    def __bool__(self) -> bool:
        return bool(self.not_judged or self.undecided or self.interrupted is not None or self.not_started)


def coverage(summary: Summary, around: Surroundings, policy: ScanPolicy, short: Shortfall) -> Coverage:
    """The statement. It is complete only where all that is declared was judged and every kind could be read.

    What nobody asked for (Secrets without permission) is no gap, and neither is what the policy file accepts.
    """
    accepted = policy.scope.accept_unreadable
    unseen = any(each.gap != "not-asked" and each.kind.resource not in accepted for each in around.unreadable)
    return Coverage(
        endpoints=summary.endpoints,
        judged=summary.endpoints - summary.verdicts["inconclusive"],
        not_judged=short.not_judged,
        interrupted=short.interrupted,
        in_progress=summary.statuses.get("interrupted", 0),
        not_started=_not_started(short.not_started),
        complete=not (short or summary.unsettled or unseen or around.truncated),
        discovery=None if around.discovered is None else _discovery(summary, around, around.discovered, accepted),
    )


def _not_started(shares: Mapping[str, int]) -> NotStarted:
    named = {name: count for name, count in sorted(shares.items()) if name.rpartition("/")[2]}
    total = sum(shares.values())
    return NotStarted(total=total, by_namespace=named, without_namespace=total - sum(named.values()))


def _discovery(summary: Summary, around: Surroundings, discovered: int, accepted: Collection[str]) -> DiscoveryRow:
    return discovery_row(
        summary,
        discovered=discovered,
        left_out=around.left_out,
        unreadable=around.unreadable,
        accepted=accepted,
    )
