"""Gateways: OpenShift's own follow the APIServer under strict adherence; of others nothing in the cluster says.

cluster-ingress-operator ``pkg/operator/controller/gatewayclass/istio_sail_installer.go``: Istio gets a profile only if
adherence is strict and one is set. Strict adherence binds it all the same: no profile means the default one. An
IngressController's profile never reaches a Gateway, whose pods run in the same namespace.
"""

from __future__ import annotations

from dataclasses import replace

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.files.source_positions import shown
from scanner.kube.gateway import CONTOUR, GATEWAY_NAME, OPENSHIFT, Gateway, class_of
from scanner.kube.kinds import GATEWAY, GATEWAY_CLASS
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Binding, Lever

_OPTIONS = "spec.listeners[].tls.options"
"""Versions and suites have no field in the Gateway API; these options are each implementation's own."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile of a Gateway's listener, or of Istio's control plane beside it."""
    governed = draft.entry is not None and draft.entry.governor == "gateway"
    gateway = gateway_of(facts, draft)
    if gateway is None and not governed:
        return draft
    if gateway is None:
        return _openshift(facts, draft, "component catalogue", draft.entry.component if draft.entry else "")
    name = gateway.gateway_class_name
    found = class_of(facts.snapshot, gateway)
    source, field = str(gateway.reference), "spec.gatewayClassName"
    if found is None and (gap := facts.snapshot.gap(GATEWAY_CLASS)):
        reason = f"who answers for {source} is not known: GatewayClass could not be read: {gap}"
        return draft.requires(Unknown(reason), source, field, "unknown")
    controller = found.controller_name if found else ""
    draft = draft.says(source, field, f"{shown(name)}, of {shown(controller)}")
    if controller == OPENSHIFT:
        return _openshift(facts, draft, source, field)
    return _foreign(draft, source, controller)


def gateway_of(facts: Facts, draft: Draft) -> Gateway | None:
    """The Gateway that the endpoint is a listener of."""
    subject, labels = draft.endpoint.subject, dict(draft.endpoint.labels)
    found = None
    if subject is not None and subject.kind == GATEWAY.name:
        found = facts.snapshot.get(GATEWAY, subject.name, subject.namespace)
    elif GATEWAY_NAME in labels:
        found = facts.snapshot.get(GATEWAY, labels[GATEWAY_NAME], draft.endpoint.owner.namespace)
    return Gateway.of(found) if found else None


def _openshift(facts: Facts, draft: Draft, source: str, field: str) -> Draft:
    authority, entry = facts.cluster, draft.entry or facts.gateway
    where, at = authority.place
    lever = Lever(where=where, field=at, applied_by=entry.component if entry else "")
    draft = replace(draft, standing="platform", implementation="istio", entry=entry, lever=lever)
    strict = authority.adherence is not None and authority.adherence.strict
    if not strict:
        said = "adherence is not strict, so Istio keeps its own default, TLS 1.2 and later: not enforced"
        return replace(draft, binding="not-enforced").says(source, field, said)
    if authority.is_set:
        said = "strict adherence and a profile that is set: Istio gets it"
    else:
        said = "under strict adherence every component follows the cluster's profile, the default where none is set"
        draft = draft.remark(f"Istio gets a profile only where one is set: set {where} {at}")
    return replace(draft, binding="must-follow").says(source, field, said)


def _foreign(draft: Draft, source: str, controller: str) -> Draft:
    """What the policy file binds stays bound."""
    bound: Binding = "must-follow" if draft.standing == "user" and draft.binding == "must-follow" else "not-enforced"
    kind = "contour" if controller == CONTOUR else "other"
    said = f"the controller {shown(controller)} has a configuration of its own: nothing holds it to the cluster's"
    lever = Lever(where=source, field=_OPTIONS, others=(f"the configuration of the controller {shown(controller)}",))
    return replace(draft, binding=bound, implementation=kind, lever=lever).says(source, "spec.gatewayClassName", said)


_MESH = "mesh"
"""What discovery calls the component of such a listener."""
_BOUND_IN_MESH = "its pod says that it is in a service mesh: that lifts nothing from a part of the platform"
_MAY_BE_MESH = "its pod is in a service mesh, whose proxy may answer here by a configuration of its own"


def in_mesh(_: Facts, draft: Draft) -> Draft:
    """Keep the profile, and remark that the mesh may answer."""
    if draft.endpoint.component != _MESH:
        return draft
    return draft.remark(_BOUND_IN_MESH if draft.standing == "platform" else _MAY_BE_MESH)
