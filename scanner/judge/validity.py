"""The time of the served certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from scanner.judge import served
from scanner.judge.served import Reading
from scanner.judge.verdicts import Words
from scanner.model.expiry import expiry_severity, expiry_text, renewal_window
from scanner.model.finding import SEVERITIES, Finding, Severity
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


def check_expired(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate is expired.

    ## What it requires

    The leaf and every intermediate that is sent end after the time of the scan. A root that is sent along is not
    looked at: clients use their own copy.

    ## Why

    Every client that verifies refuses the connection, and one that does not verify has no protection to lose.

    ## What fails

    `notAfter` before now, of the leaf or of an intermediate: high.

    ## What is inconclusive

    A chain that could not be seen, or a `notAfter` that cannot be read; the finding names the field.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # The leaf
    certificate: {starts: 91 day ago, ends: 1 days ago}
    ```

    ```yaml
    # The issuer that is sent with it
    intermediate: {ends: 1 day ago}
    ```

    ## Example that passes

    ```yaml
    certificate: {starts: 60 days ago, ends: in 30 days}
    intermediate: {ends: in 300 days}
    ```

    ## How to fix

    Renew the certificate and let the listener load it. A listener often goes on with the old file until it is reloaded.
    """
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
    """Every served certificate is already valid.

    ## What it requires

    `notBefore` of the leaf and of every intermediate that is sent is not after the time of the scan.

    ## Why

    Clients refuse a certificate whose time has not come. It is mostly a clock that is wrong: the issuer's, or the
    scanner's.

    ## What fails

    `notBefore` after now: high. No tolerance is given, as clients give none.

    ## What is inconclusive

    A chain that could not be seen, or a `notBefore` that cannot be read.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    certificate: {starts: in 1 day, ends: in 91 days}
    ```

    ## Example that passes

    ```yaml
    certificate: {starts: 1 day ago, ends: in 89 days}
    ```

    ## How to fix

    Compare the clocks of issuer, listener and scanner; then issue the certificate again, or wait.
    """
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
    """No served certificate expires within the policy's number of days.

    ## What it requires

    The leaf and every intermediate that is sent last longer than `expiresWithinDays` of the policy (30 by default).
    A certificate that is made for less than three times as long (90 days) is renewed later by design: for it a fifth
    of its whole time takes the place of these days, if that is less; for a kubelet's (`O=system:nodes`) a tenth,
    because kubelets renew when 10 to 30 % are left. `pki-renewal` judges certificates that no listener serves alike.

    ## Why

    A renewal that should have happened by now has not, and there is still time to look.

    ## What fails

    A certificate that expires within that time: low; within `expiresWithinDaysMedium` (14 by default): medium; within
    `expiresWithinDaysHigh` (3 by default): high, whatever time it was made for: what is left is the same. An expired
    certificate is reported by `cert-expired` alone.

    ## What is inconclusive

    A chain that could not be seen, or a `notAfter` that cannot be read.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # Made for a year
    certificate: {starts: 355 days ago, ends: in 10 days}
    ```

    ## Example that passes

    ```yaml
    certificate: {starts: 265 days ago, ends: in 100 days}
    ```

    ```yaml
    # Made for 30 days: a fifth of them is still left
    certificate: {starts: 20 days ago, ends: in 10 days}
    ```

    ## How to fix

    Renew the certificate, or find out why what should renew it does not.
    """
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


_TIME = ("RFC 5280, section 4.1.2.5",)

EXPIRED = Rule(
    id="cert-expired", title="Certificate is not expired", severity="high", check=check_expired, references=_TIME
)
NOT_YET_VALID = Rule(
    id="cert-not-yet-valid",
    title="Every served certificate is already valid",
    severity="high",
    check=check_not_yet_valid,
    references=_TIME,
)
EXPIRING = Rule(
    id="cert-expiring",
    title="Certificate does not expire soon",
    severity="low",
    check=check_expiring,
    references=_TIME,
)
