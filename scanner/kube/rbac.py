"""Roles and what binds them to whom (rbac.authorization.k8s.io/v1)."""

from __future__ import annotations

from scanner.kube.label_selector import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.view import Parts, Text, Texts, Value, View


class PolicyRule(View):
    """One rule of a role."""

    verbs = Texts()
    api_groups = Texts("apiGroups")
    resources = Texts()
    resource_names = Texts("resourceNames")
    names_any = Value("resourceNames")


class Role(KubeObject):
    """A Role or ClusterRole."""

    rules = Parts(PolicyRule)
    any_rules = Value("rules")
    aggregated = Parts(LabelSelector, "aggregationRule", "clusterRoleSelectors")


class Subject(View):
    """To whom a role is bound."""

    kind = Text()
    name = Text()
    namespace = Text()


class Binding(KubeObject):
    """A RoleBinding or ClusterRoleBinding."""

    subjects = Parts(Subject)
    role_kind = Text("roleRef", "kind")
    role_name = Text("roleRef", "name")
