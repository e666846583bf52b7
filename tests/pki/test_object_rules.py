"""What is wrong with the objects that configure keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scanner.config.certificate_names import load_names
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.model.finding import Finding
from scanner.pki.config import pki_config
from scanner.pki.definitions import with_registered
from scanner.pki.object_rules import Configuration
from scanner.pki.rules import of_objects
from tests.pki.pki_cases import CASES, Case
from tests.pki.pki_objects import P256, pki, snapshot

pytestmark = pytest.mark.crypto

NAMES = load_names()
GOOD = {"defaults": P256}


def said(*objects: tuple[Kind, Mapping[str, Any]]) -> list[Finding]:
    found = snapshot(*objects, gate="on")
    return list(of_objects(Configuration(config=pki_config(found), snapshot=found, names=NAMES)))


def overriding(*names: str) -> dict[str, object]:
    return {**GOOD, "overrides": [{"certificateName": each, "certificate": P256} for each in names]}


def definition(
    name: str, *certificates: tuple[str, str], namespace: str = "openshift-config", valid: str = ""
) -> tuple[Kind, Mapping[str, Any]]:
    listed = [{"name": each, "category": category} for each, category in certificates]
    conditions = [{"type": "Valid", "status": valid, "message": "a name is taken"}] if valid else []
    return kinds.PKI_CERTIFICATE_DEFINITION, {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"certificates": listed},
        "status": {"conditions": conditions},
    }


def test_an_object_without_fault_says_nothing() -> None:
    assert said(pki(overriding("etcd-signer")), definition("own", ("my-signer", "SignerCertificate"))) == []
    assert said() == []


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda case: case.id)
def test_what_the_api_refuses_fails_in_its_words(case: Case) -> None:
    found = [each for each in said(pki(case.spec)) if each.severity == "medium"]
    messages = [each.message for each in found]
    for field, words in case.refused:
        assert f"PKI/cluster: {field}: {words}" in messages
    assert {(each.rule, each.verdict, each.status, each.about) for each in found} == {
        ("pki-object", "fail", "violation", "PKI/cluster")
    }


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("shop/web", "a Service's certificate has no name of its own"),
        ("service-ca.service-serving", "a Service's certificate has no name of its own"),
        ("etcd-singer", "'etcd-singer' is none of the 32"),
    ],
)
def test_a_name_that_no_override_can_have_says_why(name: str, fix: str) -> None:
    (finding,) = said(pki(overriding(name)))
    assert finding.message == "PKI/cluster: spec.overrides[0]: certificateName must be a well-known certificate name"
    assert fix in (finding.fix or "")


@pytest.mark.parametrize(
    ("old", "new"), [("aggregator-ca", "aggregator-signer"), ("apiserver-proxy-client", "aggregator-client")]
)
def test_a_name_that_was_given_up_has_a_successor(old: str, new: str) -> None:
    (finding,) = said(pki(overriding("etcd-signer", old)))
    assert (finding.severity, finding.fix) == ("low", f"name {new} in the override instead")
    assert "spec.overrides[1]" in finding.message


@pytest.mark.parametrize(
    ("spec", "severity", "words"),
    [
        (
            {**GOOD, "colour": "blue"},
            "low",
            "unknown field spec.colour, without effect (checked against the",
        ),
        (
            {"certificateManagement": {"mode": "Custom", "custom": {"categories": [], **GOOD}}},
            "info",
            "an early layout",
        ),
    ],
)
def test_what_has_no_effect_or_is_of_yesterday(spec: object, severity: str, words: str) -> None:
    (finding,) = said(pki(spec))
    assert finding.severity == severity
    assert words in finding.message
    assert finding.status == ("informational" if severity == "info" else "violation")


FIELDS = (
    *("defaults", "categories", "overrides", "category", "certificate", "certificateName", "key", "algorithm", "rsa"),
    *("keySize", "ecdsa", "curve", "certificateManagement", "mode", "custom"),
    *("signerCertificates", "servingCertificates", "clientCertificates"),
)


@pytest.mark.parametrize(("unknown", "meant"), [*((f"{each}z", each) for each in FIELDS), ("myOverrides", "overrides")])
def test_an_unknown_field_that_is_nearly_a_known_one_has_a_hint(unknown: str, meant: str) -> None:
    (finding,) = said(pki({**GOOD, unknown: 1}))
    assert (finding.severity, finding.fix) == ("medium", f"did you mean {meant}? write that instead")


def test_an_unknown_field_like_no_other_is_removed() -> None:
    (finding,) = said(pki({**GOOD, "colour": 1}))
    assert (finding.severity, finding.fix) == ("low", "remove it from PKI/cluster")


def test_an_object_of_another_name_is_read_by_nobody() -> None:
    (finding,) = said(pki(GOOD), pki(GOOD, name="mine"))
    assert (finding.about, finding.severity) == ("PKI/mine", "medium")


@pytest.mark.parametrize(
    ("definitions", "severity", "words"),
    [
        (
            [definition("a", ("x", "SignerCertificate")), definition("b", ("x", "ServingCertificate"))],
            "medium",
            "b: registers 'x', which PKICertificateDefinition/openshift-config/a has registered, with another category",
        ),
        ([definition("a", ("etcd-signer", "ServingCertificate"))], "medium", "it is known as signer"),
        ([definition("a", valid="False")], "medium", "is not valid: 'a name is taken'"),
        ([definition("a", namespace="shop")], "low", "definitions count in openshift-config only"),
    ],
)
def test_definitions_that_contradict_or_do_not_count(definitions: list[Any], severity: str, words: str) -> None:
    (finding,) = said(pki(GOOD), *definitions)
    assert (finding.rule, finding.severity, finding.verdict) == ("pki-definition", severity, "fail")
    assert words in finding.message
    assert finding.fix


def test_names_beyond_the_limit_of_a_cluster_are_counted_and_those_before_it_are_still_compared() -> None:
    full = definition("a", *((f"x{number}", "SignerCertificate") for number in range(1000)))
    assert said(pki(GOOD), full) == []
    more = definition("b", ("y", "SignerCertificate"), ("x1", "SignerCertificate"), ("z", "SignerCertificate"))
    beyond, clash = said(pki(GOOD), full, more)
    assert (beyond.verdict, beyond.severity) == ("fail", "medium")
    assert "b: registers names beyond the first 1,000 of the cluster, which are not read: 2" in beyond.message
    assert "b: registers 'x1', which PKICertificateDefinition/openshift-config/a has registered" in clash.message
    found = snapshot(pki(GOOD), full, more)
    known = {each.name for each in with_registered(NAMES, found).all}
    assert {"x0", "x999"} <= known
    assert not {"y", "z"} & known


def test_the_first_twenty_flaws_of_definitions_are_told() -> None:
    doubled = [("x", "SignerCertificate")] * 22
    assert len(said(pki(GOOD), definition("a", *doubled[:21]))) == 20
    assert len(said(pki(GOOD), definition("a", *doubled))) == 20
    assert len(said(pki(GOOD), definition("a", *doubled[:20]))) == 19
