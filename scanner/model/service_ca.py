"""OpenShift's service CA: a Service asks it for a certificate by an annotation (openshift/service-ca-operator)."""

from __future__ import annotations

from scanner.kube.objects import KubeObject

ANNOTATIONS = (
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
)


def asks(service: KubeObject) -> bool:
    """Whether the service CA signs what this Service's pods serve."""
    return bool(secret(service))


def secret(service: KubeObject) -> str:
    """The Secret that a Service asks to be filled in, or ""."""
    return next(filter(None, (service.annotations.get(each) for each in ANNOTATIONS)), "")
