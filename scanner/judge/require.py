"""What the policy file requires of a scan as a whole (``require``): findings without an endpoint.

They guard against the scan that is green because it saw nothing: no permission, an empty namespace, a cluster whose
components need not follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding
from scanner.model.inventory import NamesRow
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import Require

_FIELD = "APIServer/cluster spec.tlsAdherence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a scan, as far as ``require`` asks for it."""

    endpoints: int
    """Endpoints of the report, without those to which nothing was applicable."""
    inconclusive: int
    """Those of them without a verdict of pass or fail."""
    strict: Known[bool]
    """Whether every component of the cluster has to follow its profile (``spec.tlsAdherence``)."""
    adherence: str = ""
    """The object and field that say so, and what they say: ``APIServer/cluster spec.tlsAdherence: not set, which means
    LegacyAdheringComponentsOnly``."""
    interrupted: str | None = None
    """Why not everything was seen."""
    names_seen: tuple[NamesRow, ...] = ()
    """What was seen of the certificate names that the PKI configuration of each cluster governs."""


def required(policy: Require, outcome: Outcome) -> tuple[Finding, ...]:
    """What ``policy`` requires, and whether it is so. Nothing is required by default, then there are no findings.

    One that is inconclusive means that the scan is incomplete: whoever computes the exit code has to count it.
    """
    return tuple(finding for rule in REQUIRE_RULES for finding in rule.check(rule, policy, outcome))


def check_endpoints(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """The scan found at least as many listeners as the policy requires."""
    least, count = policy.min_endpoints, outcome.endpoints
    if least is None:
        return
    doubt = outcome.interrupted if count < least else None
    few = f"endpoints found: {count}, fewer than the policy requires ({least})"
    yield _finding(
        rule,
        policy,
        fails=count < least,
        doubt=doubt,
        message=few if count < least else f"endpoints found: {count}",
        expected=f"endpoints: {least} or more",
        observed=f"endpoints: {count}",
        fix="look into the coverage of the report: what could not be read, and what was left out",
    )


def check_inconclusive(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """No more listeners are left undetermined than the policy allows."""
    most, count = policy.max_inconclusive, outcome.inconclusive
    if most is None:
        return
    many = f"endpoints that could not be judged: {count}, more than the policy allows ({most})"
    yield _finding(
        rule,
        policy,
        fails=count > most,
        doubt=outcome.interrupted if count <= most else None,
        message=many if count > most else f"endpoints that could not be judged: {count}",
        expected=f"inconclusive endpoints: {most} or fewer",
        observed=f"inconclusive endpoints: {count}",
        fix="read what each of them says: a NetworkPolicy, a listener that is down, a deadline",
    )


def check_adherence(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """The cluster makes all its components follow its TLS profile."""
    if not policy.strict_adherence:
        return
    strict = outcome.strict
    doubt = strict.reason if isinstance(strict, Unknown) else None
    message = "every component has to follow the cluster's profile"
    if doubt is not None:
        message = "it is unknown whether every component must follow the cluster's profile"
    elif not strict:
        message = "not every component has to follow the cluster's profile"
    yield _finding(
        rule,
        policy,
        fails=strict is False,
        doubt=doubt,
        message=message,
        expected=f"{_FIELD}: StrictAllComponents",
        observed=outcome.adherence or "not known",
        fix=f"set {_FIELD} to StrictAllComponents; adhere whatif lists what would fail then",
    )


def check_pki_coverage(rule: ScanRule, policy: Require, outcome: Outcome) -> Iterator[Finding]:
    """Every certificate that the PKI object governs was seen and judged."""
    if not policy.pki_coverage:
        return
    missing = [row for row in outcome.names_seen if not row["complete"]]
    asked = [name for row in outcome.names_seen for name in (*row["judged"], *row["unknown"], *row["never_seen"])]
    judged = sum(len(row["judged"]) for row in outcome.names_seen)
    said = "; ".join(f"{row['cluster']}: {row['why']}" if row["cluster"] else row["why"] for row in missing)
    yield _finding(
        rule,
        policy,
        fails=False,
        doubt=said or None,
        message="not every certificate name was judged" if missing else "every certificate name was judged",
        expected="every certificate name that PKI/cluster governs is judged",
        observed=f"certificate names judged: {judged} of {len(asked)}",
        fix="scan with --secrets, with the role that adhere rbac --with secrets prints",
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
    """Of three kinds: a requirement that is met, one that is not, and one of which nobody can tell."""
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
