"""Fields that the API server drops."""

from __future__ import annotations

import pytest

from scanner.lint.fields.gateway_releases import FORMER
from scanner.lint.gateway.pruned_fields import LAST_APPLIED, PRUNED
from tests.lint.gateway.cases import GATEWAY, listening, of, said

CRD = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gateways.gateway.networking.k8s.io
  annotations: {gateway.networking.k8s.io/bundle-version: v1.3.0, gateway.networking.k8s.io/channel: CHANNEL}
spec: {group: gateway.networking.k8s.io}
"""
LEGACY = "name: a, port: 443, protocol: HTTPS, tls: {frontendValidation: {}}"


def policy(version: str, spec: str) -> str:
    return of("BackendTLSPolicy", "web", spec, version=version)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (listening("name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}"), []),
        (listening(LEGACY), ["spec.listeners[0].tls.frontendValidation"]),
        (listening("name: b", LEGACY), ["spec.listeners[1].tls.frontendValidation"]),
        (of("ListenerSet", "s", f"listeners: [{{{LEGACY}}}]"), ["spec.listeners[0].tls.frontendValidation"]),
        (f"{GATEWAY}  backendTLS: {{clientCertificateRef: {{name: a}}}}", ["spec.backendTLS"]),
        (f"{GATEWAY}  tls: {{default: {{}}}}", ["spec.tls.default"]),
        (f"{GATEWAY}  tls: {{frontend: {{default: {{}}}}, backend: {{}}}}", []),
        (policy("v1", "targetRefs: [], validation: {}"), []),
        (policy("v1alpha3", "targetRefs: [], validation: {}"), []),
        (policy("v1alpha2", "targetRef: {}, tls: {}"), []),
        (policy("v1", "targetRef: {}, tls: {}"), ["spec.targetRef", "spec.tls"]),
        (policy("v1alpha2", "targetRefs: [], validation: {}"), ["spec.targetRefs", "spec.validation"]),
        (policy("v1", "validation: {caCertRefs: []}"), ["spec.validation.caCertRefs"]),
    ],
)
def test_where(text: str, fields: list[str]) -> None:
    assert [field for _, field, _ in said(PRUNED, text)] == fields


@pytest.mark.parametrize(("channel", "still"), [("experimental", True), ("standard", False)])
def test_a_crd_that_has_it_still(channel: str, still: bool) -> None:
    ((_, _, message),) = said(PRUNED, listening(LEGACY), CRD.replace("CHANNEL", channel))
    assert message.endswith("still has it") == still


@pytest.mark.parametrize(
    ("release", "channel", "fields"),
    [
        ("v1.3.0", "experimental", ["spec.tls"]),
        ("v1.2.1", "experimental", ["spec.tls", "spec.allowedListeners"]),
        ("v1.4.1", "standard", ["spec.tls", "spec.allowedListeners"]),
        ("v1.4.1", "experimental", []),
        ("v1.5.0", "standard", []),
        ("v1.6.1", "experimental", []),
        ("main", "standard", []),
    ],
)
def test_a_crd_that_does_not_have_it_yet(release: str, channel: str, fields: list[str]) -> None:
    crd = CRD.replace("CHANNEL", channel).replace("v1.3.0", release)
    text = f"{GATEWAY}  tls: {{frontend: {{default: {{}}}}}}\n  allowedListeners: {{}}\n"
    assert [field for _, field, _ in said(PRUNED, text, crd)] == fields


@pytest.mark.parametrize(
    ("release", "fields"),
    [
        ("v1.1.0", ["spec.validation.subjectAltNames", "spec.options"]),
        ("v1.2.0", []),
    ],
)
def test_a_policy_whose_crd_does_not_have_it_yet(release: str, fields: list[str]) -> None:
    crd = (
        CRD.replace("CHANNEL", "experimental").replace("v1.3.0", release).replace("gateways.g", "backendtlspolicies.g")
    )
    text = policy("v1alpha3", "targetRefs: [], validation: {subjectAltNames: []}, options: {a.example/b: c}")
    assert [field for _, field, _ in said(PRUNED, text, crd)] == fields


@pytest.mark.parametrize(
    ("annotation", "count"),
    [
        ('{"spec": {"listeners": [{"tls": {"frontendValidation": {}}}]}}', 1),
        ('{"spec": {"listeners": [{"tls": {}}]}}', 0),
        ("{", 0),
        ("[" * 100_000, 0),
        ("[]", 0),
    ],
)
def test_what_was_applied(annotation: str, count: int) -> None:
    text = f"{GATEWAY}  listeners: []".replace("{name:", f"{{annotations: {{{LAST_APPLIED}: '{annotation}'}}, name:")
    assert [field for _, field, _ in said(PRUNED, text)] == [f"metadata.annotations['{LAST_APPLIED}']"] * count


def test_every_former_field_is_found() -> None:
    for kind, formers in FORMER.items():
        assert formers, kind
        assert len({each.path for each in formers}) == len(formers)
