"""The objects that configure keys, linted by the rules that judge a cluster's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.lint_report import LintReport

KEY = """\
apiVersion: config.openshift.io/v1alpha1
kind: PKI
metadata: {name: %s}
spec:
  certificateManagement:
    mode: Custom
    custom:
      defaults: {key: %s}
"""
GOOD = "{algorithm: ECDSA, ecdsa: {curve: P384}}"
DEFINITION = """\
---
apiVersion: config.openshift.io/v1alpha1
kind: PKICertificateDefinition
metadata: {name: mine, namespace: %s}
spec: {component: mine, certificates: [{name: mine-serving, category: %s}]}
"""
OVERRIDE = """\
apiVersion: config.openshift.io/v1alpha1
kind: PKI
metadata: {name: cluster}
spec:
  overrides:
  - certificateName: mine-serving
    certificate: {key: {algorithm: ECDSA, ecdsa: {curve: P256}}}
"""


def linted(directory: Path, text: str) -> LintReport:
    file = directory / "pki.yaml"
    file.write_text(text)
    given = read_manifests([str(file)], LINT_READS)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return lint_report(declared(given, None), given, started=now, sources=(str(file),), arguments=())


@pytest.mark.parametrize(
    ("text", "rule", "line", "field", "part"),
    [
        (
            KEY % ("cluster", "{algorithm: RSA, rsa: {keySize: 1024}}"),
            "pki-object",
            8,
            "spec.certificateManagement.custom.defaults.key.rsa.keySize",
            "should be greater than or equal to 2048",
        ),
        (KEY % ("other", GOOD), "pki-object", 3, "metadata.name", "a PKI object has no effect unless its name is"),
        (DEFINITION % ("shop", "ServingCertificate"), "pki-definition", 5, "spec.certificates", "has no effect"),
        (OVERRIDE, "pki-object", 6, "spec.overrides[0]", "certificateName"),
    ],
)
def test_what_is_wrong(tmp_path: Path, text: str, rule: str, line: int, field: str, part: str) -> None:
    (each,) = linted(tmp_path, text).objects
    found = [one for one in each["findings"] if one["rule"] == rule]
    assert [(one["field"], one["place"] and one["place"]["line"]) for one in found][:1] == [(field, line)]
    assert part in found[0]["message"]
    assert each["verdict"] == "fail"


def test_what_is_right(tmp_path: Path) -> None:
    report = linted(tmp_path, KEY % ("cluster", GOOD) + DEFINITION % ("openshift-config", "ServingCertificate"))
    assert [(each["object"]["kind"], each["verdict"]) for each in report.objects] == [
        ("PKI", "pass"),
        ("PKICertificateDefinition", "pass"),
    ]
    assert ["pki-object" in each["passed"] for each in report.objects] == [True, False]
    assert {"pki-object", "pki-definition"} <= {each["id"] for each in report.rules}


def test_a_definition_beside_it_registers_its_names(tmp_path: Path) -> None:
    report = linted(tmp_path, OVERRIDE + DEFINITION % ("openshift-config", "ServingCertificate"))
    assert [each["verdict"] for each in report.objects] == ["pass", "pass"]
