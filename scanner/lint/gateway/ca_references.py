"""References to CAs: a Gateway's, to validate clients, and a BackendTLSPolicy's, to validate the backend (Gateway API
apis/v1 ``caCertificateRefs``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.gateway import FrontendValidation, Gateway, ObjectReference
from scanner.kube.gateway_routes import BackendTLSPolicy
from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP, GATEWAY, SECRET
from scanner.lint.referenced_certificates import authority_flaws
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_KINDS: Final = {"ConfigMap": CONFIG_MAP, "Secret": SECRET}
_BUNDLE: Final = "ClusterTrustBundle"
_BUNDLES: Final = ("", "certificates.k8s.io")
"""Groups of a ClusterTrustBundle: Envoy Gateway accepts the core group too."""
_OF_FRONTEND: Final = 16
_OF_BACKEND: Final = 8
"""References of one validation (MaxItems)."""
_INTERNAL: Final = (".svc", ".cluster.local", ".local", ".internal", ".localhost", ".test", ".invalid")
"""Domains outside of the public DNS, for which no public CA issues certificates (RFC 6761, RFC 6762; CA/Browser Forum
Baseline Requirements, "Internal Name"; ICANN's ``.internal``)."""


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs with which a Gateway validates clients exist."""
    for each in Gateway.of(subject.object).frontends:
        if each.has_validation:
            yield from _number(subject, each.validation)
    for each in Gateway.of(subject.object).frontends:
        for reference in each.validation.ca_certificate_refs[:_OF_FRONTEND]:
            yield from _reference_flaws(
                subject,
                reference,
                reference.namespace or subject.object.namespace,
                other_kind="InvalidCACertificateKind",
                question="whether there is a CA to validate clients with",
            )


def _number(subject: Subject, validation: FrontendValidation) -> Iterator[Flaw]:
    count, at = len(validation.ca_certificate_refs), (*validation.steps, "caCertificateRefs")
    if not count:
        yield Flaw(
            message="client validation is on, but no CA certificate is set",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap with the CA",
        )
    elif count > 1:
        message = "more than one reference: only a single ConfigMap works with every implementation"
        yield Flaw(message=message, at=at, severity="low")


def check_ca(subject: Subject) -> Iterator[Flaw]:
    """The CA with which a BackendTLSPolicy validates the backend exists, and can have issued its certificate."""
    validation = BackendTLSPolicy.of(subject.object).validation
    for reference in validation.ca_certificate_refs[:_OF_BACKEND]:
        yield from _reference_flaws(
            subject,
            reference,
            subject.object.namespace,
            other_kind="InvalidKind",
            question="whether there is a CA to validate the backend with",
        )
    at, known = (*validation.steps, validation.well_known_field), validation.well_known
    if "/" in known:
        message = f"unknown: which CAs the implementation uses for {shown(known)}"
        yield Flaw(message=message, at=at, verdict="inconclusive")
    elif known not in ("", "System"):
        yield Flaw(message=f"{shown(known)} is neither System nor a name with a domain before it", at=at)
    hostname = validation.hostname.lower()
    # With references too, the API server refuses it: ``backend-tls-validation``.
    if known == "System" and _is_internal(hostname) and not validation.ca_certificate_refs:
        field = validation.authorities_field
        yield Flaw(
            message=f"no public CA issues certificates for {shown(hostname)}",
            at=at,
            fix=f"{subject.object.reference}: set {field} to the CA of the backend",
            correction=f'{field}:\n- group: ""\n  kind: ConfigMap\n  name: CONFIGMAP',
        )


def _is_internal(hostname: str) -> bool:
    return bool(hostname) and ("." not in hostname or hostname.removesuffix(".").endswith(_INTERNAL))


def _reference_flaws(
    subject: Subject, reference: ObjectReference, namespace: str | None, *, other_kind: str, question: str
) -> Iterator[Flaw]:
    """Find the faults of a reference to an object in ``namespace``.

    ``other_kind``: the reason in a status for an object that is no ConfigMap. ``question``: undecided if the object was
    not seen.
    """
    at = reference.steps
    if reference.kind == _BUNDLE and reference.group in _BUNDLES:
        # Only some implementations accept one (Gateway API, "Implementation-specific: other kinds of resources").
        what = f"whether this implementation accepts the {_BUNDLE} {shown(reference.name)}, and what is in it"
        yield Flaw(message=f"unknown: {what}", at=at, verdict="inconclusive")
        return
    kind = _KINDS.get(reference.kind)
    if kind is None or reference.group:
        named = "/".join(filter(None, (reference.group, reference.kind)))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a ConfigMap: {other_kind}",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap",
        )
        return
    if kind == SECRET:
        yield Flaw(message="a Secret with CAs works with some implementations only", at=at, severity="low")
    found = look_up(subject.declared, kind, reference.name, namespace)
    if not isinstance(found, Missing):
        yield from authority_flaws(found, at, subject.declared.known.taken_at)
    elif found.gap:
        yield undecided(found, at, question)
    else:
        yield Flaw(
            message=f"{found.name} does not exist: InvalidCACertificateRef",
            at=at,
            fix=f"create {found.name} with the CA certificate in ca.crt",
        )


CLIENT_CA = ObjectRule(id="gateway-client-ca", subjects=(GATEWAY,), check=check_client_ca, reads=(CONFIG_MAP, *SECRETS))
CA = ObjectRule(id="backend-tls-ca", subjects=(BACKEND_TLS_POLICY,), check=check_ca, reads=(CONFIG_MAP, *SECRETS))
