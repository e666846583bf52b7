"""Names of APIs that are nearly right, and those that are something else."""

from __future__ import annotations

import pytest

from scanner.cluster.api_versions import VERSIONS, misnamed
from scanner.linting import LINT_READS

MEANT = [
    ("route.openshift.io/v1", "route", "kind", "route.openshift.io/v1 Route"),
    ("gateway.networking.k8s.io/v1", "HttpRoute", "kind", "gateway.networking.k8s.io/v1 HTTPRoute"),
    ("v1", "Secrets", "kind", "v1 Secret"),
    ("apps/v1", "Deploymnt", "kind", "apps/v1 Deployment"),
    ("gateway.networking.k8s.io/v1betal1", "Gateway", "apiVersion", "gateway.networking.k8s.io/v1beta1"),
    ("route.openshift.io/v2", "Route", "apiVersion", "route.openshift.io/v1"),
    ("v2", "Secret", "apiVersion", "v1"),
    ("networking.k8s.io/v1", "Gateway", "apiVersion", "gateway.networking.k8s.io/v1 Gateway"),
    ("v1", "Route", "apiVersion", "route.openshift.io/v1 Route"),
    ("networking/v1", "Ingress", "apiVersion", "networking.k8s.io/v1 Ingress"),
    ("core/v1", "Secret", "apiVersion", "v1 Secret"),
    ("gateway.networking.k8s.oi/v1", "Gateway", "apiVersion", "gateway.networking.k8s.io/v1 Gateway"),
    ("route.openshift.io", "Route", "apiVersion", "route.openshift.io/v1 Route"),
    ("extensions/v1beta1", "Ingress", "apiVersion", "networking.k8s.io/v1 Ingress"),
    ("extensions/v1beta1", "Deployment", "apiVersion", "apps/v1 Deployment"),
    ("gateway.networking.k8s.io/v1", "FrontendTLSPolicy", "kind", "spec.tls.frontend of the Gateway"),
    ("", "Rute", "kind", "route.openshift.io/v1 Route"),
    ("route.openshift.io/v1", "", "apiVersion", "Route"),
]


@pytest.mark.parametrize(("version", "kind", "field", "meant"), MEANT)
def test_what_somebody_meant(version: str, kind: str, field: str, meant: str) -> None:
    wrong = misnamed(version, kind)
    assert wrong is not None
    assert wrong.field == field
    assert meant in wrong.hint


OTHERS = [
    ("networking.istio.io/v1", "Gateway"),
    ("config.openshift.io/v1", "Ingress"),
    ("config.openshift.io/v1", "Console"),
    ("operator.openshift.io/v1alpha1", "Ingress"),
    ("serving.knative.dev/v1", "Service"),
    ("extensions/v1beta1", "NetworkPolicy"),
    ("extensions/v1beta1", ""),
    ("traefik.io/v1alpha1", "IngressRoute"),
    ("authorization.openshift.io/v1", "Role"),
    ("gateway.networking.k8s.io/v1alpha2", "BackendLBPolicy"),
    ("cert-manager.io/v1", "CertificateRequest"),
    ("v1", "ServiceAccount"),
    ("v1", "List"),
    ("", "Values"),
    ("v1", ""),
    ("example.com/v1", ""),
    ("", ""),
]


@pytest.mark.parametrize(("version", "kind"), OTHERS)
def test_what_is_something_else(version: str, kind: str) -> None:
    assert misnamed(version, kind) is None


def test_every_kind_that_lint_looks_at_is_there_with_its_versions() -> None:
    assert {(group, kind) for group, kinds in VERSIONS.items() for kind in kinds} == {
        (kind.group, kind.name) for kind in LINT_READS
    }
    assert [
        (group, kind)
        for group, kinds in VERSIONS.items()
        for kind, versions in kinds.items()
        for version in versions
        if misnamed(f"{group}/{version}" if group else version, kind)
    ] == []
