"""Expiry of a certificate: when it counts as late, and how severe that is. Every rule asks here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from scanner.model.certificate_faults import date, span
from scanner.model.finding import SEVERITIES, Severity
from scanner.model.policy import Policy
from scanner.tls.certificate import CertificateFacts

_SHORT: Final = 3
"""A certificate that is made for less than three times the policy's days has a window of its own."""
_LEFT: Final = 5
"""That window is a fifth of its life: library-go renews at 80 %, ACME clients and cert-manager at 67 %."""
_LEFT_OF_NODES: Final = 10
"""Kubelets renew at a random moment between 70 and 90 % (client-go, util/certificate)."""
_NODES: Final = "O=system:nodes"
"""Part of the subject that the kubelets' signers demand."""


def renewal_window(certificate: CertificateFacts, policy: Policy) -> timedelta:
    """Time before its end in which a certificate should have been renewed."""
    start, end, usual = certificate.not_before, certificate.not_after, timedelta(days=policy.expires_within_days)
    if start is None or end is None or end <= start or end - start >= _SHORT * usual:
        return usual
    nodes = _NODES in (certificate.subject or "").split(",")
    return min(usual, (end - start) / (_LEFT_OF_NODES if nodes else _LEFT))


def expiry_severity(
    certificate: CertificateFacts, now: datetime, policy: Policy, *, overdue: Severity | None = None
) -> Severity | None:
    """Severity of an expiry that is near, by the time left: short lives have no other numbers of days.

    ``overdue`` is the least where something else says that the renewal is late, however much time is left. None: not
    near, already past, or unknown.
    """
    end = certificate.not_after
    if end is None or end < now:
        return None
    left = end - now
    if left >= renewal_window(certificate, policy) and overdue is None:
        return None
    graded: Severity = "low"
    if left < timedelta(days=policy.expires_within_days_medium):
        graded = "medium"
    if left < timedelta(days=policy.expires_within_days_high):
        graded = "high"
    return max(graded, overdue or "low", key=SEVERITIES.index)


def expiry_text(end: datetime, now: datetime) -> str:
    """When a certificate expires or expired, with the time left or past."""
    return (
        f"expired {span(now - end)} ago ({date(end)})" if end < now else f"expires in {span(end - now)} ({date(end)})"
    )
