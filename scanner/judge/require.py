"""Requirements of the policy file on a scan (``require``): findings without an endpoint.

They prevent that a scan passes because it saw too little: missing permissions, an empty namespace, or a cluster whose
components do not enforce the profile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import Require

if TYPE_CHECKING:
    from scanner.model.inventory import NamesRow

_FIELD = "APIServer/cluster spec.tlsAdherence"


class Outcome(Struct, frozen=True, kw_only=True):
    """The results of a scan that ``require`` checks."""

    endpoints: int
    """Endpoints of the report, without those that are not applicable."""
    inconclusive: int
    """Endpoints without a verdict of pass or fail."""
    strict: Known[bool]
    """True if every component of the cluster must follow its profile (``spec.tlsAdherence``)."""
    adherence: str = ""
    """The object, field and value of it: ``APIServer/cluster spec.tlsAdherence: not set, which means
    LegacyAdheringComponentsOnly``."""
    interrupted: str | None = None
    """Reason why the scan is incomplete."""
    names_seen: tuple[NamesRow, ...] = ()
    """Coverage of the certificate names that the PKI configuration of each cluster governs."""


def required(policy: Require, outcome: Outcome) -> tuple[Finding, ...]:
    """One finding for each requirement of ``policy``; none by default.

    An inconclusive finding means that the scan is incomplete; the caller's exit code must include it.
    """
    return tuple(finding for rule in REQUIRE_RULES for finding in rule.check(rule, policy, outcome))


def check_endpoints(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """The scan found at least as many listeners as the policy requires."""
    least, count = policy.min_endpoints, outcome.endpoints
    if least is None:
        return
    doubt = outcome.interrupted if count < least else None
    few = f"endpoints found: {count}; the policy requires {least} or more"
    yield _finding(
        rule,
        policy,
        fails=count < least,
        doubt=doubt,
        message=few if count < least else f"endpoints found: {count}",
        expected=f"endpoints: {least} or more",
        observed=f"endpoints: {count}",
        fix="check the coverage section of the report: what could not be read, and what was excluded",
    )


def check_inconclusive(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """The number of inconclusive listeners is not above the policy's limit."""
    most, count = policy.max_inconclusive, outcome.inconclusive
    if most is None:
        return
    many = f"inconclusive endpoints: {count}; the policy allows at most {most}"
    yield _finding(
        rule,
        policy,
        fails=count > most,
        doubt=outcome.interrupted if count <= most else None,
        message=many if count > most else f"inconclusive endpoints: {count}",
        expected=f"inconclusive endpoints: {most} or fewer",
        observed=f"inconclusive endpoints: {count}",
        fix="correct the reason that each inconclusive endpoint shows: a NetworkPolicy, a stopped listener, a deadline",
    )


def check_adherence(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """The cluster makes all its components follow its TLS profile."""
    if not policy.strict_adherence:
        return
    strict = outcome.strict
    doubt = strict.reason if isinstance(strict, Unknown) else None
    message = "every component must follow the cluster's profile"
    if doubt is not None:
        message = "unknown whether every component must follow the cluster's profile"
    elif not strict:
        message = "not every component must follow the cluster's profile"
    yield _finding(
        rule,
        policy,
        fails=strict is False,
        doubt=doubt,
        message=message,
        expected=f"{_FIELD}: StrictAllComponents",
        observed=outcome.adherence or "unknown",
        fix=f"set {_FIELD} to StrictAllComponents; adhere whatif lists what would fail then",
    )


def check_pki_coverage(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """Every certificate that the PKI object governs was judged."""
    if not policy.pki_coverage:
        return
    missing = [row for row in outcome.names_seen if not row["complete"]]
    asked = [name for row in outcome.names_seen for name in (*row["judged"], *row["unknown"], *row["never_seen"])]
    judged = sum(len(row["judged"]) for row in outcome.names_seen)
    reasons = "; ".join(f"{row['cluster']}: {row['why']}" if row["cluster"] else row["why"] for row in missing)
    yield _finding(
        rule,
        policy,
        fails=False,
        doubt=reasons or None,
        message="not every certificate name was judged" if missing else "every certificate name was judged",
        expected="every certificate name that PKI/cluster governs is judged",
        observed=f"certificate names judged: {judged} of {len(asked)}",
        fix="scan with --secrets and with the role that 'adhere rbac --with secrets' prints",
    )


def _finding(
    rule: ScanRule,
    policy: Require,
    *,
    fails: bool,
    doubt: str | None,
    message: str,
    expected: str,
    observed: str,
    fix: str,
) -> Finding:
    """A finding: inconclusive with ``doubt``, else failed if ``fails``, else passed."""
    wrong = fails or doubt is not None
    return Finding(
        rule=rule.id,
        severity=policy.severity,
        verdict="inconclusive" if doubt is not None else "fail" if fails else "pass",
        status="not-tested" if doubt is not None else "violation" if fails else "ok",
        message=f"{message}: {doubt}" if doubt is not None else message,
        expected=(expected,),
        observed=(observed,),
        fix=fix if wrong else None,
        about="require",
    )


ENDPOINTS = ScanRule(id="require-endpoints", check=check_endpoints)
INCONCLUSIVE = ScanRule(id="require-determined", check=check_inconclusive)
ADHERENCE = ScanRule(id="require-adherence", check=check_adherence)
PKI_COVERAGE = ScanRule(id="require-pki-coverage", check=check_pki_coverage)

REQUIRE_RULES: tuple[ScanRule, ...] = (ENDPOINTS, INCONCLUSIVE, ADHERENCE, PKI_COVERAGE)
