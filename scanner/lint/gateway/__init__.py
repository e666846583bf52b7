"""Gateway API: what Gateways, ListenerSets, routes and BackendTLSPolicies declare (GEP-2907's four segments)."""

from __future__ import annotations

from scanner.lint.gateway import (
    backends,
    certificate_refs,
    client_ca,
    frontend_ports,
    listener_conflicts,
    listener_tls,
    plaintext_twin,
    policy_targets,
    policy_validation,
    pruned_fields,
    reference_grants,
    route_attachment,
    served_certificates,
)
from scanner.lint.gateway.frontend_validation import INSECURE_FALLBACK
from scanner.model.object_rule import ObjectRule

GATEWAY_RULES: tuple[ObjectRule, ...] = (
    listener_tls.TLS,
    listener_tls.REFUSED,
    listener_conflicts.CONFLICT,
    listener_conflicts.OVERLAP,
    listener_conflicts.CERTIFICATE_OVERLAP,
    certificate_refs.CERTIFICATE_REF,
    certificate_refs.NOT_GRANTED,
    served_certificates.NAME,
    served_certificates.FAULT,
    client_ca.CLIENT_CA,
    INSECURE_FALLBACK,
    frontend_ports.EXEMPTED,
    frontend_ports.UNUSED,
    frontend_ports.TLS_LISTENER,
    pruned_fields.PRUNED,
    route_attachment.ATTACHMENT,
    route_attachment.KINDS,
    backends.PLAINTEXT,
    backends.PROTOCOL,
    plaintext_twin.TWIN,
    policy_targets.TARGET,
    policy_targets.PASSTHROUGH,
    policy_validation.CA,
    policy_validation.VALIDATION,
    policy_validation.NAMES,
    reference_grants.BROAD,
    reference_grants.UNUSED,
)
