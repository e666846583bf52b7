"""Turn observed and unknown items into a verdict and a finding; used by every rule.

A forbidden item that was observed fails, whatever else is unknown. If any forbidden item is unknown, the result is
inconclusive. It passes only if every forbidden item is known to be absent. No rule decides "pass" itself: it fills a
``Tally`` and calls ``conclude``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from scanner.model.expectation import Binding
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.observation import Answers
from scanner.model.rule import Case, Rule
from scanner.values import replace

T = TypeVar("T")

LISTED = 50
"""Most items that a finding lists; a server controls the length, for example with its certificate's names."""


class Tally(Struct, Generic[T], frozen=True, kw_only=True):
    """Forbidden items, observed or unknown."""

    seen: tuple[T, ...] = ()
    """Forbidden items that were observed."""
    unknown: tuple[str, ...] = ()
    """Items that could not be determined, each with its reason."""

    @property
    def verdict(self) -> Literal["fail", "inconclusive", "pass"]:
        """Fail if anything was seen, else inconclusive if anything is unknown, else pass."""
        if self.seen:
            return "fail"
        return "inconclusive" if self.unknown else "pass"


class Split(Struct, frozen=True, kw_only=True):
    """The code points that must not be accepted: those that were, and those that may have been."""

    accepted: tuple[int, ...]
    unknown: tuple[int, ...]


def forbidden(answers: Answers, allowed: Iterable[int], known: Iterable[int]) -> Split:
    """Sort the code points outside ``allowed``: the ``known`` ones, and others that the listener accepted.

    A known code point that was neither accepted nor refused is unknown, whatever ``answers.unasked`` says.
    """
    permitted = frozenset(allowed)
    accepted = tuple(code for code in dict.fromkeys(answers.accepted) if code not in permitted)
    must = _outside(frozenset(known), permitted)
    unknown = () if must <= answers.refused else tuple(sorted(must.difference(answers.refused, answers.accepted)))
    return Split(accepted=accepted, unknown=unknown)


@lru_cache(maxsize=256)
def _outside(known: frozenset[int], permitted: frozenset[int]) -> frozenset[int]:
    """Cached, because they are the same few hundred for every listener of a scan."""
    return known - permitted


_FAILS_AS: Mapping[Binding, Status] = {
    "must-follow": "violation",
    "settling": "converging",
    "not-enforced": "readiness",
}


def status_of_failure(case: Case, otherwise: Status = "violation") -> Status:
    """A failure's status: ``otherwise`` if the expectation is enforced, else ``converging`` or ``readiness``."""
    status = _FAILS_AS[case.expectation.binding]
    return otherwise if status == "violation" else status


def promised(finding: Finding, otherwise: Status = "violation") -> Finding:
    """Enforce what an object declares about this listener, even if no profile is enforced for it."""
    return replace(finding, status=otherwise) if finding.status == "readiness" else finding


class Words(Struct, frozen=True, kw_only=True):
    """A finding's message for each verdict, without the items that ``expected`` and ``observed`` list."""

    passed: str
    failed: str
    unclear: str
    """Completed with the first unknown item."""


def conclude(  # noqa: PLR0913 - the fields of a finding
    rule: Rule,
    case: Case,
    tally: Tally[str],
    words: Words,
    *,
    severity: Severity | None = None,
    expected: Iterable[str] = (),
    fix: str | None = None,
    reproduce: str | None = None,
    evidence: Iterable[str] = (),
) -> Finding:
    """Build the finding for a tally. ``severity`` overrides the rule's, for a failure only."""
    verdict = tally.verdict
    if verdict == "inconclusive":
        return inconclusive(rule, f"{words.unclear}: {tally.unknown[0]}", tally.unknown, expected=expected)
    if verdict == "pass":
        return Finding(
            rule=rule.id,
            severity=rule.severity,
            verdict="pass",
            status="ok",
            message=words.passed,
            expected=tuple(expected),
            evidence=tuple(evidence),
        )
    return Finding(
        rule=rule.id,
        severity=severity or rule.severity,
        verdict="fail",
        status=status_of_failure(case),
        message=words.failed,
        expected=tuple(expected),
        observed=listed(tally.seen),
        fix=fix,
        reproduce=reproduce,
        evidence=listed((*evidence, *(f"not determined: {text}" for text in tally.unknown))),
    )


def inconclusive(rule: Rule, message: str, unknown: Iterable[str] = (), *, expected: Iterable[str] = ()) -> Finding:
    """Build an inconclusive finding that lists everything ``unknown``."""
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="inconclusive",
        status="not-tested",
        message=message,
        expected=tuple(expected),
        evidence=listed(unknown),
    )


def remark(rule: Rule, message: str, *, verdict: Verdict = "pass", observed: Iterable[str] = ()) -> Finding:
    """Build an informational finding, which is never a violation."""
    return Finding(
        rule=rule.id,
        severity="info",
        verdict=verdict,
        status="informational",
        message=message,
        observed=listed(observed),
    )


def listed(items: Iterable[str]) -> tuple[str, ...]:
    """The first ``LISTED`` items, and how many more there are."""
    every = tuple(items)
    if len(every) <= LISTED:
        return every
    return (*every[:LISTED], f"and {len(every) - LISTED} more")
