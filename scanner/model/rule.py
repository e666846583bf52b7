"""Rules: requirements, each with the page that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from scanner.data import data
from scanner.errors import InputError, ResourceError
from scanner.files.yaml_values import Builder
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import SEVERITIES, Finding, Severity, Status
from scanner.model.observation import Observation, Opinion
from scanner.model.scan_policy import Policy


class Case(Struct, frozen=True, kw_only=True):
    """The input of a rule. A value: judging does no I/O and reads no clock."""

    endpoint: Endpoint
    expectation: Expectation
    observation: Observation
    policy: Policy
    now: datetime
    opinion: Opinion | None = None
    """The result of sslyze, if it was used."""


class RulePage(Struct, frozen=True, kw_only=True):
    """The document ``docs/rules/<id>.md``: front matter in YAML, then the explanation in Markdown."""

    title: str
    severity: Severity
    """Severity of a violation, unless the finding sets another."""
    topic: str
    """Heading of the rule in ``docs/rules/README.md``."""
    references: tuple[str, ...]
    text: str
    """The explanation, without the front matter."""


_FENCE: Final = "---\n"


@cache
def rule_page(rule_id: str) -> RulePage:
    """Read the page of a rule. Raises ``ResourceError`` if it is missing or its front matter is invalid."""
    path = data("rules") / f"{rule_id}.md"
    try:
        _, front, text = path.read_text(encoding="utf-8").split(_FENCE, 2)
        fields = Builder(path.name, front, first=2).document()
    except (OSError, ValueError, InputError) as error:
        raise ResourceError(f"{path}: invalid page of a rule: {error}", hint="install adhere again") from error
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
        f"{path}: the front matter must have the id {rule_id}, title, severity, topic and references",
        hint="correct the page, or install adhere again",
    )


class AnyRule(Struct, frozen=True, kw_only=True):
    """The common part of all kinds of rules: id, check and page."""

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
        """Sources of the requirement: clauses and API paths."""
        return rule_page(self.id).references

    @property
    def page(self) -> str:
        """The explanation for people, in Markdown."""
        return rule_page(self.id).text


class Rule(AnyRule, frozen=True, kw_only=True):
    """One requirement on an endpoint."""

    check: Callable[[Rule, Case], Iterable[Finding]]
    reads: tuple[str, ...] = ()
    """Kinds of cluster objects that it reads."""


class ScanRule(AnyRule, frozen=True, kw_only=True):
    """A requirement on a complete scan, or across endpoints; its findings belong to no endpoint.

    ``check`` is called with the input of the rule.
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
        """A finding of this rule; one with severity info is only informational."""
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
"""Former ids, with the rule that judges the same today. ``docs/rules/README.md`` lists them."""


def current(rule_id: str) -> str:
    """The present id of a rule, also for a retired id."""
    return RETIRED.get(rule_id, rule_id)
