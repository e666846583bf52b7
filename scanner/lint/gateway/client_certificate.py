"""The certificate by which a Gateway identifies itself to backends (Gateway API apis/v1 ``GatewayBackendTLS``)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.files.source_positions import shown
from scanner.kube.gateway import HOLDERS, ROUTES, SETS
from scanner.kube.gateway_routes import GatewayRoute
from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, NAMESPACE
from scanner.lint.certificates import leaf_flaws
from scanner.lint.gateway.attachment import on_listener
from scanner.lint.gateway.backend_tls import READS as POLICIES
from scanner.lint.gateway.backend_tls import policies, service_of
from scanner.lint.gateway.certificate_refs import client_reference, secret_at
from scanner.lint.gateway.listeners import all_listeners
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import mend, secret_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


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
        fix = f"{mend(subject.declared, found.name, found.namespace)}: a certificate for clients"
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
    reads=(*HOLDERS, *ROUTES, *POLICIES, NAMESPACE),
)
