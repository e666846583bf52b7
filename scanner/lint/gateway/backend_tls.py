"""TLS from a Gateway to its backends: BackendTLSPolicies, the Services that they protect, and the Gateway's client
certificate (Gateway API apis/v1 ``BackendTLSPolicySpec``, ``GatewayBackendTLS``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.files.source_positions import dotted, shown
from scanner.kube.gateway import HOLDERS, ROUTES, SETS
from scanner.kube.gateway_routes import (
    AlternativeName,
    BackendRef,
    BackendTLSPolicy,
    GatewayRoute,
    PolicyTarget,
    ServiceName,
    policies_by_service,
)
from scanner.kube.hostnames import is_address
from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, NAMESPACE, SERVICE, Kind
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.schema import TextShape
from scanner.kube.service import Service, ServicePort
from scanner.lint.fields.constraints import LABELS
from scanner.lint.gateway.listener_certificates import client_reference, secret_at
from scanner.lint.gateway.listeners import all_listeners
from scanner.lint.gateway.route_attachment import of_route, on_listener
from scanner.lint.referenced_certificates import leaf_flaws
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import editable, look_up, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

READS: Final[tuple[Kind, ...]] = (BACKEND_TLS_POLICY, SERVICE)
"""Kinds that a rule must read to ask which Services are protected."""
_ANCESTORS: Final = 16
_MOST: Final = 100
"""References to one Service that are checked."""
_HOSTNAME: Final = TextShape(pattern=rf"^{LABELS}$", min_length=1, max_length=253)
"""Gateway API ``PreciseHostname``."""


# --- Which Services are protected -------------------------------------------------------------------------------------


def policies(declared: Declared) -> Mapping[ServiceName, list[tuple[BackendTLSPolicy, PolicyTarget]]]:
    """The policies of each Service, the one with precedence first; for ``Declared.once``."""
    return policies_by_service(declared.every(BACKEND_TLS_POLICY))


def service_of(route: KubeObject, backend: BackendRef) -> ServiceName:
    """Namespace and name of the Service of a route's backend."""
    return backend.namespace or route.namespace, backend.name


def port_of(service: KubeObject, number: int | None) -> ServicePort | None:
    """The port of a Service with this number."""
    return next((each for each in Service.of(service).ports if each.port == number), None)


def protected(declared: Declared, route: KubeObject, backend: BackendRef) -> bool | Missing:
    """True if a policy makes the Gateway use TLS to the backend; the missing object if that is unknown."""
    namespace, name = service_of(route, backend)
    found = declared.once(policies).get((namespace, name), [])
    if any(not target.section_name for _, target in found):
        return True
    if found:
        service = look_up(declared, SERVICE, name, namespace)
        if isinstance(service, Missing):
            return service if service.gap else False
        port = port_of(service, backend.port)
        others = {each.name for each in Service.of(service).ports} - {port.name if port else ""}
        if any(target.section_name not in others for _, target in found):
            return True  # or of no port of it: that is the policy's own finding (``backend-tls-target``)
    gap = declared.gap(BACKEND_TLS_POLICY)
    service_name = Reference(kind="Service", namespace=namespace, name=name)
    return Missing(name=f"a BackendTLSPolicy for {service_name}", gap=gap) if gap else False


def _routes_to(declared: Declared) -> Mapping[ServiceName, list[GatewayRoute]]:
    """The route of every reference to a Service, by Service."""
    found: dict[ServiceName, list[GatewayRoute]] = {}
    for kind in ROUTES:
        for route in map(GatewayRoute.of, declared.every(kind)):
            for each in (*route.backends, *route.filter_backends):
                if each.is_service:
                    found.setdefault(service_of(route, each), []).append(route)
    return found


# --- Rules ------------------------------------------------------------------------------------------------------------


def check_target(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy targets a Service behind a Gateway."""
    policy = BackendTLSPolicy.of(subject.object)
    if not policy.targets:
        yield Flaw(
            message=f"{dotted(policy.targets_at)} names no target",
            at=policy.targets_at,
            fix=f"{subject.object.reference}: name a Service",
        )
    seen: dict[tuple[str, str, str], set[str]] = {}
    for target in policy.targets:
        yield from _duplicate(target, seen.setdefault((target.group, target.kind, target.name), set()))
        if target.is_service:
            yield from _service_flaws(subject, target)
        else:
            message = f"unknown: whether the implementation accepts a {shown(target.kind)} as target"
            yield Flaw(message=message, at=target.steps, verdict="inconclusive")
    yield from _status_flaws(subject, policy)


def _duplicate(target: PolicyTarget, sections: set[str]) -> Iterator[Flaw]:
    """The API server's messages."""
    rest = "when targetRefs includes 2 or more references to the same target"
    if target.section_name in sections:
        yield Flaw(message=f"sectionName must be unique {rest}", at=target.steps)
    elif sections and (not target.section_name or "" in sections):
        yield Flaw(message=f"sectionName must be specified {rest}", at=target.steps)
    sections.add(target.section_name)


def _service_flaws(subject: Subject, target: PolicyTarget) -> Iterator[Flaw]:
    service = look_up(subject.declared, SERVICE, target.name, subject.object.namespace)
    fix = f"{subject.object.reference}: name the Service of the route, in the policy's namespace"
    if isinstance(service, Missing):
        if service.gap:
            yield undecided(service, target.steps, "whether the Service exists")
        else:
            yield Flaw(message=f"{service.name} does not exist: TargetNotFound", at=target.steps, fix=fix)
    elif target.section_name and not any(each.name == target.section_name for each in Service.of(service).ports):
        names = tuple(each.name for each in Service.of(service).ports[:10])
        yield Flaw(
            message=f"{service.reference} has no port with the name {shown(target.section_name)}",
            at=(*target.steps, "sectionName"),
            observed=names,
            fix=f"{subject.object.reference}: set sectionName to the name of the Service's port",
        )
    accepted, gap = _is_accepted(BackendTLSPolicy.of(subject.object)), _route_gap(subject)
    if not _routes(subject, target) and not accepted:
        if gap:
            missing = Missing(name=f"a route to the Service {target.name}", gap=gap)
            yield undecided(missing, target.steps, "whether the Service is behind a Gateway")
        else:
            yield Flaw(
                message=f"no route leads to the Service {target.name}: only a mesh or the implementation may use it",
                at=target.steps,
                severity="info",
                fix=fix,
            )
    winner = _winner(subject, target)
    if winner is not None:
        status = ", but the status accepts both" if accepted else ": Conflicted"
        yield Flaw(
            message=f"{winner.reference} has the same target and takes precedence{status}",
            at=target.steps,
            fix=f"{subject.object.reference}: remove the target, or remove {winner.reference}",
        )


def _routes(subject: Subject, target: PolicyTarget) -> list[GatewayRoute]:
    return subject.declared.once(_routes_to).get((subject.object.namespace, target.name), [])


def _route_gap(subject: Subject) -> str | None:
    return next((gap for kind in ROUTES if (gap := subject.declared.gap(kind))), None)


def _winner(subject: Subject, target: PolicyTarget) -> BackendTLSPolicy | None:
    """The policy that applies to the target instead of this one."""
    own = BackendTLSPolicy.of(subject.object)
    every = subject.declared.once(policies).get((subject.object.namespace, target.name), [])
    same = [policy for policy, each in every if each.section_name == target.section_name and not _is_refused(policy)]
    first = next((each for each in same if _is_accepted(each)), next(iter(same), own))
    return None if first.name == own.name or _is_refused(own) else first


def _acceptance(policy: BackendTLSPolicy) -> set[tuple[str, str]]:
    """Status and reason of the condition ``Accepted``, for each ancestor."""
    every = (one for each in policy.ancestors[:_ANCESTORS] for one in each.conditions)
    return {(each.status, each.reason) for each in every if each.type == "Accepted"}


def _is_accepted(policy: BackendTLSPolicy) -> bool:
    return any(status == "True" for status, _ in _acceptance(policy))


def _is_refused(policy: BackendTLSPolicy) -> bool:
    """True if every ancestor refuses it, for another reason than a conflict with another policy."""
    found = _acceptance(policy)
    return bool(found) and all(status == "False" and reason != "Conflicted" for status, reason in found)


def _status_flaws(subject: Subject, policy: BackendTLSPolicy) -> Iterator[Flaw]:
    if policy.has_ancestors and not policy.ancestors:
        yield Flaw(message="its status names no Gateway that applies it", at=("status", "ancestors"))
    lost = any(_winner(subject, target) for target in policy.targets if target.is_service)
    for each in policy.ancestors[:_ANCESTORS]:
        for condition in each.conditions:
            if condition.type in ("Accepted", "ResolvedRefs") and condition.status == "False":
                if lost and condition.reason == "Conflicted":
                    continue  # reported at the target, with the policy that takes precedence
                reason = f"{condition.type} is False: {shown(condition.reason)}"
                name = shown(each.ancestor_ref.name)
                yield Flaw(message=f"Gateway {name} does not apply it: {reason}", at=(*each.steps, "conditions"))


def check_passthrough(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy targets a Service to which the Gateway itself opens the TLS connection."""
    for target in BackendTLSPolicy.of(subject.object).targets:
        routes = _routes(subject, target)[:_MOST] if target.is_service else []
        every = [each for route in routes for each in of_route(subject.declared, route)]
        if any(one.listener.mode != "Passthrough" for each in every for one in each.attached):
            continue
        missing = next((each.missing for each in every if each.missing and each.missing.gap), None)
        gap = _route_gap(subject)
        if target.is_service and (missing or gap):
            unseen = missing or Missing(name=f"a route to the Service {target.name}", gap=gap)
            yield undecided(unseen, target.steps, "whether the Gateway itself opens TLS connections to the Service")
        elif any(each.attached for each in every):
            message = f"the Gateway only passes TLS through to the Service {target.name}: the policy has no effect"
            yield Flaw(message=message, at=target.steps, fix=f"{subject.object.reference}: remove the target")


def check_validation(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy sets the CA and the name that the backend is validated with."""
    validation = BackendTLSPolicy.of(subject.object).validation
    references, known = validation.ca_certificate_refs, validation.well_known
    fix = f"{subject.object.reference}: "
    if references and known:
        message = "must not contain both CACertificateRefs and WellKnownCACertificates"
        yield Flaw(message=message, at=(*validation.steps, validation.well_known_field), fix=f"{fix}remove one")
    if not references and not known:
        message = "must specify either CACertificateRefs or WellKnownCACertificates"
        yield Flaw(message=message, at=(*validation.steps, validation.authorities_field), fix=f"{fix}name the CA")
    hostname = validation.hostname
    if not _HOSTNAME.accepts(hostname) or is_address(hostname):
        message = f"hostname {shown(hostname)} is not a DNS name in lower case" if hostname else "has no hostname"
        yield Flaw(
            message=message, at=(*validation.steps, "hostname"), fix=f"{fix}set hostname to the backend's DNS name"
        )
    for reference in references:
        if reference.has_namespace:
            message = "unknown field namespace, removed by the API server: the CA must be in the policy's namespace"
            yield Flaw(message=message, at=(*reference.steps, "namespace"), severity="medium")
    for each in validation.subject_alt_names:
        yield from islice(_alternative(each), 1)  # one correction for each name


def _alternative(name: AlternativeName) -> Iterator[Flaw]:
    """The API server's messages, except for the wildcard."""
    at = name.steps
    for kind, field, value in (("Hostname", "hostname", name.hostname), ("URI", "uri", name.uri)):
        if name.type == kind and not value:
            yield Flaw(message=f"SubjectAltName element must contain {kind}, if Type is set to {kind}", at=at)
        if name.type != kind and value:
            message = f"SubjectAltName element must not contain {kind}, if Type is not set to {kind}"
            yield Flaw(message=message, at=(*at, field))
    if name.hostname.startswith("*"):
        message = "implementations compare a wildcard in different ways"
        yield Flaw(message=message, at=(*at, "hostname"), severity="medium")


def check_names(subject: Subject) -> Iterator[Flaw]:
    """The hostname of a BackendTLSPolicy is among its subjectAltNames, if it has any."""
    validation = BackendTLSPolicy.of(subject.object).validation
    at = (*validation.steps, "subjectAltNames")
    names = [each.hostname.lower() for each in validation.subject_alt_names]
    hostname = validation.hostname.lower()
    if names and hostname not in names:
        yield Flaw(
            message=f"with subjectAltNames the Gateway rejects a certificate for {shown(hostname)} only",
            at=at,
            fix=f"{subject.object.reference}: add {shown(hostname)} to subjectAltNames",
        )


# --- The Gateway's client certificate ---------------------------------------------------------------------------------


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A Gateway's client certificate has its private key and is valid for clients."""
    link = client_reference(subject.object)
    if link is None:
        return
    if not link.is_secret:
        named = "/".join(filter(None, (link.group, link.kind)))
        message = f"refers to {shown(named)}, not to a Secret: InvalidClientCertificateRef"
        yield Flaw(message=message, at=link.steps, fix=f"{subject.object.reference}: name a Secret")
        return
    found = secret_at(subject.declared, link)
    yield from secret_flaws(subject.declared, found, link.steps)
    if not isinstance(found, Missing):
        fix = f"{editable(subject.declared, found.name, found.namespace)}: use a certificate for clients"
        now = subject.declared.known.taken_at
        yield from leaf_flaws(found, link.steps, now, usage="clientAuth", fix=fix)


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A Gateway with a client certificate uses TLS to at least one backend."""
    link = client_reference(subject.object)
    if link is None or _is_used(subject):
        return
    gaps = [gap for kind in (*ROUTES, *SETS, BACKEND_TLS_POLICY) if (gap := subject.declared.gap(kind))]
    if gaps:
        missing = Missing(name="a BackendTLSPolicy behind its routes", gap=gaps[0])
        yield undecided(missing, link.steps, "whether the client certificate is used")
    else:
        message = "no BackendTLSPolicy targets a Service behind this Gateway: the client certificate is not used"
        fix = "create a BackendTLSPolicy for each Service that requires a client certificate"
        yield Flaw(message=message, at=link.steps, fix=fix)


def _is_used(subject: Subject) -> bool:
    known = subject.declared.once(policies)
    for listener in all_listeners(subject.declared, subject.object):
        for attached in on_listener(subject.declared, listener) if listener.mode != "Passthrough" else ():
            route = GatewayRoute.of(attached.route)
            if any(each.is_service and service_of(route, each) in known for each in route.backends):
                return True
    return False


TARGET = ObjectRule(
    id="backend-tls-target",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_target,
    reads=(*ROUTES, SERVICE),
)
PASSTHROUGH = ObjectRule(
    id="backend-tls-passthrough",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_passthrough,
    reads=(*ROUTES, *HOLDERS, NAMESPACE),
)
VALIDATION = ObjectRule(id="backend-tls-validation", subjects=(BACKEND_TLS_POLICY,), check=check_validation)
NAMES = ObjectRule(id="backend-tls-names", subjects=(BACKEND_TLS_POLICY,), check=check_names)
CERTIFICATE = ObjectRule(id="gateway-client-certificate", subjects=(GATEWAY,), check=check_certificate, reads=SECRETS)
UNUSED = ObjectRule(
    id="gateway-client-certificate-unused",
    subjects=(GATEWAY,),
    check=check_unused,
    reads=(*HOLDERS, *ROUTES, *READS, NAMESPACE),
)
