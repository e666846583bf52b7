"""Transitions: a listener on its way from one profile to another, or from one release to the next.

What it owed before is as good as what it is to owe, until the rollout has settled. Nothing else about it is excused: no
change of a profile makes a certificate end. What an object promises is another matter where its controller has not
said yet that it took it: then nobody can tell whose fault it is that something else is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from scanner.judge.client_certificate import CLIENT_CERTIFICATE, UNTRUSTED_CLIENT
from scanner.judge.declared_certificate import STORED
from scanner.judge.groups import GROUP
from scanner.judge.http_redirect import FROM_PLAINTEXT
from scanner.judge.suites import SUITE
from scanner.judge.unmatched_sni import OTHER_NAMES
from scanner.judge.versions import VERSION
from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.tls.codepoints import TLS10

PROFILE_RULES: tuple[Rule, ...] = (VERSION, SUITE, GROUP)
"""The rules whose answer depends on the profile, hence all that a rollout of one can explain."""

PROMISES: tuple[Rule, ...] = (CLIENT_CERTIFICATE, UNTRUSTED_CLIENT, OTHER_NAMES, FROM_PLAINTEXT, STORED)
"""The rules on what the spec of an object says of one listener. A pass stands: what is seen is what is declared."""

Check = Callable[[Rule, Case], Iterable[Finding]]


def findings(rule: Rule, case: Case, check: Check) -> Iterable[Finding]:
    """What ``rule`` says, with what a rollout or an upgrade explains."""
    if rule in PROMISES and case.expectation.stale:
        return [_too_early(case, each) if each.verdict == "fail" else each for each in check(rule, case)]
    if rule not in PROFILE_RULES:
        return check(rule, _binding(case))
    return [_explained(case, each) if each.verdict == "fail" else each for each in check(rule, case)]


def _too_early(case: Case, failure: Finding) -> Finding:
    why = f"{case.expectation.stale}, so it is unknown whether its proxy has the change"
    return replace(failure, verdict="inconclusive", status="not-tested", message=f"{failure.message}: {why}")


def _binding(case: Case) -> Case:
    if case.expectation.binding != "settling":
        return case
    return replace(case, expectation=replace(case.expectation, binding="must-follow"))


def _explained(case: Case, failure: Finding) -> Finding:
    """A failure under the profile that stands; another profile explains it if it allows all that was seen."""
    owed = case.expectation
    if other := _allows(case, owed.skewed):
        why = f"{other.name} allows it: what its configuration means in the other release or text that is in play"
        return replace(failure, verdict="inconclusive", status="version-skew", evidence=(*failure.evidence, why))
    if owed.binding != "settling":
        return failure
    if any(version < TLS10 for version in case.observation.versions.accepted):
        return replace(failure, status="violation")  # SSL, which no profile can allow
    if not owed.alternatives:
        why = "a change is being rolled out, and the profile before is unknown"
        told = f"{failure.message}: {why}, so it is unknown whether it may still serve this"
        return replace(failure, verdict="inconclusive", status="converging", message=told)
    if other := _allows(case, owed.alternatives):
        return replace(failure, evidence=(*failure.evidence, f"{other.name} allows it, the profile before the change"))
    why = "neither the profile before the change allows it, nor the one after"
    return replace(failure, status="violation", evidence=(*failure.evidence, why))


def _allows(case: Case, profiles: Iterable[Profile]) -> Profile | None:
    """The first profile under which no rule on profiles fails."""
    for profile in profiles:
        other = replace(case, expectation=replace(case.expectation, profile=profile, binding="must-follow"))
        if not any(each.verdict == "fail" for rule in PROFILE_RULES for each in rule.check(rule, other)):
            return profile
    return None
