"""Lint: judge what objects declare about TLS, from the objects alone. Pure; one file a topic.

Each rule looks at the objects of its kinds, one by one, and at the objects that they refer to. Where one of these is
not known, the finding is inconclusive, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from scanner.files.source_positions import dotted
from scanner.kube.kinds import Kind
from scanner.kube.snapshot import union
from scanner.lint.contour import CONTOUR_RULES
from scanner.lint.fields import FIELD_RULES
from scanner.lint.gateway import GATEWAY_RULES
from scanner.lint.kubernetes import KUBERNETES_RULES
from scanner.lint.kubernetes.cert_manager import makes_its_own, stands_for_secret
from scanner.lint.openshift import OPENSHIFT_RULES
from scanner.model.declared import Declared, LintSubject, Place
from scanner.model.finding import Finding, Verdict
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import ANY, Flaw, ObjectRule, Subject, Unseen

RULES: tuple[ObjectRule, ...] = (*GATEWAY_RULES, *OPENSHIFT_RULES, *CONTOUR_RULES, *KUBERNETES_RULES, *FIELD_RULES)
"""Every rule, in the order in which ``adhere rules`` lists them."""

READS: tuple[Kind, ...] = tuple(
    kind for kind in union((*(rule.subjects for rule in RULES), *(rule.reads for rule in RULES))) if kind != ANY
)
"""Every kind that a rule looks at."""

MOST = 200
"""Findings of one rule on one object: its author chooses how many there are."""


class Placed(Struct, frozen=True, kw_only=True):
    """A finding and its place in the object."""

    finding: Finding
    place: Place | None
    field: str
    """``spec.listeners[0].tls``; empty for the object itself."""
    correction: str | None = None
    unseen: Unseen | None = None


class Linted(Struct, frozen=True, kw_only=True):
    """The findings of all rules on one object."""

    subject: LintSubject
    passed: tuple[str, ...]
    """Ids of the rules without a finding."""
    findings: tuple[Placed, ...]

    @property
    def verdict(self) -> Verdict:
        """Fail if any finding fails, else inconclusive if any is inconclusive; ``info`` does not count."""
        verdicts = {each.finding.verdict for each in self.findings if each.finding.severity != "info"}
        return "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"


def lint(declared: Declared, rules: Iterable[ObjectRule] = RULES) -> Iterator[Linted]:
    """Apply ``rules`` to every object of their kinds."""
    by_kind: dict[Kind, list[ObjectRule]] = {}
    for rule in rules:
        for kind in rule.subjects:
            by_kind.setdefault(kind, []).append(rule)
    for subject in declared.subjects:
        applying = by_kind.get(subject.object.kind) or (by_kind.get(ANY) if subject.object.kind not in READS else None)
        if applying:
            yield _linted(subject, declared, applying)


def _linted(subject: LintSubject, declared: Declared, rules: Iterable[ObjectRule]) -> Linted:
    about, passed, findings = Subject(subject.object, declared), [], []
    for rule in rules:
        found = [
            _placed(rule, subject, flaw) for flaw in islice(rule.check(about), MOST) if not _is_answered(subject, flaw)
        ]
        findings += found
        passed += [] if found else [rule.id]
    return Linted(subject=subject, passed=tuple(passed), findings=tuple(findings))


def _is_answered(subject: LintSubject, flaw: Flaw) -> bool:
    """True if the question is about a Secret that cert-manager will create as this reference needs it."""
    if flaw.unseen is None:
        return False
    if flaw.unseen.promised:
        return stands_for_secret(subject.object, flaw.at)
    # For an Ingress that is in the cluster already, cert-manager may have failed to create the Secret.
    return subject.located is not None and makes_its_own(subject.object, flaw.at)


def _placed(rule: ObjectRule, subject: LintSubject, flaw: Flaw) -> Placed:
    where = dotted(flaw.at)
    finding = Finding(
        rule=rule.id,
        severity=flaw.severity or rule.severity,
        verdict=flaw.verdict,
        status=flaw.status or ("violation" if flaw.verdict == "fail" else "not-tested"),
        message=flaw.message,
        expected=flaw.expected,
        observed=flaw.observed,
        fix=flaw.fix or _next_step(rule, flaw),
        evidence=flaw.evidence,
        about=str(subject.object.reference) + (f" {where}" if where else ""),
    )
    return Placed(
        finding=finding, place=subject.place(flaw.at), field=where, correction=flaw.correction, unseen=flaw.unseen
    )


def _next_step(rule: ObjectRule, flaw: Flaw) -> str | None:
    """Return the fix of an inconclusive flaw that has none of its own."""
    if flaw.verdict != "inconclusive" or (flaw.severity or rule.severity) == "info":
        return None
    if flaw.unseen is not None and flaw.unseen.gap == NOT_GIVEN:
        return f"add {flaw.unseen.name} to the files, or use --cluster or --snapshot"
    return f"run 'adhere rules show {rule.id}': it says what decides this" if rule in RULES else None
