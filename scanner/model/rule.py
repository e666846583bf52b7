"""A rule: one thing that we require, and the page that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Literal

from scanner.data import data
from scanner.errors import InputError, ResourceError
from scanner.files.yaml_values import Builder
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import SEVERITIES, Finding, Severity, Status
from scanner.model.observation import Observation, Opinion
from scanner.model.scan_policy import Policy


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """The document ``docs/rules/<id>.md``: front matter in YAML, then the explanation in Markdown."""

    title: str
    severity: Severity
    """Of a violation, unless the finding says otherwise."""
    topic: str
    """Heading under which ``docs/rules/README.md`` lists the rule."""
    references: tuple[str, ...]
    text: str
    """The explanation, without the front matter."""


_FENCE: Final = "---\n"


@cache
def rule_page(rule_id: str) -> RulePage:
    """Read the page of a rule. Raises ``ResourceError`` for one that is missing or has other front matter."""
    path = data("rules") / f"{rule_id}.md"
    try:
        _, front, text = path.read_text(encoding="utf-8").split(_FENCE, 2)
        fields = Builder(path.name, front, first=2).document()
    except (OSError, ValueError, InputError) as error:
        raise ResourceError(f"{path}: no page of a rule: {error}", hint="install adhere again") from error
    match fields:
        case {
            "id": known,
            "title": str(title),
            "severity": str(severity),
            "topic": str(topic),
            "references": list(references),
        } if known == rule_id and severity in SEVERITIES:
            sources = tuple(map(str, references))
            return RulePage(title=title, severity=severity, topic=topic, references=sources, text=text.strip())
    raise ResourceError(
        f"{path}: no page of the rule {rule_id}: the front matter has its id, title, severity, topic and references",
        hint="correct the page, or install adhere again",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyRule:
    """What every kind of rule has: its id, its check, and its page."""

    id: str
    """Never changes: ``tls-version``."""
    check: Callable[..., Iterable[object]]

    @property
    def title(self) -> str:
        """The requirement, in a few words."""
        return rule_page(self.id).title

    @property
    def severity(self) -> Severity:
        """Severity of a violation, unless the finding says otherwise."""
        return rule_page(self.id).severity

    @property
    def references(self) -> tuple[str, ...]:
        """Clauses and API paths that the requirement comes from."""
        return rule_page(self.id).references

    @property
    def page(self) -> str:
        """The explanation for people, in Markdown."""
        return rule_page(self.id).text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(AnyRule):
    """One requirement on an endpoint."""

    check: Callable[[Rule, Case], Iterable[Finding]]
    reads: tuple[str, ...] = ()
    """Kinds of cluster objects that it looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRule(AnyRule):
    """A requirement on a scan as a whole, or across its endpoints; its findings belong to no endpoint.

    ``check`` is called with whatever this one looks at.
    """

    check: Callable[..., Iterable[Finding]]

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


RETIRED: Final[Mapping[str, str]] = {
    "contour-delegation-impossible": "contour-delegation-target",
    "contour-delegation-star": "contour-delegation-target",
    "contour-delegation-unused": "contour-delegation-target",
    "gateway-certificate-overlap": "gateway-overlapping-tls-config",
    "gateway-hostname-overlap": "gateway-overlapping-tls-config",
}
"""By the former id, the rule that judges the same today. ``docs/rules/README.md`` lists them."""


def current(rule_id: str) -> str:
    """The id by which a rule is known today; ``rule_id`` itself where it is none that was retired."""
    return RETIRED.get(rule_id, rule_id)
