"""Reports of lint, as formats are given them."""

from __future__ import annotations

from datetime import UTC, datetime

from scanner.model.finding import Finding
from scanner.model.lint_report import (
    LintFindingRow,
    LintReport,
    LintScannerRow,
    ObjectRow,
    PlaceRow,
    SkippedRow,
    UnseenRow,
)
from scanner.model.report import OwnerRow, RuleRow, UnreadableRow
from scanner.report.rows import finding_row, timestamp

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ESC, BIDI = "\x1b[31m", "\u202e"
NASTY = f"{ESC}a<b>&\"'{BIDI}\x00\n::error file=x::y ##vso[task.x]\ud800"
"""What somebody writes who wants to be read as something else."""


def rule(name: str = "gateway-insecure-fallback", severity: str = "high") -> RuleRow:
    return RuleRow(id=name, title=f"About {name}", severity=severity, page=f"About {name}.", references=["GEP-91"])


def finding(
    name: str = "gateway-insecure-fallback",
    *,
    severity: str = "high",
    verdict: str = "fail",
    status: str = "violation",
    message: str = "clients without a valid certificate are let in",
    about: str = "Gateway/shop/edge spec.tls",
    place: tuple[str, int, int] | None = ("shop/gateway.yaml", 12, 15),
    field: str = "spec.tls",
    correction: str | None = "validation:\n  mode: AllowValidOnly",
    unseen: UnseenRow | None = None,
) -> LintFindingRow:
    made = Finding(
        rule=name,
        severity=severity,  # type: ignore[arg-type]
        verdict=verdict,  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        message=message,
        expected=("AllowValidOnly",),
        observed=("AllowInsecureFallback",),
        fix="Gateway/shop/edge: set the mode to AllowValidOnly",
        about=about,
    )
    where = PlaceRow(file=place[0], line=place[1], column=place[2]) if place else None
    return LintFindingRow(**finding_row(made), place=where, field=field, correction=correction, unseen=unseen)


def unreadable(line: int = 3) -> LintFindingRow:
    return finding(
        "manifest-unreadable",
        message="cannot be read: the key 'a' is there twice",
        about=f"shop/b.yaml:{line}:1",
        place=("shop/b.yaml", line, 1),
        field="",
        correction=None,
    )


def judged(
    *findings: LintFindingRow,
    verdict: str,
    kind: str = "Gateway",
    name: str = "edge",
    passed: tuple[str, ...] = ("field-type",),
    place: PlaceRow | None = None,
) -> ObjectRow:
    return ObjectRow(
        object=OwnerRow(kind=kind, namespace="shop", name=name),
        place=place or PlaceRow(file="shop/gateway.yaml", line=1, column=1),
        verdict=verdict,
        passed=list(passed),
        findings=list(findings),
    )


def undecided(
    name: str = "gateway-certificate",
    question: str = "whether the certificate is valid",
    *,
    missing: str = "Secret/shop/edge-tls",
    line: int = 9,
) -> LintFindingRow:
    return finding(
        name,
        verdict="inconclusive",
        status="not-tested",
        message=f"{missing} was not read (not among the manifests), so it is unknown {question}",
        place=("shop/gateway.yaml", line, 5),
        field="spec.listeners[0].tls",
        correction=None,
        unseen=UnseenRow(object=missing, reason="not among the manifests", question=question),
    )


def report(
    *objects: ObjectRow, findings: tuple[LintFindingRow, ...] = (), skipped: bool = False, forbidden: bool = False
) -> LintReport:
    gap = UnreadableRow(
        resource="gateways.gateway.networking.k8s.io", gap="forbidden", reason="forbidden", remedy="", accepted=False
    )
    chart = SkippedRow(path="chart/templates", reason="templates are no manifests", remedy="helm template chart")
    return LintReport(
        scanner=LintScannerRow(name="adhere", version="1.2.3", arguments=["lint", "shop"]),
        started=timestamp(NOW),
        sources=("shop",),
        files=2,
        others=1,
        rules=[rule(), rule("field-type", "medium"), rule("gateway-certificate"), rule("manifest-unreadable")],
        objects=list(objects),
        findings=list(findings),
        unreadable=[gap] if forbidden else [],
        skipped=[chart] if skipped else [],
    )


def every() -> LintReport:
    """One of everything."""
    info = finding("field-type", severity="info", message="for your information", place=("shop/gateway.yaml", 2, 1))
    return report(
        judged(finding(), undecided(), info, verdict="fail", passed=()),
        judged(undecided(), verdict="inconclusive", name="other"),
        judged(verdict="pass", kind="Route", name="web"),
        findings=(unreadable(),),
        skipped=True,
        forbidden=True,
    )


def hostile() -> LintReport:
    """Names and texts that want to be read as something else, everywhere."""
    bad = finding(message=NASTY, about=NASTY, place=(f"{NASTY}.yaml", 1, 1), field=NASTY, correction=NASTY)
    found = judged(bad, verdict="fail", kind="Gateway", name=NASTY)
    made = report(found, findings=(bad,), skipped=True, forbidden=True)
    made.skipped[0]["path"] = made.skipped[0]["reason"] = NASTY
    made.unreadable[0]["reason"] = NASTY
    return made
