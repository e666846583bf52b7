"""Gateway API: what Gateways, ListenerSets, routes and BackendTLSPolicies declare (GEP-2907's four segments)."""

from __future__ import annotations

from scanner.lint.gateway.frontend_validation import INSECURE_FALLBACK
from scanner.model.object_rule import ObjectRule

GATEWAY_RULES: tuple[ObjectRule, ...] = (INSECURE_FALLBACK,)
