"""A rule: one thing that we require, and the page that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from inspect import getdoc
from typing import Literal

from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding, Severity, Status
from scanner.model.observation import Observation
from scanner.model.opinion import Opinion
from scanner.model.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that a rule may look at. A value: judging dials nothing and reads no clock."""

    endpoint: Endpoint
    expectation: Expectation
    observation: Observation
    policy: Policy
    now: datetime
    opinion: Opinion | None = None
    """What the second witness saw, where one was asked."""


class Explained:
    """What is explained by the docstring of its ``check``."""

    __slots__ = ()
    check: Callable[..., object]

    @property
    def page(self) -> str:
        """Its explanation for people, Markdown."""
        return getdoc(self.check) or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Explained):
    """One requirement; ``check``'s docstring is its public page."""

    id: str
    """Never changes: ``tls-version``."""
    title: str
    severity: Severity
    """Of a violation, unless the finding says otherwise."""
    check: Callable[[Rule, Case], Iterable[Finding]]
    references: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """Kinds of cluster objects that it looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRule(Explained):
    """A requirement on a scan as a whole, or across its endpoints; its findings belong to no endpoint.

    ``check`` is called with whatever this one looks at; its docstring is its public page.
    """

    id: str
    """Never changes: ``require-endpoints``."""
    title: str
    severity: Severity
    """Of a violation, unless the finding says otherwise."""
    check: Callable[..., Iterable[Finding]]
    references: tuple[str, ...] = ()

    def finding(
        self,
        about: str,
        message: str,
        fix: str | None = None,
        *,
        verdict: Literal["fail", "inconclusive"] = "fail",
        severity: Severity | None = None,
    ) -> Finding:
        """What it has to say ``about`` something; what is merely worth knowing (info) is never one that counts."""
        severity = severity or self.severity
        status: Status = "not-tested"
        if verdict == "fail":
            status = "informational" if severity == "info" else "violation"
        return Finding(
            rule=self.id, severity=severity, verdict=verdict, status=status, message=message, fix=fix, about=about
        )
