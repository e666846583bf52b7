"""Gateways that a BackendTLSPolicy has call a backend by TLS: with which certificate, and whether by TLS at all.

Which Gateways these are, the policy's status says (``status.ancestors``). Contour leaves a policy that it cannot apply
out and goes on in plaintext; it takes CAs from ConfigMaps and Secrets (Contour
``internal/dag/gatewayapi_processor.go``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.expect import upstream
from scanner.expect.facts import Facts
from scanner.expect.origins import led
from scanner.kube.gateway import CONTOUR, Gateway, controller_of
from scanner.kube.gateway_routes import BackendTLSPolicy, ParentRef, PolicyAncestor
from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.meta import of_type
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Upstream

_KINDS: Final[Mapping[str, Kind]] = {BACKEND_TLS_POLICY.name: BACKEND_TLS_POLICY}
_MOST: Final = 16
"""Ancestors of one policy (MaxItems)."""


def calling(facts: Facts, endpoint: Endpoint) -> Iterator[Upstream]:
    """Each Gateway, once for each policy that led to ``endpoint``."""
    for found, _ in led(facts.snapshot, endpoint, _KINDS):
        policy = BackendTLSPolicy.of(found)
        for ancestor in policy.ancestors[:_MOST]:
            gateway = _gateway(facts, policy, ancestor.ancestor_ref)
            if gateway is not None:
                yield _upstream(facts, endpoint, policy, ancestor, gateway)


def _gateway(facts: Facts, policy: BackendTLSPolicy, named: ParentRef) -> Gateway | None:
    if named.kind not in ("", GATEWAY.name):
        return None
    found = facts.snapshot.get(GATEWAY, named.name, named.namespace or policy.namespace or "")
    return Gateway.of(found) if found else None


def _upstream(
    facts: Facts, endpoint: Endpoint, policy: BackendTLSPolicy, ancestor: PolicyAncestor, gateway: Gateway
) -> Upstream:
    open_ = CONTOUR in (ancestor.controller_name, controller_of(facts.snapshot, gateway))
    identity, doubt = _identity(facts, gateway)
    return Upstream(
        gateway=str(gateway.reference),
        policy=str(policy.reference),
        identity=identity,
        doubt=doubt,
        plaintext=_not_applied(facts, endpoint, policy, ancestor) if open_ else "",
        fails_open=open_,
    )


def _identity(facts: Facts, gateway: Gateway) -> tuple[str, str]:
    """The Secret, and what is not known of it. One that nobody lets the Gateway name is none."""
    named = gateway.client_certificate_ref
    if not named.name:
        return "", ""
    namespace = named.namespace or gateway.namespace or ""
    allowed = facts.grants.to_gateway(gateway, namespace, named.name)
    secret = f"Secret/{namespace}/{named.name}"
    if isinstance(allowed, Unknown):
        return secret, allowed.reason
    return (secret, "") if allowed else ("", "")


def _not_applied(facts: Facts, endpoint: Endpoint, policy: BackendTLSPolicy, ancestor: PolicyAncestor) -> str:
    accepted = of_type(ancestor.conditions, "Accepted")
    if accepted is not None and accepted.status == "False" and accepted.is_current(policy):
        return f"its status says Accepted is False, {accepted.reason}"
    if not policy.validation.ca_certificate_refs:
        return "it names no CA, and Contour does not know the well-known ones"
    for client in upstream.of_policy(facts.snapshot, endpoint, policy, None):
        if client.missing.endswith("is not there"):
            return client.missing
    return ""
