"""Custom rules of the policy file: an expression over the row of an endpoint, or over an object of lint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from scanner.kube.kinds import SECRET, Kind
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import SEVERITIES, Finding, Status
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.observation import JUDGEABLE, Observation
from scanner.model.row import ObservedRow
from scanner.model.scan_policy import CustomRule, Result, ScanPolicy
from scanner.report.rows import endpoint_row


def of_endpoint(
    policy: ScanPolicy, endpoint: Endpoint, expectation: Expectation, observation: Observation
) -> Iterator[Finding]:
    """Yield the findings of the custom rules on an endpoint with TLS."""
    rules = policy.endpoint_rules
    if not rules or observation.reach not in JUDGEABLE:
        return
    row = endpoint_row(endpoint, expectation, observation, "inconclusive", "not-tested", ())
    values = {**row, "observed": _determined(row["observed"], row["reasons"])}
    for rule in rules:
        result = rule.holds(values)
        finding = Finding(rule=rule.id, severity=rule.severity, verdict="pass", status="ok", message=rule.title)
        yield finding if result is True else _finding(rule, result)


def _determined(observed: ObservedRow, reasons: Mapping[str, str]) -> dict[str, object]:
    """Return what is known. A list with a reason is not complete: an expression over all its items could be true.

    An unknown version keeps its name, so that an expression over all versions has no result.
    """
    known: dict[str, object] = {key: value for key, value in observed.items() if key not in reasons}
    if observed["versions"] is not None:
        known["versions"] = {
            name: {key: value for key, value in (row or {}).items() if _is_complete(f"versions.{name}", key, reasons)}
            for name, row in observed["versions"].items()
        }
    return known


def _is_complete(version: str, key: str, reasons: Mapping[str, str]) -> bool:
    return f"{version}.{'suites' if key == 'refused' else key}" not in reasons


def _finding(rule: CustomRule, result: Result) -> Finding:
    """Return the finding of a rule that does not hold, or whose result is unknown."""
    flaw = _flaw(rule, result)
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict=flaw.verdict,
        status=flaw.status or "not-tested",
        message=flaw.message,
        fix=flaw.fix,
        evidence=flaw.evidence,
    )


def _flaw(rule: CustomRule, result: Result) -> Flaw:
    source = (f"{rule.source}: {rule.expression}",)
    if isinstance(result, str):
        text = f"{rule.title}: unknown, because the expression has no result: {result}"
        return Flaw(message=text, verdict="inconclusive", severity=rule.severity, fix=rule.fix, evidence=source)
    status: Status = "informational" if rule.severity == SEVERITIES[0] else "violation"
    return Flaw(message=rule.message, status=status, severity=rule.severity, fix=rule.fix, evidence=source)


def object_rules(policy: ScanPolicy, known: Collection[Kind], partial_kinds: Collection[Kind]) -> list[ObjectRule]:
    """Return the custom rules of lint. ``partial_kinds``: kinds with fields that adhere has not read."""
    return [
        ObjectRule(
            id=rule.id,
            subjects=tuple(kind for kind in known if kind.name in rule.kinds),
            check=partial(_check, rule, {SECRET, *partial_kinds}),
        )
        for rule in policy.custom_rules
        if rule.kinds
    ]


def _check(rule: CustomRule, partial_kinds: Collection[Kind], subject: Subject) -> Iterator[Flaw]:
    """The expression of the rule is true."""
    kind = subject.object.kind
    result: Result = f"adhere reads a part of the fields of a {kind.name}"
    if kind not in partial_kinds:
        result = rule.holds({"object": subject.object.raw})
    if result is not True:
        yield _flaw(rule, result)
