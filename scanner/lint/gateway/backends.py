"""Where a Gateway speaks plaintext to backends behind listeners with TLS (GEP-1897, GEP-1911)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from scanner.files.source_positions import Steps, shown
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
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.gateway.attachment import Attachment, of_route
from scanner.lint.gateway.listeners import HOLDERS, Listener, gateway_of
from scanner.lint.gateway.policies import READS as POLICIES
from scanner.lint.gateway.policies import port_of, protected
from scanner.lint.gateway.routes import Backend, backends, strangers
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing
from scanner.model.gateway_classes import CONTOUR, controller_of
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ENCRYPTED: Final = frozenset({"https", "kubernetes.io/wss", "tls", "grpcs", "wss"})
"""Values of ``appProtocol`` that mean TLS (KEP-3726; IANA service names)."""
_NAMES: Final = ("https", "tls", "grpcs", "wss")
"""Beginnings of a port's name that mean TLS, as Istio reads them; the API gives names no meaning."""


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """What a TLS listener decrypts is encrypted again on its way to the backend."""
    every = of_route(subject.declared, subject.object)
    ended = any(_ending(every))
    missing = next((each.missing for each in every if each.missing and each.missing.gap), None)
    if not ended and missing is None:
        return
    contours = next((str(each) for each in _ending(every) if _is_contours(subject.declared, each)), "")
    for backend in backends(subject.object, subject.declared):
        if contours:  # a policy would change nothing
            yield _unread(backend, contours)
            continue
        answer = protected(subject.declared, backend)
        if answer is True:
            continue
        unseen = missing if not ended else answer
        if isinstance(unseen, Missing):
            yield undecided(unseen, backend.steps, "whether the Gateway encrypts what it sends to the backend")
        else:
            yield _unprotected(backend, "TLS ends at the Gateway, which speaks plaintext to")
    for steps, reference in strangers(subject.object, subject.declared):
        yield from _stranger(subject, steps, reference, None if ended else missing)


def _ending(every: Iterable[Attachment]) -> Iterator[Listener]:
    return (one.listener for each in every for one in each.attached if one.listener.terminates)


def _is_contours(declared: Declared, listener: Listener) -> bool:
    gateway = gateway_of(declared, listener.holder)
    return gateway is not None and controller_of(declared.known, gateway) == CONTOUR


def _unread(backend: Backend, listener: str) -> Flaw:
    return Flaw(
        message=(
            f"TLS ends at {listener}, which is Contour's: it speaks plaintext to the Service {shown(backend.name)}, "
            "since it looks at BackendTLSPolicies for HTTPRoutes alone"
        ),
        at=backend.steps,
        fix=f"{backend.route.reference}: a listener in mode Passthrough, or an HTTPRoute",
    )


def _stranger(subject: Subject, at: Steps, reference: Fields, unseen: Missing | None) -> Iterator[Flaw]:
    """An XBackend says itself whether it is spoken to over TLS; of other kinds nobody knows."""
    found: KubeObject | Missing | None = unseen
    if unseen is None and (reference.text("group"), reference.text("kind")) == (X_BACKEND.group, X_BACKEND.name):
        namespace = reference.text("namespace") or subject.object.namespace
        found = look_up(subject.declared, X_BACKEND, reference.text("name"), namespace)
    if found is None:
        message = (
            f"cannot be decided here: whether the Gateway encrypts what it sends to a {shown(reference.text('kind'))}"
        )
        yield Flaw(message=message, at=at, verdict="inconclusive")
    elif isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the Gateway encrypts what it sends to the backend")
    elif found.text("spec", "tls", "mode") in ("", "None"):
        yield Flaw(
            message=f"TLS ends at the Gateway, which speaks plaintext to {found.reference}",
            at=at,
            fix=f"{found.reference}: spec.tls",
        )


def _unprotected(backend: Backend, message: str) -> Flaw:
    home = f"  namespace: {backend.namespace}\n" if backend.namespace else ""
    return Flaw(
        message=f"{message} the Service {shown(backend.name)}: it has no BackendTLSPolicy",
        at=backend.steps,
        fix=f"a BackendTLSPolicy in {backend.namespace or 'the namespace'} of the Service {backend.name}",
        correction=(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\n"
            f"metadata:\n  name: {backend.name}\n{home}spec:\n"
            f'  targetRefs:\n  - group: ""\n    kind: Service\n    name: {backend.name}\n'
            '  validation:\n    hostname: NAME\n    caCertificateRefs:\n    - group: ""\n      kind: ConfigMap\n'
            "      name: CONFIGMAP"
        ),
    )


def check_protocol(subject: Subject) -> Iterator[Flaw]:
    """A backend that speaks TLS has a BackendTLSPolicy."""
    for backend in backends(subject.object, subject.declared):
        service = look_up(subject.declared, SERVICE, backend.name, backend.namespace)
        if isinstance(service, Missing):
            if service.gap:
                yield undecided(service, backend.steps, "whether the backend speaks TLS")
            continue
        port = port_of(service, backend.port)
        said = port.text("appProtocol") or port.text("name")
        if not _speaks_tls(port.text("appProtocol").lower(), port.text("name")):
            continue
        answer = protected(subject.declared, backend)
        if isinstance(answer, Missing):
            yield undecided(answer, backend.steps, f"whether the Gateway speaks TLS to a port that says {shown(said)}")
        elif not answer:
            yield _unprotected(backend, f"its port says {shown(said)}, and the Gateway speaks plaintext to")


def _speaks_tls(protocol: str, name: str) -> bool:
    return protocol in _ENCRYPTED if protocol else any(name == each or name.startswith(f"{each}-") for each in _NAMES)


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
