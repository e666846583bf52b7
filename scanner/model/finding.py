"""A finding: one judgement, with its evidence."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

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
    "known",
]
"""Reason or kind of a verdict."""

KNOWN: Status = "known"
"""Status of a failure that the baseline has."""

NEVER_FAILS: frozenset[str] = frozenset(
    {"waived", "readiness", "informational", "converging", "pending-rotation", "not-implemented", KNOWN}
)
"""Statuses that are kept and counted and never affect ``--fail-on``."""

Outcome = Literal["fail", "deviates", "inconclusive", "pass", "not_applicable"]

OUTCOMES: tuple[Outcome, ...] = ("fail", "deviates", "inconclusive", "pass", "not_applicable")
"""The most important first."""
_OUTCOMES: dict[str, Outcome] = {each: each for each in OUTCOMES}


def outcome(verdict: str, status: str) -> Outcome:
    """The outcome of a verdict, the same in every format: ``deviates`` is a failure that does not count."""
    return "deviates" if verdict == "fail" and status in NEVER_FAILS else _OUTCOMES[verdict]


SecondOpinion = Literal["confirmed", "contradicted", "not-visible-to-sslyze"]


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one rule for one endpoint."""

    rule: str
    severity: Severity
    verdict: Verdict
    status: Status
    message: str
    """One sentence that does not repeat ``expected`` and ``observed``."""
    expected: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    """All wrong items by both names and code point: ``TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)``."""
    fix: str | None = None
    """The object and field to edit, or another change."""
    reproduce: str | None = None
    """An ``adhere ask`` command that reproduces it."""
    evidence: tuple[str, ...] = ()
    second_opinion: SecondOpinion | None = None
    waiver: str | None = None
    """Owner, reason, end and place of the waiver; only if ``status`` is ``waived``."""
    about: str | None = None
    """Its subject, if that is not one endpoint: the id that replicas share, an object, a line of a file."""
