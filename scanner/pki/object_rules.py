"""Rules on the PKI object, certificate definitions, admission policies, and the key pairs in Secrets."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.kinds import (
    PKI,
    PKI_CERTIFICATE_DEFINITION,
    SECRET,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import AdmissionPolicy, AdmissionPolicyBinding
from scanner.kube.schema import definition
from scanner.kube.secrets import Secret
from scanner.kube.snapshot import Snapshot
from scanner.model.finding import Finding, Severity
from scanner.model.pki_config import PkiConfig
from scanner.model.rule import ScanRule
from scanner.model.well_known import Names
from scanner.pki.config import NAME, hint
from scanner.pki.definitions import registered

_NAMED: Final = 3
_STRAYS: Final = 20
"""Most PKI objects with other names that are reported."""
_FIELDS: Final = (
    "defaults",
    "categories",
    "overrides",
    "category",
    "certificate",
    "certificateName",
    "key",
    "algorithm",
    "rsa",
    "keySize",
    "ecdsa",
    "curve",
    "certificateManagement",
    "mode",
    "custom",
    "signerCertificates",
    "servingCertificates",
    "clientCertificates",
)
"""Fields that a shape has, for hints."""


class Configuration(Struct, frozen=True, kw_only=True):
    """The objects and the resulting configuration."""

    config: PkiConfig
    """The cluster's own."""
    snapshot: Snapshot
    names: Names
    day_one: PkiConfig | None = None
    """The user's install-config; None for the one in the cluster, if it has one."""


def check_object(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The PKI object says what the API takes, and all of it has an effect."""
    yield from (finding for _, finding in placed(rule, about))


def placed(rule: ScanRule, about: Configuration) -> Iterator[tuple[Steps, Finding]]:
    """The same with the way to the field that each finding is about, from the object's top."""
    config = about.config
    for wrong in config.problems:
        fix = hint(wrong, _value(about.snapshot.objects.get(PKI, ()), wrong.steps))
        fix = fix or f"set {dotted(wrong.steps)} in {config.source} to a value that the API accepts: {wrong.message}"
        yield wrong.steps, _finding(rule, config.source, f"{wrong}", fix=fix)
    for field in config.unknown_fields:
        checked = "the enhancement's text" if config.shape == "document" else definition(PKI)
        text = f"unknown field {field}, without effect (checked against {checked})"
        meant = _meant(field)
        fix = f"did you mean {meant}? write that instead" if meant else f"remove it from {config.source}"
        yield ("spec",), _finding(rule, config.source, text, severity="medium" if meant else "low", fix=fix)
    yield from ((("spec",), each) for each in _deprecated(rule, about))
    if config.shape == "interim":
        text = "lists its categories below spec.certificateManagement.custom, an early layout of the API"
        found = _finding(rule, config.source, text, severity="info", fix="use the layout of the release's API")
        yield ("spec", "certificateManagement", "custom"), found
    for each in [each for each in about.snapshot.objects.get(PKI, ()) if each.name != NAME][:_STRAYS]:
        text = f"a PKI object has no effect unless its name is {NAME}"
        fix = f"say it in PKI/{NAME}, and delete this one"
        yield ("metadata", "name"), _finding(rule, str(each.reference), text, fix=fix)


def _meant(field: str) -> str:
    """The field that the author of an unknown one most likely meant, or "": the enhancement itself has
    ``certificateOverrides`` in one place."""
    name = field.rpartition(".")[2].partition("[")[0].lower()
    near = get_close_matches(name, _FIELDS, n=1, cutoff=0.75)
    return near[0] if near else next((each for each in _FIELDS if name.endswith(each.lower())), "")


def _deprecated(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    for name, override in about.config.overrides.items():
        known = about.names.by_name(name)
        if known is not None and known.successor is not None:
            text = f"{override.field} is for {name}, no longer issued: {known.successor} replaced it"
            fix = f"name {known.successor} in the override instead"
            yield _finding(rule, about.config.source, text, severity="low", fix=fix)


def check_definitions(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """Every PKICertificateDefinition counts, and no two contradict each other."""
    for flaw in registered(about.snapshot).flaws:
        yield _finding(rule, flaw.about, flaw.text, severity=flaw.severity, fix=flaw.fix)


def _value(objects: tuple[KubeObject, ...], steps: Steps) -> object:
    """The value at ``steps`` of PKI/cluster."""
    value: object = next((each.raw for each in objects if each.name == NAME), None)
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _finding(rule: ScanRule, about: str, text: str, *, severity: Severity | None = None, fix: str) -> Finding:
    return rule.finding(about, f"{about}: {text}", fix, severity=severity)


OBJECT = ScanRule(id="pki-object", check=check_object)
DEFINITIONS = ScanRule(id="pki-definition", check=check_definitions)


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
        text = f"it is unknown whether a binding refers to it: {gap}"
        yield _of_policy(rule, policy, text, inconclusive=True)
    elif not bound:
        yield _of_policy(rule, policy, "no ValidatingAdmissionPolicyBinding refers to it: it refuses nothing", fix=fix)
    elif not any("Deny" in each.actions for each in bound):
        where = ", ".join(str(each.reference) for each in bound[:_NAMED])
        text = f"its bindings only warn or audit ({where}): it refuses nothing"
        yield _of_policy(rule, policy, text, low=True, fix="add Deny to spec.validationActions of the binding")


def _is_about_keys(policy: AdmissionPolicy) -> bool:
    """True if the policy validates writes of the PKI object, or has PKICertificateDefinition parameters."""
    if policy.parameter_kind == PKI_CERTIFICATE_DEFINITION.name:
        return True
    for each in policy.resource_rules:
        named = PKI.plural in each.resources and PKI.group in each.api_groups
        if named and not _WRITING.isdisjoint(each.operations):
            return True
    return False


def _of_policy(
    rule: ScanRule, policy: KubeObject, text: str, *, low: bool = False, inconclusive: bool = False, fix: str = ""
) -> Finding:
    about = str(policy.reference)
    return rule.finding(
        about,
        f"{about}: {text}",
        fix or None,
        verdict="inconclusive" if inconclusive else "fail",
        severity="low" if low else None,
    )


ADMISSION = ScanRule(id="pki-admission", check=check_admission)


MOST: Final = 100
"""Most Secrets that are reported one by one, because tenants may create any number."""


def check_pairs(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The private key in a Secret belongs to the certificate beside it."""
    secrets = about.snapshot.objects.get(SECRET, ())
    wrong = [each for each in secrets if Secret.of(each).key_matches is False]
    for number, each in enumerate(wrong[:MOST], start=1):
        more = f" (and {len(wrong) - MOST} more Secrets like it)" if number == MOST < len(wrong) else ""
        yield rule.finding(
            str(each.reference),
            f"{each.reference}: tls.key is not the key of the certificate in tls.crt{more}",
            f"replace the key and the certificate of {each.reference} together",
        )


PAIRS = ScanRule(id="pki-key-pair", check=check_pairs)
