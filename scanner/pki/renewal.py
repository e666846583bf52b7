"""Renewal of the platform's certificates: time of renewal, lifetime, and how to renew one manually."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from scanner.model.certificate_faults import expiry_severity, expiry_text
from scanner.model.finding import Finding, Severity
from scanner.model.rule import ScanRule
from scanner.model.well_known import Rotation, WellKnown, fits
from scanner.pki.subject import Subject, finding

DAY_ONE = timedelta(days=1)
"""Within which an operator's certificate takes the place of the installer's (the enhancement, "Initial Cluster
Installation")."""


class Renewal(Struct, frozen=True, kw_only=True):
    """Kind and latest time of a renewal."""

    rotates: Rotation
    """With several names, ``never`` only if it applies to all of them."""
    by: datetime | None
    """The latest time; None if unknown or never."""
    ends: bool = False
    """True if ``by`` is the expiry date, because nothing more is known."""


def renewal(names: Collection[WellKnown], made: datetime | None, end: datetime | None) -> Renewal:
    """The renewal of a certificate with one of ``names``, valid from ``made`` to ``end``. Operators renew at an age;
    the greatest age of several names counts. Certificates of the installer's first day expire before that."""
    kinds = {each.rotates for each in names}
    if kinds == {"never"}:
        return Renewal(rotates="never", by=None)
    if kinds == {"day-1"}:
        return Renewal(rotates="day-1", by=None if made is None else _later(made, DAY_ONE))
    ages = [each.refresh_days for each in names if each.refresh_days]
    if made is not None and ages:
        by = _later(made, timedelta(days=max(ages)))
        if by is not None and (end is None or by < end):
            return Renewal(rotates="operator", by=by)
    return Renewal(rotates="operator", by=end, ends=True)


def _later(moment: datetime, by: timedelta) -> datetime | None:
    """None after the year 9999, which a certificate may contain."""
    try:
        return moment + by
    except OverflowError:
        return None


_GRACE: Final = 0.1
"""Share of the time between renewal and expiry by which an operator may be late."""
_LAST_YEARS: Final = 0.2
"""Share of the lifetime at whose start a certificate without automatic renewal is due, if no age is known."""
_ANY: Final = (0.0, float("inf"))
_FAR: Final = 2
"""Factor by which a lifetime is unusually long or short."""
_JUDGED: Final = frozenset({"leaf", "client"})
"""Roles in which a certificate is in use. Bundles hold old signers beside new ones, and requests are done with."""


def check_renewal(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """Certificates are renewed before they expire."""
    end, role = subject.held.facts.not_after, subject.held.place.role
    if subject.successor is not None:
        return
    if role == "trusted" and end is not None and end > subject.now:
        yield from _forgotten(rule, subject, end)
    if role not in _JUDGED or _of_revision(subject):
        return
    if end is None:
        yield finding(rule, subject, "inconclusive", "not-tested", "its expiry cannot be read")
    elif subject.classified.names:
        yield from _of_platform(rule, subject, end)
    elif not subject.held.place.endpoint:
        yield from _nameless(rule, subject, end)


def _of_revision(subject: Subject) -> bool:
    """True for the copy of a previous static pod revision: ``etcd-client-7`` of ``etcd-client``. Copies do not change
    until the operator prunes them. Without a well-known name the original is unknown."""
    classified = subject.classified
    original, _, number = subject.secret.rpartition("-")
    known = classified.governed is None or any(original in each.recognition.secrets for each in classified.names)
    return number.isdecimal() and known


def _of_platform(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    names, facts, now = subject.classified.names, subject.held.facts, subject.now
    if end < now:
        if subject.held.place.endpoint:
            return
        text = f"it {expiry_text(end, now)}, and it was not renewed"
        yield finding(rule, subject, "fail", "violation", text, severity="high", fix=fix_of(subject))
        return
    found = renewal(names, facts.not_before, end)
    if found.rotates == "never":
        yield from _forgotten(rule, subject, end)
        return
    late = _late(subject, found, end)
    severity = expiry_severity(facts, now, subject.policy.thresholds, overdue=rule.severity if late else None)
    if severity and (late or not subject.held.place.endpoint):
        due = f"its renewal was due by {late.date().isoformat()}, and it " if late else "it "
        text = f"{due}{expiry_text(end, now)}"
        yield finding(rule, subject, "fail", "violation", text, severity=severity, fix=_ask(subject))


def _forgotten(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    """Findings on certificates that are due and not renewed automatically."""
    names, facts, now = subject.classified.names, subject.held.facts, subject.now
    overdue: Severity | None = "low" if _old(subject, names) else None
    severity = expiry_severity(facts, now, subject.policy.thresholds, overdue=overdue)
    if severity and names and all(each.rotates == "never" for each in names):
        text = f"no component renews it, and it {expiry_text(end, now)}"
        yield finding(rule, subject, "fail", "needs-forced-rotation", text, severity=severity, fix=fix_of(subject))


def _late(subject: Subject, found: Renewal, end: datetime) -> datetime | None:
    """The time at which its operator should have renewed it, if that is in the past."""
    if found.by is None or found.ends:
        return None
    return found.by if subject.now > found.by + max(end - found.by, timedelta(0)) * _GRACE else None


def _old(subject: Subject, names: tuple[WellKnown, ...]) -> bool:
    """True if a certificate without automatic renewal has reached the age at which it should be renewed."""
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
    return f"read the conditions of ClusterOperator/{operator}, which renews it"


def _nameless(rule: ScanRule, subject: Subject, end: datetime) -> Iterator[Finding]:
    """Findings on certificates without a well-known name."""
    facts, now = subject.held.facts, subject.now
    severity: Severity | None = "high" if end < now else expiry_severity(facts, now, subject.policy.thresholds)
    if severity is None:
        return
    if subject.classified.governed is None and not subject.held.place.file:
        severity = "low"  # nothing says whether it is in use
    text = f"it {expiry_text(end, now)}. {subject.outside}"
    fix = "have its issuer renew it"
    yield finding(rule, subject, "fail", "violation", text, severity=severity, fix=fix)


def check_life(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """The platform's certificates have their usual lifetime."""
    facts, names = subject.held.facts, subject.classified.names
    if not names or facts.not_before is None or facts.not_after is None:
        return
    days = (facts.not_after - facts.not_before) / timedelta(days=1)
    least, most = _usual(subject, names)
    if least / _FAR <= days <= most * _FAR:
        return
    usual = f"{least} days" if least == most else f"{least} to {most} days"
    text = f"the certificate's lifetime is {_round(days)} days; usual are {usual}"
    yield finding(rule, subject, "pass", "informational", text, expected=(usual,))


def _round(days: float) -> str:
    return f"{days:.0f}" if days >= 1 else f"{days:.2g}"


def _usual(subject: Subject, names: tuple[WellKnown, ...]) -> tuple[float, float]:
    """The usual lifetime of its names, else of their categories; the widest range of several."""
    spans = [(each.days, each.days) if each.days else subject.lifetimes.get(each.category, _ANY) for each in names]
    return min(span[0] for span in spans), max(span[1] for span in spans)


def fix_of(subject: Subject) -> str:
    """The Secret to delete so that the certificate is renewed, and what this disrupts."""
    names = subject.classified.names
    here = subject.secret
    names = tuple(name for name in names if fits(here, name.delete)) or names
    breaks = ", or ".join(dict.fromkeys(name.breaks for name in names if name.breaks))
    if secrets := tuple(dict.fromkeys(each for name in names for each in name.delete)):
        felt = f"; that breaks {breaks}" if breaks else ""
        if subject.held.facts.is_ca and not fits(here, secrets):
            # A bundle may be behind: the Secret may hold a newer signer, which is as it should be.
            reissue = f"delete it, and its operator issues a new one{felt}"
            return f"if {_which(here, secrets)} still has this certificate, {reissue}"
        return f"delete {_which(here, secrets)}, and its operator issues it again{felt}"
    if here and subject.held.place.role == "leaf" and names and all(each.rotates == "operator" for each in names):
        return f"delete Secret {here}, and its operator issues it again{f'; that breaks {breaks}' if breaks else ''}"
    if breaks:
        return f"deleting a Secret does not renew it; replacing it breaks {breaks}"
    return "find its issuer, and renew it there"


def _which(here: str, secrets: tuple[str, ...]) -> str:
    """The certificate's own Secret, if known: users should not delete those of all nodes at once."""
    if fits(here, secrets):
        return f"Secret {here}"
    named = " or ".join(secrets)
    return f"Secret {named}" if len(secrets) == 1 and "*" not in named else f"the Secret that holds it ({named})"


RENEWAL = ScanRule(id="pki-renewal", check=check_renewal)
LIFE = ScanRule(id="pki-lifetime", check=check_life)
