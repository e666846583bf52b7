"""Roles and their bindings (rbac.authorization.k8s.io/v1), and the API server's answers on permissions
(authorization.k8s.io/v1 ``SubjectAccessReview``). An answer takes every authorizer into account; objects show only
RBAC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec import Struct

from scanner.kube.kinds import ACCESS_REVIEW
from scanner.kube.meta import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Flag, Parts, Text, Texts, Value, View


class PolicyRule(View):
    """One rule of a role."""

    verbs = Texts()
    api_groups = Texts("apiGroups")
    resources = Texts()
    resource_names = Texts("resourceNames")
    raw_resource_names = Value("resourceNames")


class Role(KubeObject):
    """A Role or ClusterRole."""

    rules = Parts(PolicyRule)
    raw_rules = Value("rules")
    aggregated = Parts(LabelSelector, "aggregationRule", "clusterRoleSelectors")


class Subject(View):
    """A user, group or service account that a role is bound to."""

    kind = Text()
    name = Text()
    namespace = Text()


class Binding(KubeObject):
    """A RoleBinding or ClusterRoleBinding."""

    subjects = Parts(Subject)
    role_kind = Text("roleRef", "kind")
    role_name = Text("roleRef", "name")


# --- What the API server answers --------------------------------------------------------------------------------------


class Review(Struct, frozen=True, kw_only=True):
    """One question about a user's permission. The user is in no other groups than ``groups``."""

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    group: str = ""
    """API group of the resource."""
    subresource: str = ""
    groups: tuple[str, ...] = ()
    """Groups of the user."""

    def spec(self) -> dict[str, object]:
        """``spec`` of the SubjectAccessReview."""
        attributes = {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "namespace": self.namespace,
            "name": self.name,
            **({"subresource": self.subresource} if self.subresource else {}),
        }
        groups = {"groups": [*self.groups]} if self.groups else {}
        return {"user": self.user, **groups, "resourceAttributes": attributes}

    def with_answer(self, *, allowed: bool) -> KubeObject:
        """The SubjectAccessReview with its answer, named by a digest of the question."""
        question = "\0".join((self.user, *map(str, _attributes(self)))).encode("utf-8", "replace")
        digest = sha256(question).hexdigest()[:32]
        return KubeObject(
            {"metadata": {"name": digest}, "spec": self.spec(), "status": {"allowed": allowed}}, ACCESS_REVIEW
        )


def _attributes(review: Review) -> Iterable[str]:
    attributes = (review.verb, review.group, review.resource, review.namespace, review.name)
    return (*attributes, review.subresource, *review.groups) if review.subresource or review.groups else attributes


class _Answer(KubeObject):
    """A SubjectAccessReview with its status."""

    user = Text("spec", "user")
    groups = Texts("spec", "groups")
    verb = Text("spec", "resourceAttributes", "verb")
    group = Text("spec", "resourceAttributes", "group")
    resource = Text("spec", "resourceAttributes", "resource")
    subresource = Text("spec", "resourceAttributes", "subresource")
    of_namespace = Text("spec", "resourceAttributes", "namespace")
    of_name = Text("spec", "resourceAttributes", "name")
    allowed = Flag("status", "allowed")


def reviews(snapshot: Snapshot) -> Mapping[Review, bool]:
    """Read the answers in a snapshot."""
    found: dict[Review, bool] = {}
    for each in map(_Answer.of, snapshot.objects.get(ACCESS_REVIEW, ())):
        review = Review(
            user=each.user,
            verb=each.verb,
            group=each.group,
            resource=each.resource,
            namespace=each.of_namespace,
            name=each.of_name,
            subresource=each.subresource,
            groups=each.groups,
        )
        found[review] = each.allowed
    return found
