"""Rules on each served certificate: validity period, names, key, signature, CA flag."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from scanner.judge import served
from scanner.judge.served import Reading
from scanner.judge.verdicts import LISTED, Tally, Words, listed, promised, remark
from scanner.kube.hostnames import is_address
from scanner.kube.maybe import Unknown
from scanner.model.certificate_faults import (
    MIN_CURVE_BITS,
    covers,
    expiry_severity,
    expiry_text,
    renewal_window,
    weak_key,
    weak_signature,
)
from scanner.model.finding import SEVERITIES, Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace


def check_name(rule: Rule, case: Case) -> Iterator[Finding]:
    """The leaf is valid for every name that clients use for the listener."""
    expected = case.expectation.certificate.names
    if not expected:
        yield from _of_address(rule, case)
        return
    leaf = served.leaf(case)
    if isinstance(leaf, Unknown):
        tally: Tally[str] = Tally(unknown=(leaf.reason,))
    else:
        tally = _names(leaf, expected)
    finding = served.finding(
        rule,
        case,
        tally,
        Words(
            passed="the certificate is valid for every expected name",
            failed=f"the certificate is not valid for {', '.join(map(served.short, tally.seen[:LISTED]))}",
            unclear="whether the certificate is valid for the expected names could not be determined",
        ),
        expected="",
        fix="issue the certificate for the expected names",
    )
    finding = replace(finding, expected=listed(map(served.short, expected)))
    finding = promised(finding) if case.endpoint.subject else finding
    yield finding if isinstance(leaf, Unknown) else replace(finding, observed=_present(leaf))


def _of_address(rule: Rule, case: Case) -> Iterator[Finding]:
    """Remark on a target that is an IP address: few certificates contain one, so a missing address is no failure."""
    host, leaf = case.endpoint.host, served.leaf(case)
    if not is_address(host) or isinstance(leaf, Unknown):
        return
    if covers(leaf, host) is True:
        yield remark(rule, f"the certificate is valid for the address {host}", observed=_present(leaf))
        return
    message = "names are not checked: the target is an IP address; add a name to check them (address:port#name)"
    yield remark(rule, message, verdict="not_applicable", observed=_present(leaf))


def check_key_size(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every served certificate has a key that is strong enough."""
    yield served.finding(
        rule,
        case,
        served.tally(served.everything(case), lambda certificate: weak_key(certificate, case.policy.min_rsa_bits)),
        Words(
            passed="every served certificate has a strong key",
            failed="a served certificate has a weak key",
            unclear="the key strength of a served certificate could not be determined",
        ),
        expected=f"RSA of {case.policy.min_rsa_bits} bits or more, or a curve of {MIN_CURVE_BITS} bits or more",
        fix="issue a new certificate with a stronger key",
    )


def check_signature(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate is signed with MD5 or SHA-1."""
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), weak_signature),
        Words(
            passed="no served certificate is signed with MD5 or SHA-1",
            failed="a served certificate is signed with a broken hash",
            unclear="the signature hash of a served certificate could not be determined",
        ),
        expected="SHA-256 or better",
        fix="issue a new certificate that is signed with SHA-256 or better",
    )


def check_ca_as_leaf(rule: Rule, case: Case) -> Iterator[Finding]:
    """The leaf is not the certificate of a certificate authority."""
    leaf, reading = served.leaf(case), served.field("is_ca", lambda is_ca: "CA:TRUE" if is_ca else None)
    yield served.finding(
        rule,
        case,
        served.tally(leaf if isinstance(leaf, Unknown) else (leaf,), reading),
        Words(
            passed="the leaf is not a CA certificate",
            failed="the leaf is a CA certificate",
            unclear="whether the leaf is a CA certificate could not be determined",
        ),
        expected="a leaf with CA:FALSE",
        fix="issue a separate certificate with CA:FALSE for the listener",
    )


def _names(leaf: CertificateFacts, expected: tuple[str, ...]) -> Tally[str]:
    states = {name: covers(leaf, name) for name in expected}
    return Tally(
        seen=tuple(name for name, state in states.items() if state is False),
        unknown=tuple(f"{served.short(n)}: {s.reason}" for n, s in states.items() if isinstance(s, Unknown)),
    )


def _present(leaf: CertificateFacts) -> tuple[str, ...]:
    """The names that the leaf has, as far as they can be read."""
    sans = leaf.sans
    if sans is None:
        return ()
    return listed(map(served.short, sans)) or ("no subject alternative name",)


NAME = Rule(id="cert-name", check=check_name)
KEY_SIZE = Rule(id="cert-key-size", check=check_key_size)
SIGNATURE = Rule(id="cert-signature", check=check_signature)
CA_AS_LEAF = Rule(id="cert-ca-as-leaf", check=check_ca_as_leaf)


def check_expired(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate is expired."""
    certificates = served.signed(case)
    past = _ending(certificates, lambda _, end: end < case.now)
    reading = served.field("not_after", lambda end: expiry_text(end, case.now) if end < case.now else None)
    yield served.finding(
        rule,
        case,
        served.tally(certificates, reading),
        Words(
            passed="no served certificate is expired",
            failed=f"{past[0]} {expiry_text(past[1], case.now)}" if past else "",
            unclear="the expiry date could not be determined",
        ),
        expected=f"valid beyond {served.date(case.now)}",
        fix=_renewal(case, certificates),
    )


def _renewal(case: Case, certificates: served.Served) -> str:
    """The fix, with the object that has the certificate, if it is known."""
    declared, where = case.expectation.certificate.declared, ""
    if declared is not None and not isinstance(certificates, Unknown):
        same = next((each for each in declared.leaves if each.sha256 == certificates[0].sha256), None)
        where = f" in {same.kept_by or same.place}" if same else ""
    mounted = {str(each.through) for each in case.endpoint.origins if each.role == "mount" and each.through}
    if not where and len(mounted) == 1:
        where = f" ({mounted.pop()} is mounted there)"
    return f"renew the certificate{where} and reload the listener"


def _ending(
    certificates: served.Served, counts: Callable[[CertificateFacts, datetime], bool]
) -> tuple[str, datetime] | None:
    """The first to expire of the certificates for which ``counts`` is true: its description and its expiry date.
    ``counts``: of a certificate and its expiry date."""
    if isinstance(certificates, Unknown):
        return None
    ends = [
        (
            each.not_after,
            "certificate" if place == 0 else f"issuer certificate {served.short(each.subject or '')}".rstrip(),
        )
        for place, each in enumerate(certificates)
        if each.not_after is not None and counts(each, each.not_after)
    ]
    return next(((what, end) for end, what in sorted(ends)), None)


def check_not_yet_valid(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every served certificate is already valid."""
    reading = served.field("not_before", lambda start: f"valid from {served.date(start)}" if start > case.now else None)
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), reading),
        Words(
            passed="every served certificate is already valid",
            failed="a served certificate is not valid yet",
            unclear="whether every served certificate is already valid could not be determined",
        ),
        expected=f"valid from {served.date(case.now)} or earlier",
        fix="compare the clocks of the issuer and the listener, then issue a new certificate",
    )


def check_expiring(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate expires within the policy's number of days."""
    certificates = served.signed(case)
    days = case.policy.expires_within_days
    until = case.now + timedelta(days=days)
    soon = _ending(certificates, lambda each, _: expiry_severity(each, case.now, case.policy) is not None)
    later = _ending(certificates, lambda _, end: case.now <= end < until)
    yield served.finding(
        rule,
        case,
        served.tally(certificates, partial(_expiring, case)),
        Words(
            passed=f"{later[0]} {expiry_text(later[1], case.now)}: not due for renewal, because its lifetime is short"
            if later
            else f"no served certificate expires within {days} days",
            failed=f"{soon[0]} {expiry_text(soon[1], case.now)}" if soon else "",
            unclear="the expiry date could not be determined",
        ),
        expected=_enough(case, certificates),
        fix=_renewal(case, certificates),
        severity=_worst(case, certificates),
    )


def _enough(case: Case, certificates: served.Served) -> str:
    """The date beyond which a certificate must be valid; sooner for certificates with a short lifetime."""
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


EXPIRED = Rule(id="cert-expired", check=check_expired)
NOT_YET_VALID = Rule(id="cert-not-yet-valid", check=check_not_yet_valid)
EXPIRING = Rule(id="cert-expiring", check=check_expiring)
