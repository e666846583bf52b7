"""PKICertificateDefinition, by which components register certificate names, and the admission policies on the PKI
object (admissionregistration.k8s.io/v1)."""

from __future__ import annotations

from scanner.kube.objects import KubeObject
from scanner.kube.view import Parts, Text, Texts, View


class CertificateName(View):
    """A name that is registered."""

    name = Text()
    category = Text()


class CertificateDefinition(KubeObject):
    """A PKICertificateDefinition."""

    component = Text("spec", "component")
    certificates = Parts(CertificateName, "spec", "certificates")


class ResourceRule(View):
    """Requests that an admission policy is asked about."""

    resources = Texts()
    api_groups = Texts("apiGroups")
    operations = Texts()


class AdmissionPolicy(KubeObject):
    """A ValidatingAdmissionPolicy."""

    parameter_kind = Text("spec", "paramKind", "kind")
    resource_rules = Parts(ResourceRule, "spec", "matchConstraints", "resourceRules")


class AdmissionPolicyBinding(KubeObject):
    """A ValidatingAdmissionPolicyBinding."""

    policy_name = Text("spec", "policyName")
    actions = Texts("spec", "validationActions")
