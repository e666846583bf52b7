"""Gateways: OpenShift's own follow the APIServer under strict adherence; others have their own configuration.

cluster-ingress-operator ``pkg/operator/controller/gatewayclass/istio_sail_installer.go``: Istio gets a profile only if
adherence is strict and one is set. Strict adherence enforces the default profile if none is set. An
IngressController's profile never reaches a Gateway, although its pods run in the same namespace.
"""

from __future__ import annotations

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.files.source_positions import shown
from scanner.kube.gateway import CONTOUR, GATEWAY_NAME, OPENSHIFT, Gateway, class_of
from scanner.kube.kinds import GATEWAY, GATEWAY_CLASS
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Binding, Lever
from scanner.values import replace

_OPTIONS = "spec.listeners[].tls.options"
"""The Gateway API has no field for versions and suites; these options are implementation-specific."""


def resolve(facts: Facts, partial: Partial) -> Partial:
    """The profile of a Gateway's listener, or of Istio's control plane beside it."""
    governed = partial.entry is not None and partial.entry.governor == "gateway"
    gateway = gateway_of(facts, partial)
    if gateway is None and not governed:
        return partial
    if gateway is None:
        return _openshift(facts, partial, "component catalogue", partial.entry.component if partial.entry else "")
    name = gateway.gateway_class_name
    found = class_of(facts.snapshot, gateway)
    source, field = str(gateway.reference), "spec.gatewayClassName"
    if found is None and (gap := facts.snapshot.gap(GATEWAY_CLASS)):
        reason = f"the controller of {source} is unknown: GatewayClass could not be read: {gap}"
        return partial.requires(Unknown(reason), source, field, "unknown")
    controller = found.controller_name if found else ""
    partial = partial.step(source, field, f"{shown(name)}, of {shown(controller)}")
    if controller == OPENSHIFT:
        return _openshift(facts, partial, source, field)
    return _foreign(partial, source, controller)


def gateway_of(facts: Facts, partial: Partial) -> Gateway | None:
    """The Gateway that the endpoint is a listener of."""
    subject, labels = partial.endpoint.subject, dict(partial.endpoint.labels)
    found = None
    if subject is not None and subject.kind == GATEWAY.name:
        found = facts.snapshot.get(GATEWAY, subject.name, subject.namespace)
    elif GATEWAY_NAME in labels:
        found = facts.snapshot.get(GATEWAY, labels[GATEWAY_NAME], partial.endpoint.owner.namespace)
    return Gateway.of(found) if found else None


def _openshift(facts: Facts, partial: Partial, source: str, field: str) -> Partial:
    authority, entry = facts.cluster, partial.entry or facts.gateway
    where, at = authority.place
    lever = Lever(where=where, field=at, applied_by=entry.component if entry else "")
    partial = replace(partial, standing="platform", implementation="istio", entry=entry, lever=lever)
    strict = authority.adherence is not None and authority.adherence.strict
    if not strict:
        text = (
            "adherence is not strict, so Istio keeps its own default, TLS 1.2 and later: not enforced "
            "(a deviation is reported, but does not change the exit code)"
        )
        return replace(partial, binding="not-enforced").step(source, field, text)
    if authority.is_set:
        text = "strict adherence and a profile is set: the operator configures Istio with it"
    else:
        text = "under strict adherence every component follows the cluster's profile, or the default if none is set"
        partial = partial.remark(f"the operator configures Istio only if a profile is set: set {where} {at}")
    return replace(partial, binding="must-follow").step(source, field, text)


def _foreign(partial: Partial, source: str, controller: str) -> Partial:
    """The profile is not enforced, unless the policy file enforces it."""
    bound: Binding = (
        "must-follow" if partial.standing == "user" and partial.binding == "must-follow" else "not-enforced"
    )
    kind = "contour" if controller == CONTOUR else "other"
    text = (
        f"the controller {shown(controller)} has its own configuration: the cluster's profile is not enforced there "
        "(a deviation is reported, but does not change the exit code)"
    )
    lever = Lever(where=source, field=_OPTIONS, others=(f"the configuration of the controller {shown(controller)}",))
    return replace(partial, binding=bound, implementation=kind, lever=lever).step(source, "spec.gatewayClassName", text)


_MESH = "mesh"
"""Discovery's component name for such a listener."""
_BOUND_IN_MESH = "its pod is in a service mesh, but the platform's profile still applies"
_MAY_BE_MESH = "its pod is in a service mesh, whose proxy may answer here with its own configuration"


def in_mesh(_: Facts, partial: Partial) -> Partial:
    """Keep the profile, and remark that the mesh may answer."""
    if partial.endpoint.component != _MESH:
        return partial
    return partial.remark(_BOUND_IN_MESH if partial.standing == "platform" else _MAY_BE_MESH)
