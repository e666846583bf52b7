"""Rollouts and upgrades: how they change the result of a rule.

While a profile is rolled out, a listener may follow the previous profile or the new one. This applies to the rules on
profiles only: a rollout does not make a certificate expire. Failures of what an object declares are inconclusive while
its status shows that the controller has not processed its latest generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scanner.judge.client_certificate import CLIENT_CERTIFICATE, UNTRUSTED_CLIENT
from scanner.judge.declared_certificate import DECLARED_CERTIFICATE
from scanner.judge.http_redirect import HTTP_REDIRECT
from scanner.judge.tls_parameters import GROUP, SUITE, VERSION
from scanner.judge.unmatched_sni import UNMATCHED_SNI
from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.tls.codepoints import TLS10
from scanner.values import replace

PROFILE_RULES: tuple[Rule, ...] = (VERSION, SUITE, GROUP)
"""The rules on the profile: only their failures can be explained by a rollout."""

OBJECT_DECLARATIONS: tuple[Rule, ...] = (
    CLIENT_CERTIFICATE,
    UNTRUSTED_CLIENT,
    UNMATCHED_SNI,
    HTTP_REDIRECT,
    DECLARED_CERTIFICATE,
)
"""The rules on what an object declares for one listener. A pass stays a pass, whatever the object's status shows."""

Check = Callable[[Rule, Case], Iterable[Finding]]


def applies(case: Case) -> bool:
    """True if ``findings`` may differ from the findings of the rule itself."""
    expectation = case.expectation
    return expectation.binding == "settling" or bool(expectation.stale_status or expectation.skewed)


def findings(rule: Rule, case: Case, check: Check) -> Iterable[Finding]:
    """The findings of ``rule``, changed where a rollout or an upgrade explains a failure."""
    if case.expectation.stale_status and rule in OBJECT_DECLARATIONS:
        return [_too_early(case, each) if each.verdict == "fail" else each for each in check(rule, case)]
    if rule not in PROFILE_RULES:
        return check(rule, _binding(case))
    return [_explained(case, each) if each.verdict == "fail" else each for each in check(rule, case)]


def _too_early(case: Case, failure: Finding) -> Finding:
    why = f"{case.expectation.stale_status}, so it is unknown whether the proxy already applies the change"
    return replace(failure, verdict="inconclusive", status="not-tested", message=f"{failure.message}: {why}")


def _binding(case: Case) -> Case:
    if case.expectation.binding != "settling":
        return case
    return replace(case, expectation=replace(case.expectation, binding="must-follow"))


def _explained(case: Case, failure: Finding) -> Finding:
    """A failure under the required profile; another profile explains it if it allows everything that was seen."""
    expectation = case.expectation
    if other := _allows(case, expectation.skewed):
        why = f"{other.name} allows it: the same configuration has this meaning in the other release or document"
        return replace(failure, verdict="inconclusive", status="version-skew", evidence=(*failure.evidence, why))
    if expectation.binding != "settling":
        return failure
    if any(version < TLS10 for version in case.observation.versions.accepted):
        return replace(failure, status="violation")  # SSL, which no profile can allow
    if not expectation.alternatives:
        message = f"{failure.message}: the profile is being rolled out, and the previous profile is unknown"
        return replace(failure, verdict="inconclusive", status="converging", message=message)
    if other := _allows(case, expectation.alternatives):
        why = f"the profile is being rolled out, and the previous profile ({other.name}) allows it"
        return replace(failure, evidence=(*failure.evidence, why))
    why = "the profile is being rolled out, but neither the previous nor the new profile allows it"
    return replace(failure, status="violation", evidence=(*failure.evidence, why))


def _allows(case: Case, profiles: Iterable[Profile]) -> Profile | None:
    """The first profile under which no rule on profiles fails."""
    for profile in profiles:
        other = replace(case, expectation=replace(case.expectation, profile=profile, binding="must-follow"))
        if not any(each.verdict == "fail" for rule in PROFILE_RULES for each in rule.check(rule, other)):
            return profile
    return None
