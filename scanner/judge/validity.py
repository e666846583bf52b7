"""The time of the served certificates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from scanner.judge import served
from scanner.judge.served import Reading
from scanner.judge.verdicts import Words
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


def check_expired(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate has ended.

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
    reading = served.field("not_after", lambda end: f"ended {served.date(end)}" if end < case.now else None)
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), reading),
        Words(
            passed="no served certificate has ended",
            failed="a served certificate has ended",
            unclear="whether a served certificate has ended could not be told",
        ),
        expected=f"an end after {served.date(case.now)}",
        fix="renew the certificate and reload the listener",
    )


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
    """No served certificate ends within the policy's number of days.

    ## What it requires

    The leaf and every intermediate that is sent last longer than `expires_within_days` of the policy (30 by default).
    A certificate that is made for less than three times as long (90 days) is renewed later by design: for it a fifth
    of its whole time takes the place of these days, if that is less.

    ## Why

    A renewal that should have happened by now has not, and there is still time to look.

    ## What fails

    A certificate that ends within that time: low. One that has ended already is reported by `cert-expired` alone.

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
    horizon = case.now + timedelta(days=case.policy.expires_within_days)
    reading = partial(_expiring, case)
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), reading),
        Words(
            passed=f"no served certificate ends within {case.policy.expires_within_days} days",
            failed=f"a served certificate ends within {case.policy.expires_within_days} days",
            unclear="when the served certificates end could not be told",
        ),
        expected=f"an end after {served.date(horizon)}",
        fix="renew the certificate and reload the listener",
    )


def _expiring(case: Case, certificate: CertificateFacts) -> Reading:
    """OpenShift's operators make serving certificates for 30 days and renew them half-way; 90 days are Let's Encrypt's,
    renewed 30 days before their end."""
    start, end = certificate.not_before, certificate.not_after
    if end is None:
        return served.unreadable(certificate, "not_after")
    window = timedelta(days=case.policy.expires_within_days)
    if start is not None and end - start < 3 * window:
        window = min(window, (end - start) / 5)
    return f"ends {served.date(end)}" if case.now <= end < case.now + window else None


_TIME = ("RFC 5280, section 4.1.2.5",)

EXPIRED = Rule(
    id="cert-expired", title="No served certificate has ended", severity="high", check=check_expired, references=_TIME
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
    title="No served certificate ends soon",
    severity="low",
    check=check_expiring,
    references=_TIME,
)
