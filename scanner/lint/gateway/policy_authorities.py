"""The CAs by which BackendTLSPolicies validate the backend (Gateway API apis/v1 ``BackendTLSPolicyValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP
from scanner.lint.gateway.authorities import reference_flaws
from scanner.lint.gateway.policies import shape_of
from scanner.lint.references import READS as SECRETS
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CAS: Final = 8
_INTERNAL: Final = (".svc", ".cluster.local", ".local", ".internal", ".localhost", ".test", ".invalid")
"""What no public CA issues for: names that are not in the public DNS (RFC 6761, RFC 6762; CA/Browser Forum Baseline
Requirements, "Internal Name"; ICANN's ``.internal``)."""


def check_ca(subject: Subject) -> Iterator[Flaw]:
    """The CA by which a BackendTLSPolicy validates the backend is there and can have issued its certificate."""
    shape = shape_of(subject.object)
    validation = subject.object.fields(*shape.block)
    for steps, each in islice(subject.items(*shape.block, shape.authorities), _CAS):
        yield from reference_flaws(
            subject,
            steps,
            each,
            subject.object.namespace,
            other_kind="InvalidKind",
            question="whether there is a CA to validate the backend by",
        )
    at, known = (*shape.block, shape.well_known), validation.text(shape.well_known)
    if known not in ("", "System"):
        yield _of_its_own(at, known)
    hostname = validation.text("hostname").lower()
    # Beside references the API server refuses it: ``backend-tls-validation``.
    if known == "System" and _is_internal(hostname) and not validation.at(shape.authorities):
        yield Flaw(
            message=f"no public CA issues certificates for {shown(hostname)}",
            at=at,
            fix=f"{subject.object.reference}: {shape.authorities} with the CA of the backend",
            correction=f'{shape.authorities}:\n- group: ""\n  kind: ConfigMap\n  name: CONFIGMAP',
        )


def _of_its_own(at: Steps, known: str) -> Flaw:
    if "/" in known:
        message = f"cannot be decided here: which CAs an implementation means by {shown(known)}"
        return Flaw(message=message, at=at, verdict="inconclusive")
    return Flaw(message=f"{shown(known)} is neither System nor a name with a domain before it", at=at)


def _is_internal(hostname: str) -> bool:
    return bool(hostname) and ("." not in hostname or hostname.removesuffix(".").endswith(_INTERNAL))


CA = ObjectRule(
    id="backend-tls-ca",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_ca,
    reads=(CONFIG_MAP, *SECRETS),
)
