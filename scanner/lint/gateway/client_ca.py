"""By which CAs a Gateway validates its clients (Gateway API apis/v1 ``FrontendTLSValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import CONFIG_MAP, GATEWAY
from scanner.kube.objects import Fields
from scanner.lint.gateway.authorities import reference_flaws
from scanner.lint.gateway.frontend_validation import configurations
from scanner.lint.references import READS as SECRETS
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_MOST: Final = 16
"""References of one validation (MaxItems)."""


def ca_references(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Every caCertificateRefs entry, of the default and of each port."""
    for steps, each in configurations(subject):
        every = each.at("validation", "caCertificateRefs")
        for index, one in enumerate(every[:_MOST] if isinstance(every, list) else ()):
            if isinstance(one, dict):
                yield (*steps, "validation", "caCertificateRefs", index), Fields(one)


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs by which a Gateway validates clients are there."""
    for steps, each in configurations(subject):
        if each.has("validation"):
            yield from _number(
                subject, each.at("validation", "caCertificateRefs"), (*steps, "validation", "caCertificateRefs")
            )
    for steps, each in ca_references(subject):
        namespace = each.text("namespace") or subject.object.namespace
        yield from reference_flaws(
            subject,
            steps,
            each,
            namespace,
            other_kind="InvalidCACertificateKind",
            question="whether there is a CA to validate clients by",
        )


def _number(subject: Subject, references: object, at: Steps) -> Iterator[Flaw]:
    count = len(references) if isinstance(references, list) else 0
    if not count:
        yield Flaw(
            message="clients are to be validated, and by no CA",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap with the CA",
        )
    elif count > 1:
        message = "more than one reference: only a single ConfigMap works with every implementation"
        yield Flaw(message=message, at=at, severity="low")


CLIENT_CA = ObjectRule(
    id="gateway-client-ca",
    subjects=(GATEWAY,),
    check=check_client_ca,
    reads=(CONFIG_MAP, *SECRETS),
)
