"""BackendTLSPolicies: what they are for, by which names they validate, and which Services they protect (Gateway API
apis/v1 ``BackendTLSPolicySpec``)."""

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
    by_service,
)
from scanner.kube.hostnames import is_address
from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, NAMESPACE, SERVICE, Kind
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.schema import TextShape
from scanner.kube.service import Service, ServicePort
from scanner.lint.certificates import leaf_flaws
from scanner.lint.fields.constraints import LABELS
from scanner.lint.gateway.listener_certificates import client_reference, secret_at
from scanner.lint.gateway.listeners import all_listeners
from scanner.lint.gateway.route_attachment import of_route, on_listener
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import editable, look_up, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

READS: Final[tuple[Kind, ...]] = (BACKEND_TLS_POLICY, SERVICE)
"""What a rule must read that asks which Services are protected."""
_ANCESTORS: Final = 16
_MOST: Final = 100
"""References to one Service that are looked at."""
_HOSTNAME: Final = TextShape(pattern=rf"^{LABELS}$", min_length=1, max_length=253)
"""Gateway API ``PreciseHostname``."""


# --- Which Services are protected -------------------------------------------------------------------------------------


def policies(declared: Declared) -> Mapping[ServiceName, list[tuple[BackendTLSPolicy, PolicyTarget]]]:
    """By Service, the policies for it, the one with precedence first. Ask by ``declared.once``."""
    return by_service(declared.every(BACKEND_TLS_POLICY))


def service_of(route: KubeObject, backend: BackendRef) -> ServiceName:
    """Namespace and name of the Service that a route leads to."""
    return backend.namespace or route.namespace, backend.name


def port_of(service: KubeObject, number: int | None) -> ServicePort | None:
    """The port of a Service; None where it has no such port."""
    return next((each for each in Service.of(service).ports if each.port == number), None)


def protected(declared: Declared, route: KubeObject, backend: BackendRef) -> bool | Missing:
    """Whether a policy makes the Gateway speak TLS to the backend; or what is missing to decide it."""
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


def _leading_to(declared: Declared) -> Mapping[ServiceName, list[GatewayRoute]]:
    """By Service, the route of every reference to it."""
    found: dict[ServiceName, list[GatewayRoute]] = {}
    for kind in ROUTES:
        for route in map(GatewayRoute.of, declared.every(kind)):
            for each in (*route.backends, *route.filter_backends):
                if each.is_service:
                    found.setdefault(service_of(route, each), []).append(route)
    return found


# --- Rules ------------------------------------------------------------------------------------------------------------


def check_target(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy is for a Service that a Gateway leads to."""
    policy = BackendTLSPolicy.of(subject.object)
    if not policy.targets:
        yield Flaw(
            message=f"{dotted(policy.targets_at)} names no target",
            at=policy.targets_at,
            fix=f"{subject.object.reference}: name a Service",
        )
    seen: dict[tuple[str, str, str], set[str]] = {}
    for target in policy.targets:
        yield from _twice(target, seen.setdefault((target.group, target.kind, target.name), set()))
        if target.is_service:
            yield from _of_service(subject, target)
        else:
            message = f"not decided: whether a {shown(target.kind)} can be a target is the implementation's"
            yield Flaw(message=message, at=target.steps, verdict="inconclusive")
    yield from _status(subject, policy)


def _twice(target: PolicyTarget, sections: set[str]) -> Iterator[Flaw]:
    """The API server's messages."""
    rest = "when targetRefs includes 2 or more references to the same target"
    if target.section_name in sections:
        yield Flaw(message=f"sectionName must be unique {rest}", at=target.steps)
    elif sections and (not target.section_name or "" in sections):
        yield Flaw(message=f"sectionName must be specified {rest}", at=target.steps)
    sections.add(target.section_name)


def _of_service(subject: Subject, target: PolicyTarget) -> Iterator[Flaw]:
    service = look_up(subject.declared, SERVICE, target.name, subject.object.namespace)
    if isinstance(service, Missing):
        if service.gap:
            yield undecided(service, target.steps, "whether there is a Service to protect")
        else:
            yield Flaw(message=f"{service.name} does not exist: TargetNotFound", at=target.steps, fix=_fix(subject))
    elif target.section_name and not any(each.name == target.section_name for each in Service.of(service).ports):
        names = tuple(each.name for each in Service.of(service).ports[:10])
        yield Flaw(
            message=f"{service.reference} has no port with the name {shown(target.section_name)}",
            at=(*target.steps, "sectionName"),
            observed=names,
            fix=f"{subject.object.reference}: the name of the Service's port",
        )
    yield from _unreached(subject, target)
    yield from _second(subject, target)


def _fix(subject: Subject) -> str:
    return f"{subject.object.reference}: the Service that the route names, in its namespace"


def _unreached(subject: Subject, target: PolicyTarget) -> Iterator[Flaw]:
    if _leading(subject, target) or _is_accepted(BackendTLSPolicy.of(subject.object)):
        return
    gap = _route_gap(subject)
    if gap:
        missing = Missing(name=f"a route to the Service {target.name}", gap=gap)
        yield undecided(missing, target.steps, "whether a Gateway leads to the Service")
    else:
        yield Flaw(
            message=f"no route leads to the Service {target.name}: a mesh or an implementation's own policy may use it",
            at=target.steps,
            severity="info",
            fix=_fix(subject),
        )


def _leading(subject: Subject, target: PolicyTarget) -> list[GatewayRoute]:
    return subject.declared.once(_leading_to).get((subject.object.namespace, target.name), [])


def _route_gap(subject: Subject) -> str | None:
    return next((gap for kind in ROUTES if (gap := subject.declared.gap(kind))), None)


def _second(subject: Subject, target: PolicyTarget) -> Iterator[Flaw]:
    winner = _winner(subject, target)
    if winner is not None:
        odd = (
            ", though the status accepts both" if _is_accepted(BackendTLSPolicy.of(subject.object)) else ": Conflicted"
        )
        yield Flaw(
            message=f"{winner.reference} has the same target and takes precedence{odd}",
            at=target.steps,
            fix=f"{subject.object.reference}: remove the target, or {winner.reference}",
        )


def _winner(subject: Subject, target: PolicyTarget) -> BackendTLSPolicy | None:
    """The policy that counts for the target instead of this one."""
    own = BackendTLSPolicy.of(subject.object)
    every = subject.declared.once(policies).get((subject.object.namespace, target.name), [])
    same = [policy for policy, each in every if each.section_name == target.section_name and not _is_refused(policy)]
    first = next((each for each in same if _is_accepted(each)), next(iter(same), own))
    return None if first.name == own.name or _is_refused(own) else first


def _acceptance(policy: BackendTLSPolicy) -> set[tuple[str, str]]:
    """Status and reason of ``Accepted``, of each ancestor."""
    every = (one for each in policy.ancestors[:_ANCESTORS] for one in each.conditions)
    return {(each.status, each.reason) for each in every if each.type == "Accepted"}


def _is_accepted(policy: BackendTLSPolicy) -> bool:
    return any(status == "True" for status, _ in _acceptance(policy))


def _is_refused(policy: BackendTLSPolicy) -> bool:
    """By every ancestor, and not because another policy has its target."""
    said = _acceptance(policy)
    return bool(said) and all(status == "False" and reason != "Conflicted" for status, reason in said)


def _status(subject: Subject, policy: BackendTLSPolicy) -> Iterator[Flaw]:
    if policy.has_ancestors and not policy.ancestors:
        yield Flaw(message="its status names no Gateway that applies it", at=("status", "ancestors"))
    lost = any(_winner(subject, target) for target in policy.targets if target.is_service)
    for each in policy.ancestors[:_ANCESTORS]:
        for condition in each.conditions:
            if condition.type in ("Accepted", "ResolvedRefs") and condition.status == "False":
                if lost and condition.reason == "Conflicted":
                    continue  # said at the target, with the policy that takes precedence
                said = f"{condition.type} is False: {shown(condition.reason)}"
                name = shown(each.ancestor_ref.name)
                yield Flaw(message=f"Gateway {name} does not apply it: {said}", at=(*each.steps, "conditions"))


def check_passthrough(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy is for traffic that the Gateway encrypts itself."""
    for target in BackendTLSPolicy.of(subject.object).targets:
        leading = _leading(subject, target)[:_MOST] if target.is_service else []
        every = [each for route in leading for each in of_route(subject.declared, route)]
        if any(one.listener.mode != "Passthrough" for each in every for one in each.attached):
            continue
        missing = next((each.missing for each in every if each.missing and each.missing.gap), None)
        gap = _route_gap(subject)
        if target.is_service and (missing or gap):
            unseen = missing or Missing(name=f"a route to the Service {target.name}", gap=gap)
            yield undecided(unseen, target.steps, "whether the Gateway itself speaks TLS to the Service")
        elif any(each.attached for each in every):
            message = f"TLS is only passed through to the Service {target.name}: the policy has no effect"
            yield Flaw(message=message, at=target.steps, fix=f"{subject.object.reference}: remove the target")


def check_validation(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy says by which CA and which name the backend is validated."""
    validation = BackendTLSPolicy.of(subject.object).validation
    given, known = validation.ca_certificate_refs, validation.well_known
    fix = f"{subject.object.reference}: "
    if given and known:
        message = "must not contain both CACertificateRefs and WellKnownCACertificates"
        yield Flaw(
            message=message,
            at=(*validation.steps, validation.well_known_field),
            fix=f"{fix}remove one",
        )
    if not given and not known:
        message = "must specify either CACertificateRefs or WellKnownCACertificates"
        yield Flaw(
            message=message,
            at=(*validation.steps, validation.authorities_field),
            fix=f"{fix}name the CA",
        )
    hostname = validation.hostname
    if not _HOSTNAME.accepts(hostname) or is_address(hostname):
        message = (
            f"hostname must be one DNS name in lower case, which {shown(hostname)} is not"
            if hostname
            else "has no hostname"
        )
        yield Flaw(
            message=message, at=(*validation.steps, "hostname"), fix=f"{subject.object.reference}: the backend's name"
        )
    for reference in validation.ca_certificate_refs:
        if reference.has_namespace:
            message = "a reference has no namespace here, and a ReferenceGrant cannot help: it is pruned"
            yield Flaw(message=message, at=(*reference.steps, "namespace"), severity="medium")
    for each in validation.subject_alt_names:
        yield from islice(_alternative(each), 1)  # of one name, one thing to correct


def _alternative(name: AlternativeName) -> Iterator[Flaw]:
    """The API server's messages, but for the wildcard."""
    at = name.steps
    for kind, field, value in (("Hostname", "hostname", name.hostname), ("URI", "uri", name.uri)):
        if name.type == kind and not value:
            yield Flaw(message=f"SubjectAltName element must contain {kind}, if Type is set to {kind}", at=at)
        if name.type != kind and value:
            message = f"SubjectAltName element must not contain {kind}, if Type is not set to {kind}"
            yield Flaw(message=message, at=(*at, field))
    if name.hostname.startswith("*"):
        yield Flaw(
            message="implementations compare a wildcard in different ways", at=(*at, "hostname"), severity="medium"
        )


def check_names(subject: Subject) -> Iterator[Flaw]:
    """The hostname of a BackendTLSPolicy is among its subjectAltNames, if it has any."""
    validation = BackendTLSPolicy.of(subject.object).validation
    at = (*validation.steps, "subjectAltNames")
    names = [each.hostname.lower() for each in validation.subject_alt_names]
    hostname = validation.hostname.lower()
    if names and hostname not in names:
        yield Flaw(
            message=f"a certificate for {shown(hostname)} alone is rejected: only subjectAltNames are checked",
            at=at,
            fix=f"{subject.object.reference}: add the hostname to subjectAltNames",
        )


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


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A Gateway's client certificate is one with its key, for clients."""
    link = client_reference(subject.object)
    if link is None:
        return
    if not link.is_secret:
        named = "/".join(filter(None, (link.group, link.kind)))
        message = f"refers to {shown(named)}, not to a Secret: InvalidClientCertificateRef"
        yield Flaw(message=message, at=link.steps, fix=f"{subject.object.reference}: the name of a Secret")
        return
    found = secret_at(subject.declared, link)
    yield from secret_flaws(subject.declared, found, link.steps)
    if not isinstance(found, Missing):
        fix = f"{editable(subject.declared, found.name, found.namespace)}: a certificate for clients"
        now = subject.declared.known.taken_at
        yield from leaf_flaws(found, link.steps, now, usage="clientAuth", fix=fix)


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A Gateway with a client certificate speaks TLS to some backend."""
    link = client_reference(subject.object)
    if link is None or _is_used(subject):
        return
    gaps = [gap for kind in (*ROUTES, *SETS, BACKEND_TLS_POLICY) if (gap := subject.declared.gap(kind))]
    if gaps:
        missing = Missing(name="a BackendTLSPolicy behind its routes", gap=gaps[0])
        yield undecided(missing, link.steps, "whether the client certificate is ever shown")
    else:
        message = "no BackendTLSPolicy is for a Service behind this Gateway: the certificate is never shown"
        yield Flaw(
            message=message, at=link.steps, fix="a BackendTLSPolicy for each Service that asks for a certificate"
        )


def _is_used(subject: Subject) -> bool:
    known = subject.declared.once(policies)
    for listener in all_listeners(subject.declared, subject.object):
        for attached in on_listener(subject.declared, listener) if listener.mode != "Passthrough" else ():
            route = GatewayRoute.of(attached.route)
            if any(each.is_service and service_of(route, each) in known for each in route.backends):
                return True
    return False


CERTIFICATE = ObjectRule(id="gateway-client-certificate", subjects=(GATEWAY,), check=check_certificate, reads=SECRETS)
UNUSED = ObjectRule(
    id="gateway-client-certificate-unused",
    subjects=(GATEWAY,),
    check=check_unused,
    reads=(*HOLDERS, *ROUTES, *READS, NAMESPACE),
)
