"""Whether certificates of the platform are renewed in time, and how long they live. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.model.expiry import expiry_severity, expiry_text
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
    """Certificates are made again before they end, by whoever makes them.

    ## What it requires

    What an operator renews is not much older than the age at which it does that; an installer's certificate of the
    first day is gone after that day; what nothing renews by itself has years left; nothing that is in use has ended.

    ## Why

    An operator that has stopped renewing says so in a condition at best, and the certificate ends weeks later, with
    whatever needs it. What only people renew is forgotten for ten years and then stops the cluster.

    ## What fails

    * One that its operator should have renewed, once a tenth of the time to its end has passed since, and one of the
      installer's first day that is still in its place after it: medium at least.
    * One that nothing renews, past the age at which it should be (of the 10-year signers the eighth year), or in the
      last fifth of its life: as `needs-forced-rotation`, with what to delete and who feels it.
    * Any other that expires within the time that `cert-expiring` allows: within `expiresWithinDays` of the policy (30),
      or in the last fifth of a life of less than three times as long (of a kubelet's: the last tenth).
    * One that has ended: high.

    What has not ended is graded by the time left, as `cert-expiring` grades it: high within `expiresWithinDaysHigh` (3)
    of the policy, medium within `expiresWithinDaysMedium` (14), else low. In the platform's namespaces, where nothing
    says who makes a certificate and whether it is in use: low.

    Old signers in bundles (but for those that nothing renews), what requests were answered with, and the copies that
    former revisions of static pods had are not looked at: all are normal. What listeners serve is judged by
    `cert-expired` and `cert-expiring`, and here only if its operator is late.

    ## What is inconclusive

    A certificate in use whose end cannot be read.

    ## Example that fails

    ```yaml
    # Its operator renews it at 15 days.
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, made 28 days ago, ends in 2 days)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, made 10 days ago, ends in 20 days)
    ```

    ## How to fix

    Look at the conditions of the ClusterOperator that the finding names. What nothing renews is made again when its
    Secret is deleted; mind the warning.
    """
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
        due = f"it should have been made again by {late.date().isoformat()}, and " if late else "it "
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
    fix = "have it issued again by whoever issued it"
    yield finding(rule, subject, "fail", "violation", said, severity=severity, fix=fix)


def check_life(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """The platform's certificates live about as long as they usually do.

    ## What it requires

    Nothing. A certificate of the platform that is valid for more than twice as long, or less than half as long, as the
    ones of its name usually are (else of its category) is named.

    ## Why

    Nobody configures lifetimes: another one than usual means that another release, or somebody by hand, has made it.

    ## What fails

    Nothing: it is informational.

    ## What is inconclusive

    Nothing: without readable times nothing is said here.

    ## Example that fails

    Nothing fails. This one is named, because 30 days are usual:

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, made 1 days ago, ends in 729 days)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, made 1 days ago, ends in 29 days)
    ```

    ## How to fix

    Find out who made it. If it was the platform, there is nothing to do.
    """
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


_REFERENCE: Final = (
    "Enhancement 'Configurable PKI for OpenShift Internal Certificates', Certificate Category Classification",
)

RENEWAL = ScanRule(
    id="pki-renewal",
    title="Certificates are made again before they end",
    severity="medium",
    check=check_renewal,
    references=(*_REFERENCE, "openshift/library-go pkg/operator/certrotation", "openshift/origin tls/"),
)
LIFE = ScanRule(
    id="pki-lifetime",
    title="Internal certificates live as long as usual",
    severity="info",
    check=check_life,
    references=_REFERENCE,
)
