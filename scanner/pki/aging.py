"""Whether certificates of the platform are renewed in time, and how long they live. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.model.certificate_faults import expiry_severity, expiry_text
from scanner.model.finding import Finding, Severity
from scanner.model.rule import ScanRule
from scanner.model.well_known import WellKnown
from scanner.pki.compliance import fix_of
from scanner.pki.rotation import Renewal, renewal
from scanner.pki.subject import Subject, finding

_GRACE: Final = 0.1
"""Of the time between renewal and end: so late an operator may be that has other work, or waits for a rollout."""
_LAST_YEARS: Final = 0.2
"""Of a life: how much may be left of what nothing renews, where nobody says at which age it should be."""
_ANY: Final = (0.0, float("inf"))
_FAR: Final = 2
"""How many times longer, or shorter, than it is typical."""
_JUDGED: Final = frozenset({"leaf", "client"})
"""Roles in which a certificate is in use. Bundles hold old signers beside new ones, and requests are done with."""


def check_renewal(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """Certificates are made again before they end, by whoever makes them."""
    end, role = subject.held.facts.not_after, subject.held.place.role
    if subject.successor is not None:
        return
    if role == "trusted" and end is not None and end > subject.now:
        yield from _forgotten(rule, subject, end)
    if role not in _JUDGED or _of_revision(subject):
        return
    if end is None:
        yield finding(rule, subject, "inconclusive", "not-tested", "when it ends cannot be read")
    elif subject.classified.names:
        yield from _of_platform(rule, subject, end)
    elif not subject.held.place.endpoint:
        yield from _nameless(rule, subject, end)


def _of_revision(subject: Subject) -> bool:
    """Whether it is the copy that a static pod's former revision had: ``etcd-client-7`` of ``etcd-client``. They stay
    as they were until the operator prunes them. Of what has no name in the platform's namespaces nothing tells the
    original."""
    reference, classified = subject.held.place.reference, subject.classified
    if reference is None or reference.kind != SECRET.name:
        return False
    head, _, number = reference.name.rpartition("-")
    original = f"{reference.namespace}/{head}"
    known = classified.governed is None or any(original in each.recognition.secrets for each in classified.names)
    return number.isdecimal() and known


def _of_platform(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    names, facts, now = subject.classified.names, subject.held.facts, subject.now
    if end < now:
        if subject.held.place.endpoint:
            return
        said = f"it {expiry_text(end, now)}, and nothing has made it again"
        yield finding(rule, subject, "fail", "violation", said, severity="high", fix=fix_of(subject))
        return
    found = renewal(names, facts.not_before, end)
    if found.rotates == "never":
        yield from _forgotten(rule, subject, end)
        return
    late = _late(subject, found, end)
    severity = expiry_severity(facts, now, subject.policy.thresholds, overdue=rule.severity if late else None)
    if severity and (late or not subject.held.place.endpoint):
        due = f"it should have been renewed by {late.date().isoformat()}, and " if late else "it "
        said = f"{due}{expiry_text(end, now)}"
        yield finding(rule, subject, "fail", "violation", said, severity=severity, fix=_ask(subject))


def _forgotten(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    """What nothing renews, when it is time."""
    names, facts, now = subject.classified.names, subject.held.facts, subject.now
    overdue: Severity | None = "low" if _old(subject, names) else None
    severity = expiry_severity(facts, now, subject.policy.thresholds, overdue=overdue)
    if severity and names and all(each.rotates == "never" for each in names):
        said = f"nothing renews it by itself, and it {expiry_text(end, now)}"
        yield finding(rule, subject, "fail", "needs-forced-rotation", said, severity=severity, fix=fix_of(subject))


def _late(subject: Subject, found: Renewal, end: datetime) -> datetime | None:
    """When its operator should have renewed it, where that has passed."""
    if found.by is None or found.ends:
        return None
    return found.by if subject.now > found.by + max(end - found.by, timedelta(0)) * _GRACE else None


def _old(subject: Subject, names: tuple[WellKnown, ...]) -> bool:
    """Whether what nothing renews is past the age at which somebody should."""
    facts = subject.held.facts
    if facts.not_before is None or facts.not_after is None:
        return False
    age = subject.now - facts.not_before
    ages = [each.refresh_days for each in names if each.refresh_days]
    if ages:
        return age > timedelta(days=max(ages))
    return age > (facts.not_after - facts.not_before) * (1 - _LAST_YEARS)


def _ask(subject: Subject) -> str:
    operator = next((each.owner.operator for each in subject.classified.names if each.owner.operator), "")
    if not operator:
        return fix_of(subject)
    return f"find out from the conditions of ClusterOperator/{operator} why it does not renew it"


def _nameless(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    """What is no certificate of the platform, as far as anybody can tell."""
    facts, now = subject.held.facts, subject.now
    severity: Severity | None = "high" if end < now else expiry_severity(facts, now, subject.policy.thresholds)
    if severity is None:
        return
    if subject.classified.governed is None and not subject.held.place.file:
        severity = "low"  # nothing says whether it is in use
    said = f"it {expiry_text(end, now)}. {subject.outside}"
    fix = "have its issuer renew it"
    yield finding(rule, subject, "fail", "violation", said, severity=severity, fix=fix)


def check_life(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """The platform's certificates live about as long as they usually do."""
    facts, names = subject.held.facts, subject.classified.names
    if not names or facts.not_before is None or facts.not_after is None:
        return
    days = (facts.not_after - facts.not_before) / timedelta(days=1)
    least, most = _usual(subject, names)
    if least / _FAR <= days <= most * _FAR:
        return
    usual = f"{least} days" if least == most else f"{least} to {most} days"
    said = f"it is valid for {_round(days)} days, where {usual} are usual"
    yield finding(rule, subject, "pass", "informational", said, expected=(usual,))


def _round(days: float) -> str:
    return f"{days:.0f}" if days >= 1 else f"{days:.2g}"


def _usual(subject: Subject, names: tuple[WellKnown, ...]) -> tuple[float, float]:
    """Of its names, else of their categories; of several whatever one of them allows: of some nothing is known."""
    spans = [(each.days, each.days) if each.days else subject.lifetimes.get(each.category, _ANY) for each in names]
    return min(span[0] for span in spans), max(span[1] for span in spans)


RENEWAL = ScanRule(
    id="pki-renewal",
    check=check_renewal,
)
LIFE = ScanRule(
    id="pki-lifetime",
    check=check_life,
)
