"""Plaintext from a Gateway to the backends of its TLS listeners (GEP-1897, GEP-1911)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.gateway import CONTOUR, HOLDERS, Listener, controller_of, gateway_of
from scanner.kube.gateway_routes import BackendRef, GatewayRoute, XBackend
from scanner.kube.kinds import (
    GATEWAY_CLASS,
    GRPC_ROUTE,
    HTTP_ROUTE,
    NAMESPACE,
    SERVICE,
    TCP_ROUTE,
    TLS_ROUTE,
    X_BACKEND,
)
from scanner.kube.objects import KubeObject
from scanner.lint.gateway.backend_tls import READS as POLICIES
from scanner.lint.gateway.backend_tls import port_of, protected, service_of
from scanner.lint.gateway.route_attachment import of_route
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ENCRYPTED: Final = frozenset({"https", "kubernetes.io/wss", "tls", "grpcs", "wss"})
"""Values of ``appProtocol`` that mean TLS (KEP-3726; IANA service names)."""
_NAMES: Final = ("https", "tls", "grpcs", "wss")
"""Prefixes of a port's name that mean TLS to Istio; the API gives names no meaning."""
_TLS: Final = ("ServerOnly", "ClientAndServer")
"""Modes of an XBackend with TLS."""


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """The Gateway encrypts what it sends to the backends of a TLS listener."""
    every = of_route(subject.declared, subject.object)
    terminating = [one.listener for each in every for one in each.attached if one.listener.terminates]
    missing = next((each.missing for each in every if each.missing and each.missing.gap), None)
    if not terminating and missing is None:
        return
    of_contour = next((str(each) for each in terminating if _is_contours(subject.declared, each)), "")
    route = GatewayRoute.of(subject.object)
    for backend in (each for each in route.backends if each.is_service):
        if of_contour:
            yield Flaw(
                message=(
                    f"TLS ends at {of_contour}: Contour sends plaintext to the Service {shown(backend.name)}, "
                    "because it applies BackendTLSPolicy to HTTPRoutes only"
                ),
                at=backend.steps,
                fix=f"{route.reference}: use a listener in mode Passthrough, or an HTTPRoute",
            )
            continue
        answer = protected(subject.declared, route, backend)
        if answer is True:
            continue
        unseen = answer if terminating else missing
        if isinstance(unseen, Missing):
            yield undecided(unseen, backend.steps, "whether the Gateway encrypts what it sends to the backend")
        else:
            yield _unprotected(route, backend, "TLS ends at the Gateway, which sends plaintext to")
    for backend in (each for each in route.backends if not each.is_service):
        yield from _other_kind(subject, backend, None if terminating else missing)


def _is_contours(declared: Declared, listener: Listener) -> bool:
    gateway = gateway_of(declared.known, listener.holder)
    return gateway is not None and controller_of(declared.known, gateway) == CONTOUR


def _other_kind(subject: Subject, reference: BackendRef, unseen: Missing | None) -> Iterator[Flaw]:
    """An XBackend has a TLS mode of its own; other kinds are unknown."""
    found: KubeObject | Missing | None = unseen
    at = reference.steps
    if unseen is None and (reference.group, reference.kind) == (X_BACKEND.group, X_BACKEND.name):
        namespace = reference.namespace or subject.object.namespace
        found = look_up(subject.declared, X_BACKEND, reference.name, namespace)
    if found is None:
        message = f"unknown: whether the Gateway encrypts what it sends to a {shown(reference.kind)}"
        yield Flaw(message=message, at=at, verdict="inconclusive")
    elif isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the Gateway encrypts what it sends to the backend")
    elif XBackend.of(found).is_plaintext:
        yield Flaw(
            message=f"TLS ends at the Gateway, which sends plaintext to {found.reference}",
            at=at,
            fix=f"{found.reference}: set spec.tls",
        )


def _unprotected(route: GatewayRoute, backend: BackendRef, message: str) -> Flaw:
    namespace, _ = service_of(route, backend)
    namespaced = f"  namespace: {namespace}\n" if namespace else ""
    return Flaw(
        message=f"{message} the Service {shown(backend.name)}: it has no BackendTLSPolicy",
        at=backend.steps,
        fix=f"create a BackendTLSPolicy for the Service {backend.name} in {namespace or 'its namespace'}",
        correction=(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\n"
            f"metadata:\n  name: {backend.name}\n{namespaced}spec:\n"
            f'  targetRefs:\n  - group: ""\n    kind: Service\n    name: {backend.name}\n'
            '  validation:\n    hostname: NAME\n    caCertificateRefs:\n    - group: ""\n      kind: ConfigMap\n'
            "      name: CONFIGMAP"
        ),
    )


def check_protocol(subject: Subject) -> Iterator[Flaw]:
    """A backend that requires TLS has a BackendTLSPolicy."""
    route = GatewayRoute.of(subject.object)
    for backend in (each for each in route.backends if each.is_service):
        namespace, name = service_of(route, backend)
        service = look_up(subject.declared, SERVICE, name, namespace)
        if isinstance(service, Missing):
            if service.gap:
                yield undecided(service, backend.steps, "whether the backend requires TLS")
            continue
        port = port_of(service, backend.port)
        if port is None or not _speaks_tls(port.app_protocol.lower(), port.name):
            continue
        protocol, answer = shown(port.app_protocol or port.name), protected(subject.declared, route, backend)
        if isinstance(answer, Missing):
            yield undecided(answer, backend.steps, f"whether the Gateway uses TLS to a port declared as {protocol}")
        elif not answer:
            yield _unprotected(
                route, backend, f"the port is declared as {protocol}, but the Gateway sends plaintext to"
            )


def _speaks_tls(protocol: str, name: str) -> bool:
    return protocol in _ENCRYPTED if protocol else any(name == each or name.startswith(f"{each}-") for each in _NAMES)


def check_external(subject: Subject) -> Iterator[Flaw]:
    """Traffic to a backend outside of the cluster uses TLS."""
    backend = XBackend.of(subject.object)
    if backend.type != "ExternalHostname":
        return
    mode = backend.mode
    if backend.is_plaintext:
        yield Flaw(
            message="traffic to a backend outside of the cluster is in plaintext",
            at=("spec", "tls", "mode"),
            expected=_TLS,
            observed=(mode or "no tls",),
            fix=f"{subject.object.reference}: set spec.tls.mode to ServerOnly, with a validation",
            correction="tls:\n  mode: ServerOnly\n  validation: {hostname: NAME, wellKnownCACertificates: System}",
        )
    elif mode not in _TLS:
        message = f"unknown: whether the mode {shown(mode)} means TLS"
        yield Flaw(message=message, at=("spec", "tls", "mode"), verdict="inconclusive")
    elif not backend.validation:
        message = "unknown: which CA and name an implementation validates with; none is set"
        yield Flaw(message=message, at=("spec", "tls", "validation"), verdict="inconclusive")


PLAINTEXT = ObjectRule(
    id="gateway-plaintext-backend",
    subjects=(TLS_ROUTE, TCP_ROUTE),
    check=check_plaintext,
    reads=(*HOLDERS, *POLICIES, X_BACKEND, NAMESPACE, GATEWAY_CLASS),
)
PROTOCOL = ObjectRule(
    id="gateway-backend-protocol",
    subjects=(HTTP_ROUTE, GRPC_ROUTE),
    check=check_protocol,
    reads=POLICIES,
)
EXTERNAL = ObjectRule(id="x-backend-plaintext", subjects=(X_BACKEND,), check=check_external)
