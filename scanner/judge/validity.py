"""The time of the served certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from scanner.judge import served
from scanner.judge.served import Reading
from scanner.judge.verdicts import Words
from scanner.kube.maybe import Unknown
from scanner.model.expiry import expiry_severity, expiry_text, renewal_window
from scanner.model.finding import SEVERITIES, Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


def check_expired(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate is expired."""
    certificates = served.signed(case)
    past = _ending(certificates, lambda each: each.not_after is not None and each.not_after < case.now)
    reading = served.field("not_after", lambda end: expiry_text(end, case.now) if end < case.now else None)
    yield served.finding(
        rule,
        case,
        served.tally(certificates, reading),
        Words(
            passed="no served certificate is expired",
            failed=f"{past[0]} {expiry_text(past[1], case.now)}" if past else "",
            unclear="expiry date unknown",
        ),
        expected=f"valid beyond {served.date(case.now)}",
        fix="renew the certificate and reload the listener",
    )


def _ending(certificates: served.Served, counts: Callable[[CertificateFacts], bool]) -> tuple[str, datetime] | None:
    """Of the certificates that count, the one that ends first: what it is, and when it ends."""
    if isinstance(certificates, Unknown):
        return None
    ends = [
        (
            each.not_after,
            "certificate" if place == 0 else f"issuer certificate {served.short(each.subject or '')}".rstrip(),
        )
        for place, each in enumerate(certificates)
        if each.not_after is not None and counts(each)
    ]
    return next(((what, end) for end, what in sorted(ends)), None)


def check_not_yet_valid(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every served certificate is already valid."""
    reading = served.field("not_before", lambda start: f"starts {served.date(start)}" if start > case.now else None)
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), reading),
        Words(
            passed="every served certificate is already valid",
            failed="a served certificate is not valid yet",
            unclear="whether every served certificate is already valid could not be told",
        ),
        expected=f"a start before {served.date(case.now)}",
        fix="compare the clocks of issuer and listener, then issue the certificate again",
    )


def check_expiring(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate expires within the policy's number of days."""
    certificates = served.signed(case)
    days = case.policy.expires_within_days
    until = case.now + timedelta(days=days)
    soon = _ending(certificates, lambda each: expiry_severity(each, case.now, case.policy) is not None)
    later = _ending(certificates, lambda each: each.not_after is not None and case.now <= each.not_after < until)
    yield served.finding(
        rule,
        case,
        served.tally(certificates, partial(_expiring, case)),
        Words(
            passed=f"{later[0]} {expiry_text(later[1], case.now)}: made for a short time, and renewed late by design"
            if later
            else f"no served certificate expires within {days} days",
            failed=f"{soon[0]} {expiry_text(soon[1], case.now)}" if soon else "",
            unclear="expiry date unknown",
        ),
        expected=_enough(case, certificates),
        fix="renew the certificate and reload the listener",
        severity=_worst(case, certificates),
    )


def _enough(case: Case, certificates: served.Served) -> str:
    """Until when a certificate has to last: for one that is made for a short time that is sooner."""
    usual = timedelta(days=case.policy.expires_within_days)
    failing = () if isinstance(certificates, Unknown) else certificates
    windows = [renewal_window(each, case.policy) for each in failing if expiry_severity(each, case.now, case.policy)]
    return f"valid beyond {served.date(case.now + max(windows, default=usual))}"


def _expiring(case: Case, certificate: CertificateFacts) -> Reading:
    if certificate.not_after is None:
        return served.unreadable(certificate, "not_after")
    return expiry_text(certificate.not_after, case.now) if expiry_severity(certificate, case.now, case.policy) else None


def _worst(case: Case, certificates: served.Served) -> Severity | None:
    if isinstance(certificates, Unknown):
        return None
    found = [severity for each in certificates if (severity := expiry_severity(each, case.now, case.policy))]
    return max(found, key=SEVERITIES.index, default=None)


EXPIRED = Rule(
    id="cert-expired",
    check=check_expired,
)
NOT_YET_VALID = Rule(
    id="cert-not-yet-valid",
    check=check_not_yet_valid,
)
EXPIRING = Rule(
    id="cert-expiring",
    check=check_expiring,
)
