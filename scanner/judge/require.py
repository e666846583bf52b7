"""What the policy file requires of a scan as a whole (``require``): findings without an endpoint.

They guard against the scan that is green because it saw nothing: no permission, an empty namespace, a cluster whose
components need not follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scanner.model.finding import Finding
from scanner.model.inventory import NamesRow
from scanner.model.known import Known, Unknown
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
    """The scan found at least as many listeners as the policy requires.

    ## What it requires

    With `require: {minEndpoints: N}` in the policy file, that the report has N endpoints or more to which something
    was applicable.

    ## Why

    A scan that finds nothing finds nothing wrong. A permission that was taken away, a wrong context or a selector
    with a mistake make a report empty, and green.

    ## What fails

    Fewer endpoints, with the severity that `require` gives (high unless it says otherwise).

    ## What is inconclusive

    Fewer endpoints, in a scan that ended early.

    ## Example that fails

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {minEndpoints: 2}
    ---
    listener: Deployment/shop/web:8443
    address: 10.128.0.7
    ```

    ## Example that passes

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {minEndpoints: 1}
    ---
    listener: Deployment/shop/web:8443
    address: 10.128.0.7
    ```

    ## How to fix

    Look into the report's coverage: which kinds could not be read, what was left out, and why. Lower the number only
    when the cluster has become smaller.
    """
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
    """No more listeners are left undetermined than the policy allows.

    ## What it requires

    With `require: {maxInconclusive: N}` in the policy file, that at most N endpoints have neither pass nor fail.

    ## Why

    What could not be told is never a pass, but a few unreachable listeners are part of every large cluster. When they
    become many, something is wrong with the scan, not with them.

    ## What fails

    More of them, with the severity that `require` gives (high unless it says otherwise). Up to that number the scan
    still ends with exit code 3 where what is undetermined should have been judged.

    ## What is inconclusive

    A scan that ended early, with no more than N so far.

    ## Example that fails

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {maxInconclusive: 0}
    ---
    listener: Deployment/shop/web:8443
    address: 10.128.0.7
    reach: filtered
    ```

    ## Example that passes

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {maxInconclusive: 0}
    ---
    listener: Deployment/shop/web:8443
    address: 10.128.0.7
    reach: tls
    ```

    ## How to fix

    Each of these endpoints says why: a NetworkPolicy, a listener that is down, a deadline. Leave out what nobody can
    reach by `scope: {exclude: ...}`.
    """
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
    """The cluster makes all its components follow its TLS profile.

    ## What it requires

    With `require: {adherence: Strict}` in the policy file, that `spec.tlsAdherence` of the APIServer object `cluster`
    is `StrictAllComponents`. A value that no release knows counts as strict, as it does for the components.

    ## Why

    Under legacy adherence many components may have a TLS configuration of their own. adhere then reports their
    deviations as readiness, which never fails a scan.

    ## What fails

    Legacy adherence under any of its spellings, no value, or no APIServer object; with the severity that `require`
    gives (high unless it says otherwise). Without its feature gate the field is dropped by the API server and stays
    empty.

    ## What is inconclusive

    The object could not be read.

    ## Example that fails

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {adherence: Strict}
    ---
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsAdherence: LegacyAdheringComponentsOnly
    ```

    ## Example that passes

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {adherence: Strict}
    ---
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsAdherence: StrictAllComponents
    ```

    ## How to fix

    Set `spec.tlsAdherence: StrictAllComponents` on the APIServer object `cluster`. `adhere whatif` lists what would
    fail then. Once set, the field can be changed and not removed.
    """
    if not policy.strict_adherence:
        return
    strict = outcome.strict
    doubt = strict.reason if isinstance(strict, Unknown) else None
    message = "every component has to follow the cluster's profile"
    if doubt is not None:
        message = "nobody can tell whether every component has to follow the cluster's profile"
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
    """Every certificate that the PKI object governs was seen and judged.

    ## What it requires

    With `require: {pkiCoverage: complete}` in the policy file, that each certificate name of which PKI/cluster requires
    something was seen and compared with it. Names that the cluster is known not to have are left out, and so are those
    that only nodes and administrators keep.

    ## Why

    A scan that may not read Secrets sees few of some 60 names. That those are as required says nothing of the others.

    ## What fails

    Nothing: what was not seen is inconclusive, and the scan ends with exit code 3.

    ## What is inconclusive

    A name that was never seen, or that was seen and could not be judged. Without the requirement the report says the
    same, and the exit code does not follow.

    ## Example that fails

    This one is inconclusive:

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {pkiCoverage: complete}
    ---
    apiVersion: config.openshift.io/v1alpha1
    kind: PKI
    metadata: {name: cluster}
    spec: {defaults: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}
    ```

    ## Example that passes

    ```yaml
    kind: ScanPolicy
    apiVersion: adhere/v1
    require: {pkiCoverage: complete}
    ---
    apiVersion: config.openshift.io/v1alpha1
    kind: PKI
    metadata: {name: cluster}
    spec: {certificateManagement: {mode: Unmanaged}}
    ```

    ## How to fix

    Scan with `--secrets`, with the role that `adhere rbac --with secrets` prints; the report names what was never seen.
    """
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
        expected="every certificate name of which PKI/cluster requires something is judged",
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


_REFERENCE = ("docs/policy.md, Requirements",)

ENDPOINTS = ScanRule(
    id="require-endpoints",
    title="The scan finds as many listeners as required",
    severity="high",
    check=check_endpoints,
    references=_REFERENCE,
)
INCONCLUSIVE = ScanRule(
    id="require-determined",
    title="No more listeners are undetermined than allowed",
    severity="high",
    check=check_inconclusive,
    references=_REFERENCE,
)
ADHERENCE = ScanRule(
    id="require-adherence",
    title="All components have to follow the cluster's profile",
    severity="high",
    check=check_adherence,
    references=(*_REFERENCE, "openshift/api config/v1/types_apiserver.go (tlsAdherence)"),
)
PKI_COVERAGE = ScanRule(
    id="require-pki-coverage",
    title="Every governed certificate name is judged",
    severity="high",
    check=check_pki_coverage,
    references=_REFERENCE,
)

REQUIRE_RULES: tuple[ScanRule, ...] = (ENDPOINTS, INCONCLUSIVE, ADHERENCE, PKI_COVERAGE)
