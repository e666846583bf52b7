"""A finding: one judgement, provable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "fail", "inconclusive", "not_applicable"]
Severity = Literal["info", "low", "medium", "high", "critical"]

SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "critical")
"""From the least to the most severe."""

Status = Literal[
    "ok",
    "violation",
    "informational",
    "waived",
    "readiness",
    "converging",
    "version-skew",
    "unreachable",
    "not-tls",
    "not-tested",
    "interrupted",
    "sampled",
    "pending-rotation",
    "needs-forced-rotation",
    "not-implemented",
]
"""Which kind of a verdict it is."""

NEVER_FAILS: frozenset[str] = frozenset(
    {"waived", "readiness", "informational", "converging", "pending-rotation", "not-implemented"}
)
"""Statuses that are kept and counted and never reach ``--fail-on``."""

Outcome = Literal["fail", "deviates", "inconclusive", "pass", "not_applicable"]

OUTCOMES: tuple[Outcome, ...] = ("fail", "deviates", "inconclusive", "pass", "not_applicable")
"""What matters most to a reader first."""
_OUTCOMES: dict[str, Outcome] = {each: each for each in OUTCOMES}


def outcome(verdict: str, status: str) -> Outcome:
    """The word that every format has for a verdict: ``deviates`` is a failure that does not count."""
    return "deviates" if verdict == "fail" and status in NEVER_FAILS else _OUTCOMES[verdict]


SecondOpinion = Literal["confirmed", "contradicted", "not-visible-to-sslyze"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule says of one endpoint."""

    rule: str
    severity: Severity
    verdict: Verdict
    status: Status
    message: str
    """One sentence, without what only repeats ``expected`` and ``observed``."""
    expected: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    """Every offending item by both names and code point: ``TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)``."""
    fix: str | None = None
    """The object and field to edit, or what else to change."""
    reproduce: str | None = None
    """One ``adhere ask`` command that shows it again."""
    evidence: tuple[str, ...] = ()
    second_opinion: SecondOpinion | None = None
    waiver: str | None = None
    """Who answers for it, why, until when, and which line says so; only where ``status`` is ``waived``."""
    about: str | None = None
    """What it is about where that is no single endpoint: the id that replicas share, an object, a line of a file."""
