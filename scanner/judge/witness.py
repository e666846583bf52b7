"""What the second witness's opinion makes of a judgement: in a scan, and when a saved one is judged again."""

from __future__ import annotations

from collections.abc import Iterable

from scanner.judge.reach import unfinished
from scanner.judge.second_opinion import confirm
from scanner.judge.vulnerabilities import deep_findings
from scanner.model.finding import Finding
from scanner.model.rule import Case


def heard(findings: Iterable[Finding], case: Case, *, confirmed: bool, deep: bool) -> tuple[Finding, ...]:
    """The findings, with what ``case.opinion`` says of violations (``confirmed``) and of flaws (``deep``)."""
    told = confirm(findings, case) if confirmed else tuple(findings)
    return unfinished((*told, *(deep_findings(case) if deep else ())), case)
