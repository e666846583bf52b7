"""Fields that nobody reads, and values that the API server refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.fields import FIELD_RULES
from scanner.lint.fields.shapes import SHAPES
from tests.lint.examples import linted

HEADS = {
    "APIServer": "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\n",
    "Gateway": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\n",
    "Route": "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: a}\n",
    "HTTPProxy": "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: a}\n",
    "KubeletConfig": "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\n",
    "Ingress": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n",
    "BackendTLSPolicy": "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: a}\n",
    "ValidatingWebhookConfiguration": (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\n"
    ),
    "APIService": "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.a}\n",
}

UNKNOWN: list[tuple[str, str, str, str | None]] = [
    ("APIServer", "spec: {tlsSecurityProfil: {type: Modern}}", "spec.tlsSecurityProfil", "tlsSecurityProfile"),
    ("APIServer", "spec: {TLSSecurityProfile: {}}", "spec.TLSSecurityProfile", "tlsSecurityProfile"),
    (
        "APIServer",
        "spec: {tlsSecurityProfile: {custom: {cipher: []}}}",
        "spec.tlsSecurityProfile.custom.cipher",
        "ciphers",
    ),
    ("APIServer", "spec: {flavour: sweet}", "spec.flavour", None),
    ("APIServer", "Spec: {}", "Spec", "spec"),
    ("KubeletConfig", "spec: {tlsSecurityprofile: {}}", "spec.tlsSecurityprofile", "tlsSecurityProfile"),
    (
        "Gateway",
        "spec: {listeners: [{}, {tls: {certificateRef: {}}}]}",
        "spec.listeners[1].tls.certificateRef",
        "certificateRefs",
    ),
    ("Gateway", "spec: {tls: {frontEnd: {}}}", "spec.tls.frontEnd", "frontend"),
    ("Gateway", "spec: {tls: {frontend: {defaults: {}}}}", "spec.tls.frontend.defaults", "default"),
    (
        "Gateway",
        "spec: {tls: {frontend: {perPort: [{validation: {}}]}}}",
        "spec.tls.frontend.perPort[0].validation",
        None,
    ),
    ("BackendTLSPolicy", "spec: {validation: {hostName: a}}", "spec.validation.hostName", "hostname"),
    ("Route", "spec: {tls: {externalCertificates: {name: a}}}", "spec.tls.externalCertificates", "externalCertificate"),
    (
        "HTTPProxy",
        "spec: {virtualhost: {tls: {clientValidaton: {}}}}",
        "spec.virtualhost.tls.clientValidaton",
        "clientValidation",
    ),
    ("Ingress", "spec: {tls: [{secret: a}]}", "spec.tls[0].secret", "secretName"),
    (
        "ValidatingWebhookConfiguration",
        "webhooks: [{clientConfig: {cabundle: a}}]",
        "webhooks[0].clientConfig.cabundle",
        "caBundle",
    ),
    ("APIService", "spec: {insecureSkipTlsVerify: true}", "spec.insecureSkipTlsVerify", "insecureSkipTLSVerify"),
]


@pytest.mark.parametrize(("kind", "text", "field", "meant"), UNKNOWN)
def test_a_field_that_nobody_reads(tmp_path: Path, kind: str, text: str, field: str, meant: str | None) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, FIELD_RULES)[0]
    (each,) = one.findings
    assert (each.finding.rule, each.field) == ("field-unknown", field)
    assert each.finding.severity == ("medium" if meant else "low")
    assert each.finding.expected == (meant,) if meant else meant not in each.finding.expected
    assert (f"did you mean {meant}?" in each.finding.message) == (meant is not None)


MISTYPED: list[tuple[str, str, str, str, str | None]] = [
    ("APIServer", "spec: []", "spec", "must be a mapping, not a list", None),
    ("APIServer", "spec: {tlsSecurityProfile: Modern}", "spec.tlsSecurityProfile", "a mapping, not 'Modern'", None),
    ("APIServer", "spec: {tlsAdherence: true}", "spec.tlsAdherence", "text, not True", 'tlsAdherence: "true"'),
    ("Gateway", "spec: {listeners: {}}", "spec.listeners", "a list, not a mapping", None),
    ("Gateway", "spec: {listeners: [1]}", "spec.listeners[0]", "a mapping, not 1", None),
    ("Gateway", 'spec: {listeners: [{port: "443"}]}', "spec.listeners[0].port", "a whole number, not '443'", None),
    ("Gateway", "spec: {listeners: [{port: true}]}", "spec.listeners[0].port", "a whole number, not True", None),
    ("Gateway", "spec: {listeners: [{port: 443.5}]}", "spec.listeners[0].port", "a whole number, not 443.5", None),
    (
        "Gateway",
        "spec: {listeners: [{tls: {certificateRefs: a}}]}",
        "spec.listeners[0].tls.certificateRefs",
        "a list",
        None,
    ),
    (
        "HTTPProxy",
        "spec: {virtualhost: {tls: {passthrough: 1}}}",
        "spec.virtualhost.tls.passthrough",
        "true or false",
        None,
    ),
    (
        "Ingress",
        "spec: {tls: [{hosts: a.example}]}",
        "spec.tls[0].hosts",
        "a list, not 'a.example'",
        "hosts: [a.example]",
    ),
    ("Route", "spec: {tls: {key: [BEGIN]}}", "spec.tls.key", "must be text, not a list:", None),
    ("Route", "spec: {tls: {key: 12345}}", "spec.tls.key", "must be text, not something else:", None),
]


@pytest.mark.parametrize(("kind", "text", "field", "message", "correction"), MISTYPED)
def test_a_value_of_another_type(
    tmp_path: Path, kind: str, text: str, field: str, message: str, correction: str | None
) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, FIELD_RULES)[0]
    (each,) = one.findings
    assert (each.finding.rule, each.field) == ("field-type", field)
    assert message in each.finding.message
    assert each.correction == correction


FINE = [
    ("Route", "spec: {tls: {termination: edge, certificate: a, key: b}}"),
    ("APIServer", "spec: null"),
    ("APIServer", "status: {anything: 1}"),
    ("APIServer", "spec: {tlsSecurityProfile: null, audit: {x: [1]}}"),
    ("Gateway", "spec: {listeners: [{port: 443.0, tls: {options: {example.com/x: y}}}]}"),
    ("Gateway", "spec: {backendTLS: {}, listeners: [{tls: {frontendValidation: {}}}]}"),  # rules of their own
]


@pytest.mark.parametrize(("kind", "text"), FINE)
def test_what_is_fine(tmp_path: Path, kind: str, text: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, FIELD_RULES)[0]
    assert one.findings == ()


def test_every_kind_of_the_table_has_a_part_that_is_looked_into() -> None:
    assert all(shape for shape in SHAPES.values())
    assert {kind.name for kind in SHAPES} >= set(HEADS)
