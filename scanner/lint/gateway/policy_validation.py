"""By which names BackendTLSPolicies validate the backend (Gateway API apis/v1 ``BackendTLSPolicyValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scanner.files.source_positions import Steps, shown
from scanner.kube.hostnames import is_address
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.objects import Fields
from scanner.lint.fields.names import PRECISE
from scanner.lint.gateway.policies import shape_of
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_validation(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy says by which CA and which name the backend is validated."""
    shape = shape_of(subject.object)
    validation = subject.object.fields(*shape.block)
    given, known = validation.at(shape.authorities), validation.text(shape.well_known)
    if given and known:
        message = "must not contain both CACertificateRefs and WellKnownCACertificates"
        yield Flaw(message=message, at=(*shape.block, shape.well_known), fix=f"{subject.object.reference}: remove one")
    if not given and not known:
        message = "must specify either CACertificateRefs or WellKnownCACertificates"
        yield Flaw(
            message=message, at=(*shape.block, shape.authorities), fix=f"{subject.object.reference}: name the CA"
        )
    hostname = validation.text("hostname")
    if not PRECISE.takes(hostname) or is_address(hostname):
        message = (
            f"hostname must be one DNS name in lower case, which {shown(hostname)} is not"
            if hostname
            else "has no hostname"
        )
        yield Flaw(
            message=message, at=(*shape.block, "hostname"), fix=f"{subject.object.reference}: the backend's name"
        )
    for steps, each in subject.items(*shape.block, shape.authorities):
        if each.has("namespace"):
            message = "a reference has no namespace here, and a ReferenceGrant cannot help: it is pruned"
            yield Flaw(message=message, at=(*steps, "namespace"), severity="medium")
    for steps, each in subject.items(*shape.block, "subjectAltNames"):
        yield from islice(_alternative(steps, each), 1)  # of one name, one thing to correct


def _alternative(at: Steps, name: Fields) -> Iterator[Flaw]:
    """The API server's messages, but for the wildcard."""
    for kind, field in (("Hostname", "hostname"), ("URI", "uri")):
        said = "Hostname" if field == "hostname" else "URI"
        if name.text("type") == kind and not name.text(field):
            yield Flaw(message=f"SubjectAltName element must contain {said}, if Type is set to {kind}", at=at)
        if name.text("type") != kind and name.text(field):
            message = f"SubjectAltName element must not contain {said}, if Type is not set to {kind}"
            yield Flaw(message=message, at=(*at, field))
    if name.text("hostname").startswith("*"):
        yield Flaw(
            message="implementations compare a wildcard in different ways", at=(*at, "hostname"), severity="medium"
        )


def check_names(subject: Subject) -> Iterator[Flaw]:
    """The hostname of a BackendTLSPolicy is among its subjectAltNames, if it has any."""
    shape = shape_of(subject.object)
    at = (*shape.block, "subjectAltNames")
    names = [each.text("hostname").lower() for each in subject.object.each(*at)]
    hostname = subject.object.text(*shape.block, "hostname").lower()
    if names and hostname not in names:
        yield Flaw(
            message=f"a certificate for {shown(hostname)} alone is refused: only these names count",
            at=at,
            fix=f"{subject.object.reference}: list the hostname too",
        )


VALIDATION = ObjectRule(
    id="backend-tls-validation",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_validation,
)
NAMES = ObjectRule(
    id="backend-tls-names",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_names,
)
