"""Behind the router: what a Route that re-encrypts verifies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.ingress import Route
from scanner.kube.kinds import ROUTE, SERVICE
from scanner.kube.objects import Steps
from scanner.kube.secrets import SERVICE_CA, service_ca_secret
from scanner.lint import references
from scanner.lint.certificates import broken_flaws, chain_of, ended, flaws, instead_of, is_no_ca, of_text
from scanner.lint.openshift.route_certificate import old_signature, unknown_block
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_DESTINATION: Final = ("spec", "tls", "destinationCACertificate")
_BACKENDS: Final = 4
"""Services that the API allows one Route."""


def check_backend_name(subject: Subject) -> Iterator[Flaw]:
    """A router that re-encrypts verifies the name of its backend."""
    route = Route.of(subject.object)
    if route.termination == "reencrypt" and route.tls.destination_ca:
        yield Flaw(
            message="the router verifies the backend's chain with this CA, but not its hostname",
            at=_DESTINATION,
            fix="use a backend certificate of the service CA, and remove destinationCACertificate",
        )


def check_backend_trust(subject: Subject) -> Iterator[Flaw]:
    """A router that re-encrypts can verify its backend."""
    route = Route.of(subject.object)
    if route.termination != "reencrypt" or not route.has_tls:
        return
    if text := route.tls.destination_ca:
        yield from _anchors(subject, text)
    else:
        yield from _services(subject)


def _anchors(subject: Subject, text: str) -> Iterator[Flaw]:
    found = of_text(text)
    if not found:
        says = f"the router rejects it: failed to parse destination CA certificate{instead_of(text)}"
        yield Flaw(message=says, at=_DESTINATION, severity="high", fix="give CA certificates in PEM")
    fix = f"{subject.object.reference}: give the CA of the backend's certificate"
    yield from broken_flaws(
        subject.object, found, _DESTINATION, name="destinationCACertificate", severity="high", fix=fix
    )
    faults = ((None, is_no_ca), (None, ended(subject.declared.known.taken_at)))
    yield from unknown_block(text, _DESTINATION)
    for each in found:
        yield from flaws(subject.object, each, _DESTINATION, faults, fix=fix)
        yield from old_signature(each, _DESTINATION)
    for _, name in _backends(subject) if found else ():
        yield from _issued(subject, name, {each.subject for each in found})


def _issued(subject: Subject, name: str, subjects: set[str | None]) -> Iterator[Flaw]:
    """Whether the certificate that the service CA made for a Service is of one of the CAs, by the names."""
    service = subject.find(SERVICE, name)
    named = "" if isinstance(service, Missing) else service_ca_secret(service)
    secret = secret_of(subject, named) if named else None
    if secret is None or isinstance(secret, Missing):
        return
    chain = chain_of(secret)
    if chain and not subjects.intersection(each.issuer for each in chain):
        yield Flaw(
            message=f"no CA of it has issued the certificate in {secret.reference}, which the backend serves",
            at=_DESTINATION,
            expected=((chain[0].issuer or "")[:200],),
            fix="remove destinationCACertificate, for the service CA made the backend's certificate",
        )


def _services(subject: Subject) -> Iterator[Flaw]:
    for steps, name in _backends(subject):
        service = subject.find(SERVICE, name)
        if isinstance(service, Missing):
            if service.gap:
                yield undecided(service, steps, "whether the router can verify the backend")
            else:
                yield Flaw(message=f"{service.name} does not exist", at=steps, fix=f"create {service.name}")
        elif not service_ca_secret(service):
            yield Flaw(
                message=f"{service.reference} has no certificate of the service CA, which the router uses to verify it",
                at=steps,
                fix=f"annotate {service.reference} with {SERVICE_CA[0]}, or give destinationCACertificate",
                correction=f"metadata:\n  annotations:\n    {SERVICE_CA[0]}: {name}-tls",
            )


def _backends(subject: Subject) -> Iterator[tuple[Steps, str]]:
    for each in Route.of(subject.object).backends[:_BACKENDS]:
        if each.service:
            yield (*each.steps, "name"), each.service


BACKEND_NAME = ObjectRule(id="route-backend-name", subjects=(ROUTE,), check=check_backend_name)
BACKEND_TRUST = ObjectRule(
    id="route-backend-trust",
    subjects=(ROUTE,),
    check=check_backend_trust,
    reads=(SERVICE, *references.READS),
)
