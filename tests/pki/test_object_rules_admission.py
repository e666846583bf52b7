"""Admission policies on the PKI object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scanner.config.certificate_names import load_names
from scanner.kube.kinds import VALIDATING_ADMISSION_POLICY as POLICY
from scanner.kube.kinds import VALIDATING_ADMISSION_POLICY_BINDING as BINDING
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Unreadable
from scanner.model.finding import Finding
from scanner.pki.config import pki_config
from scanner.pki.object_rules import ADMISSION, Configuration
from scanner.values import replace
from tests.pki.pki_objects import snapshot

NAMES = load_names()
MATCHING = {
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": ["config.openshift.io"], "operations": ["CREATE", "UPDATE"], "resources": ["pkis"]}
        ]
    }
}
BY_DEFINITION = {"paramKind": {"apiVersion": "config.openshift.io/v1alpha1", "kind": "PKICertificateDefinition"}}


def binding(policy: str, *actions: str) -> dict[str, object]:
    return {"metadata": {"name": "b"}, "spec": {"policyName": policy, "validationActions": list(actions)}}


def said(
    spec: Mapping[str, Any], *bindings: Mapping[str, Any], name: str = "names", unreadable: bool = False
) -> list[Finding]:
    policy = KubeObject({"metadata": {"name": name}, "spec": spec}, POLICY)
    plain = snapshot()
    held = {**plain.objects, POLICY: (policy,), BINDING: tuple(KubeObject(each, BINDING) for each in bindings)}
    gaps = {BINDING: Unreadable(kind=BINDING, gap="forbidden", reason="403 Forbidden")} if unreadable else {}
    found = replace(plain, objects=held, unreadable=gaps)
    about = Configuration(config=pki_config(plain), snapshot=found, names=NAMES)
    return list(ADMISSION.check(ADMISSION, about))


@pytest.mark.parametrize("spec", [MATCHING, BY_DEFINITION])
def test_a_policy_that_is_bound_and_denies_says_nothing(spec: Mapping[str, Any]) -> None:
    assert said(spec, binding("other", "Warn"), binding("names", "Warn", "Deny")) == []


@pytest.mark.parametrize(
    ("operations", "resources", "is_about_keys"),
    [
        (["CREATE"], ["pkis"], True),
        (["UPDATE", "DELETE"], ["pods", "pkis"], True),
        (["*"], ["pkis"], True),
        (["DELETE"], ["pkis"], False),
        (["CREATE"], ["pods"], False),
        ([], ["pkis"], False),
    ],
)
def test_a_policy_is_about_keys_if_it_sees_writes_of_the_pki_object(
    operations: list[str], resources: list[str], *, is_about_keys: bool
) -> None:
    rule = {"apiGroups": ["config.openshift.io"], "operations": operations, "resources": resources}
    assert bool(said({"matchConstraints": {"resourceRules": [rule]}})) is is_about_keys


@pytest.mark.parametrize("spec", [MATCHING, BY_DEFINITION])
@pytest.mark.parametrize("bindings", [[], [binding("other", "Deny")]])
def test_a_policy_that_nothing_binds_refuses_nothing(spec: Mapping[str, Any], bindings: list[Any]) -> None:
    (finding,) = said(spec, *bindings)
    assert (finding.verdict, finding.severity) == ("fail", "medium")
    assert finding.about == "ValidatingAdmissionPolicy/names"
    assert "policyName 'names'" in (finding.fix or "")


def test_a_binding_that_only_warns_refuses_nothing_either() -> None:
    (finding,) = said(MATCHING, binding("names", "Warn", "Audit"))
    assert (finding.verdict, finding.severity) == ("fail", "low")
    assert "ValidatingAdmissionPolicyBinding/b" in finding.message
    assert finding.fix == "add Deny to spec.validationActions of the binding"


def test_bindings_that_nobody_may_read_leave_it_open() -> None:
    (finding,) = said(MATCHING, unreadable=True)
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert "403 Forbidden" in finding.message


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"paramKind": {"kind": "Other"}},
        {"matchConstraints": {"resourceRules": [{"apiGroups": ["x"], "operations": ["*"], "resources": ["pkis"]}]}},
        {"matchConstraints": {"resourceRules": "odd"}},
        {"matchConstraints": [None]},
    ],
)
def test_policies_on_other_things_are_none_of_ours(spec: Mapping[str, Any]) -> None:
    assert said(spec) == []
