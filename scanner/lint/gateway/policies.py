"""BackendTLSPolicies in the shapes of all their versions, and which Services they protect.

v1alpha2 has ``spec.targetRef`` and ``spec.tls``; v1alpha3 and v1 have ``spec.targetRefs`` and ``spec.validation``
(Gateway API, the CRDs of releases 1.0, 1.1 and 1.4). What a version does not have is pruned, so only its own shape is
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps
from scanner.kube.kinds import BACKEND_TLS_POLICY, SERVICE, Kind
from scanner.kube.objects import Fields, KubeObject, Reference
from scanner.lint.gateway.routes import Backend
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing

READS: Final[tuple[Kind, ...]] = (BACKEND_TLS_POLICY, SERVICE)
_TARGETS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one version calls things."""

    targets: Steps
    block: tuple[str, ...]
    authorities: str
    well_known: str


_OLD: Final = Shape(
    targets=("spec", "targetRef"), block=("spec", "tls"), authorities="caCertRefs", well_known="wellKnownCACerts"
)
_NEW: Final = Shape(
    targets=("spec", "targetRefs"),
    block=("spec", "validation"),
    authorities="caCertificateRefs",
    well_known="wellKnownCACertificates",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a policy is for."""

    steps: Steps
    group: str
    kind: str
    name: str
    section: str
    """Name of a port of the Service; empty: all of them."""

    @property
    def is_service(self) -> bool:
        """The only kind that every implementation takes."""
        return (self.group, self.kind) == ("", "Service")


def shape_of(policy: KubeObject) -> Shape:
    """By its version."""
    return _OLD if policy.text("apiVersion").endswith("/v1alpha2") else _NEW


def targets(policy: KubeObject) -> tuple[Target, ...]:
    """Those of the policy's own shape."""
    shape = shape_of(policy)
    found = policy.at(*map(str, shape.targets))
    every = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
    return tuple(
        Target(
            steps=(*shape.targets, index) if isinstance(found, list) else shape.targets,
            group=Fields(each).text("group"),
            kind=Fields(each).text("kind"),
            name=Fields(each).text("name"),
            section=Fields(each).text("sectionName"),
        )
        for index, each in enumerate(every[:_TARGETS])
        if isinstance(each, dict)
    )


Service: TypeAlias = tuple[str | None, str]
"""Namespace and name."""


def policies(declared: Declared) -> Mapping[Service, list[tuple[KubeObject, Target]]]:
    """By the Service, the policies for it, those with precedence first: the oldest, then by namespace and name. Ask by
    ``declared.once``."""
    found: dict[Service, list[tuple[KubeObject, Target]]] = {}
    for policy in sorted(declared.every(BACKEND_TLS_POLICY), key=_precedence):
        for target in targets(policy):
            if target.is_service:
                found.setdefault((policy.namespace, target.name), []).append((policy, target))
    return found


def _precedence(policy: KubeObject) -> tuple[str, str, str]:
    """One that has no time yet is about to be created, and the youngest."""
    return policy.creation_timestamp or "~", policy.namespace or "", policy.name


def port_of(service: KubeObject, number: int | None) -> Fields:
    """The port of a Service; nothing where it has no such port."""
    return next((each for each in service.each("spec", "ports") if each.number("port") == number), Fields({}))


def protected(declared: Declared, backend: Backend) -> bool | Missing:
    """Whether a policy makes the Gateway speak TLS to the backend; or what is missing to tell."""
    found = declared.once(policies).get((backend.namespace, backend.name), [])
    if any(not target.section for _, target in found):
        return True
    if found:
        service = look_up(declared, SERVICE, backend.name, backend.namespace)
        if isinstance(service, Missing):
            return service if service.gap else False
        name = port_of(service, backend.port).text("name")
        others = {each.text("name") for each in service.each("spec", "ports")} - {name}
        if any(target.section not in others for _, target in found):
            return True  # or of no port of it: that is the policy's own finding (``backend-tls-target``)
    gap = declared.gap(BACKEND_TLS_POLICY)
    service_name = Reference(kind="Service", namespace=backend.namespace, name=backend.name)
    return Missing(name=f"a BackendTLSPolicy for {service_name}", gap=gap) if gap else False
