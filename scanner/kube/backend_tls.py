"""BackendTLSPolicies in the fields of all their versions, and the Services that they are for.

v1alpha2 has ``spec.targetRef`` and ``spec.tls``; v1alpha3 and v1 have ``spec.targetRefs`` and ``spec.validation``
(Gateway API, the CRDs of releases 1.0, 1.1 and 1.4). The API server drops what a version does not have, so only the
fields of an object's own version are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from scanner.kube.conditions import Condition
from scanner.kube.gateway import ObjectReference, precedence
from scanner.kube.gateway_routes import ParentRef
from scanner.kube.kinds import SERVICE
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.view import Part, Parts, Present, Text, View, Words

MAX_TARGETS: Final = 16
"""Targets of one policy (MaxItems)."""


class Target(View):
    """A target of a policy."""

    group = Text()
    kind = Text()
    name = Text()
    section_name = Text()
    """Name of a port of the Service; empty: all of them."""

    @property
    def is_service(self) -> bool:
        """Whether it is a Service, the only kind that every implementation takes."""
        return (self.group, self.kind) == (SERVICE.group, SERVICE.name)


class AlternativeName(View):
    """An entry of ``subjectAltNames``."""

    type = Text()
    hostname = Text()
    uri = Text()


class Validation(View):
    """How the backend's certificate is validated (``BackendTLSPolicyValidation``)."""

    hostname = Text()
    subject_alt_names = Parts(AlternativeName)
    ca_certificate_refs = Parts(ObjectReference)
    well_known = Text("wellKnownCACertificates")
    authorities_field = "caCertificateRefs"
    well_known_field = "wellKnownCACertificates"


class FormerValidation(Validation):
    """The same in v1alpha2."""

    ca_certificate_refs = Parts(ObjectReference, "caCertRefs")
    well_known = Text("wellKnownCACerts")
    authorities_field = "caCertRefs"
    well_known_field = "wellKnownCACerts"


class Ancestor(View):
    """An entry of ``status.ancestors``: what one controller does with the policy."""

    ancestor_ref = Part(ParentRef)
    controller_name = Text()
    conditions = Parts(Condition)


class BackendTLSPolicy(KubeObject):
    """A BackendTLSPolicy."""

    api_version = Text()
    options = Words("spec", "options")
    ancestors = Parts(Ancestor, "status", "ancestors")
    has_ancestors = Present("status", "ancestors")
    _targets = Parts(Target, "spec", "targetRefs")
    _former_target = Part(Target, "spec", "targetRef")
    _validation = Part(Validation, "spec", "validation")
    _former_validation = Part(FormerValidation, "spec", "tls")

    @property
    def is_former(self) -> bool:
        """Whether it has the fields of v1alpha2."""
        return self.api_version.endswith("/v1alpha2")

    @property
    def targets_at(self) -> Steps:
        """The field that names the targets."""
        return ("spec", "targetRef") if self.is_former else ("spec", "targetRefs")

    @property
    def every_target(self) -> tuple[Target, ...]:
        """The targets that its version reads."""
        if self.is_former:
            return (self._former_target,) if self._former_target else ()
        return self._targets

    @property
    def targets(self) -> tuple[Target, ...]:
        """The first 16."""
        return self.every_target[:MAX_TARGETS]

    @property
    def validation(self) -> Validation:
        """The validation that its version reads."""
        return self._former_validation if self.is_former else self._validation


class XBackend(KubeObject):
    """An XBackend (apisx/v1alpha1, experimental), which says itself whether it is called over TLS."""

    type = Text("spec", "type")
    mode = Text("spec", "tls", "mode")
    validation = Part(View, "spec", "tls", "validation")

    @property
    def is_plaintext(self) -> bool:
        """Whether it is called without TLS."""
        return self.mode in ("", "None")


ServiceName: TypeAlias = tuple[str | None, str]
"""Namespace and name."""


def by_service(policies: Iterable[KubeObject]) -> Mapping[ServiceName, list[tuple[BackendTLSPolicy, Target]]]:
    """By Service, the policies for it, the one with precedence first: the oldest, then by namespace and name."""
    found: dict[ServiceName, list[tuple[BackendTLSPolicy, Target]]] = {}
    for policy in sorted(map(BackendTLSPolicy.of, policies), key=precedence):
        for target in policy.targets:
            if target.is_service:
                found.setdefault((policy.namespace, target.name), []).append((policy, target))
    return found
