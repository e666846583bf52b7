"""Admission policies on the PKI object: one that nothing binds refuses nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import (
    PKI,
    PKI_CERTIFICATE_DEFINITION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import AdmissionPolicy, AdmissionPolicyBinding
from scanner.kube.snapshot import Snapshot
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.configuration import Configuration

READS: tuple[Kind, ...] = (VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)
_WRITING: Final = frozenset({"CREATE", "UPDATE", "*"})


def check_admission(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """An admission policy that is to check the PKI object is bound, and its binding refuses."""
    found = about.snapshot.objects.get(VALIDATING_ADMISSION_POLICY_BINDING, ())
    bindings = [AdmissionPolicyBinding.of(each) for each in found]
    for policy in map(AdmissionPolicy.of, about.snapshot.objects.get(VALIDATING_ADMISSION_POLICY, ())):
        if _is_about_keys(policy):
            bound = [each for each in bindings if each.policy_name == policy.name]
            yield from _judged(rule, policy, bound, about.snapshot)


def _judged(
    rule: ScanRule, policy: AdmissionPolicy, bound: list[AdmissionPolicyBinding], snapshot: Snapshot
) -> Iterator[Finding]:
    fix = f"make a ValidatingAdmissionPolicyBinding with policyName {shown(policy.name)} and validationActions [Deny]"
    gap = snapshot.gap(VALIDATING_ADMISSION_POLICY_BINDING)
    if not bound and gap:
        said = f"whether anything binds it cannot be determined: {gap}"
        yield _finding(rule, policy, said, inconclusive=True)
    elif not bound:
        yield _finding(rule, policy, "no binding makes the API server ask it: it refuses nothing", fix=fix)
    elif not any("Deny" in each.actions for each in bound):
        where = ", ".join(str(each.reference) for each in bound[:3])
        said = f"its bindings only warn or audit ({where}): it refuses nothing"
        yield _finding(rule, policy, said, low=True, fix="add Deny to spec.validationActions of the binding")


def _is_about_keys(policy: AdmissionPolicy) -> bool:
    """Whether it is asked of writes of the PKI object, or goes by what is registered."""
    if policy.parameter_kind == PKI_CERTIFICATE_DEFINITION.name:
        return True
    for each in policy.resource_rules:
        named = PKI.plural in each.resources and PKI.group in each.api_groups
        if named and not _WRITING.isdisjoint(each.operations):
            return True
    return False


def _finding(
    rule: ScanRule, policy: KubeObject, said: str, *, low: bool = False, inconclusive: bool = False, fix: str = ""
) -> Finding:
    about = str(policy.reference)
    return rule.finding(
        about,
        f"{about}: {said}",
        fix or None,
        verdict="inconclusive" if inconclusive else "fail",
        severity="low" if low else None,
    )


ADMISSION = ScanRule(
    id="pki-admission",
    check=check_admission,
)
