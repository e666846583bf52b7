"""The three-valued logic of every rule, once, and the findings that it leads to.

Something forbidden that was seen fails, whatever else is not known. Something forbidden that may or may not be there
is inconclusive. Only where every forbidden thing is known to be absent is there a pass. No rule says "pass" by itself:
each fills a ``Tally`` and hands it to ``conclude``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from scanner.model.expectation import Binding
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.observation import Answers
from scanner.model.rule import Case, Rule

T = TypeVar("T")

LISTED = 50
"""How many items a finding lists; a server decides how long a list gets, for example by its certificate's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally(Generic[T]):
    """What was found out about things that must not be."""

    seen: tuple[T, ...] = ()
    """Forbidden, and there."""
    unknown: tuple[str, ...] = ()
    """What could not be determined, one clause each with its reason."""

    @property
    def verdict(self) -> Literal["fail", "inconclusive", "pass"]:
        """Fail by what was seen, else inconclusive by what is not known, else pass."""
        if self.seen:
            return "fail"
        return "inconclusive" if self.unknown else "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The code points that must not be accepted, by what is known of each."""

    accepted: tuple[int, ...]
    unknown: tuple[int, ...]


def forbidden(answers: Answers, allowed: Iterable[int], known: Iterable[int]) -> Split:
    """Sort everything outside ``allowed``: the ``known`` code points, and whatever else the listener accepted.

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
    """A failure's status: ``otherwise`` where the expectation binds, else why it does not count (yet)."""
    status = _FAILS_AS[case.expectation.binding]
    return otherwise if status == "violation" else status


def promised(finding: Finding, otherwise: Status = "violation") -> Finding:
    """What an object declares about this listener binds the object's author, also where no profile binds."""
    return replace(finding, status=otherwise) if finding.status == "readiness" else finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a finding says in each of the three cases, without what ``expected`` and ``observed`` list anyway."""

    passed: str
    failed: str
    unclear: str
    """Followed by the first thing that could not be determined."""


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
    """The finding that a tally earns. ``severity`` overrides the rule's, for a failure only."""
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
    """Nobody could tell: said with everything that is missing."""
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
    """Something worth knowing that is nobody's violation."""
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
