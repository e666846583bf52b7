"""A ``tlsAdherence`` that nobody knows: strict to whoever reads it, and hardly what its author meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.model.adherence_use import UnknownAdherence
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def adherence_findings(values: Iterable[UnknownAdherence]) -> Iterator[Finding]:
    """A finding for each of them."""
    for each in values:
        yield from UNKNOWN_ADHERENCE.check(UNKNOWN_ADHERENCE, each)


def check_unknown_adherence(rule: ScanRule, value: UnknownAdherence) -> Iterator[Finding]:
    """`tlsAdherence` has a value that the API knows."""
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"{value.source} has a {value.field.rpartition('.')[2]} that no release knows: it counts as strict",
        expected=tuple(value.known),
        observed=(f"{value.source} {value.field}: {value.said}",),
        fix=f"set {value.source} {value.field} to {' or '.join(value.known)}",
        about=f"{value.source} {value.field}",
    )


UNKNOWN_ADHERENCE = ScanRule(
    id="adherence-unknown",
    check=check_unknown_adherence,
)
