"""Gateways that a BackendTLSPolicy has call a backend by TLS: with which certificate, and whether by TLS at all.

Which Gateways these are, the policy's status says (``status.ancestors``). Contour leaves a policy that it cannot apply
out and goes on in plaintext; it takes CAs from ConfigMaps and Secrets (Contour
``internal/dag/gatewayapi_processor.go``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.expect import upstream
from scanner.expect.facts import Facts
from scanner.expect.origins import led
from scanner.expect.stale import is_stale
from scanner.kube.conditions import condition
from scanner.kube.gateway import CONTOUR, Gateway, controller_of
from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Upstream

_KINDS: Final[Mapping[str, Kind]] = {BACKEND_TLS_POLICY.name: BACKEND_TLS_POLICY}
_MOST: Final = 16
"""Ancestors of one policy (MaxItems)."""
_IDENTITY: Final = ("spec", "tls", "backend", "clientCertificateRef")


def calling(facts: Facts, endpoint: Endpoint) -> Iterator[Upstream]:
    """Each Gateway, once for each policy that led to ``endpoint``."""
    for policy, _ in led(facts.snapshot, endpoint, _KINDS):
        for ancestor in islice(policy.each("status", "ancestors"), _MOST):
            gateway = _gateway(facts, policy, ancestor.fields("ancestorRef"))
            if gateway is not None:
                yield _upstream(facts, endpoint, policy, ancestor, gateway)


def _gateway(facts: Facts, policy: KubeObject, named: Fields) -> KubeObject | None:
    if named.text("kind") not in ("", GATEWAY.name):
        return None
    return facts.snapshot.get(GATEWAY, named.text("name"), named.text("namespace") or policy.namespace or "")


def _upstream(facts: Facts, endpoint: Endpoint, policy: KubeObject, ancestor: Fields, gateway: KubeObject) -> Upstream:
    open_ = CONTOUR in (ancestor.text("controllerName"), controller_of(facts.snapshot, Gateway.of(gateway)))
    identity, doubt = _identity(facts, gateway)
    return Upstream(
        gateway=str(gateway.reference),
        policy=str(policy.reference),
        identity=identity,
        doubt=doubt,
        plaintext=_not_applied(facts, endpoint, policy, ancestor) if open_ else "",
        fails_open=open_,
    )


def _identity(facts: Facts, gateway: KubeObject) -> tuple[str, str]:
    """The Secret, and what is not known of it. One that nobody lets the Gateway name is none."""
    named = gateway.fields(*_IDENTITY)
    if not named.text("name"):
        return "", ""
    namespace = named.text("namespace") or gateway.namespace or ""
    allowed = facts.grants.to_gateway(gateway, namespace, named.text("name"))
    secret = f"Secret/{namespace}/{named.text('name')}"
    if isinstance(allowed, Unknown):
        return secret, allowed.reason
    return (secret, "") if allowed else ("", "")


def _not_applied(facts: Facts, endpoint: Endpoint, policy: KubeObject, ancestor: Fields) -> str:
    accepted = condition(ancestor, "Accepted", "conditions")
    current = not is_stale(policy, ancestor, "conditions")
    if accepted is not None and accepted.status == "False" and current:
        return f"its status says Accepted is False, {accepted.reason}"
    step = "validation" if policy.has("spec", "validation") else "tls"
    if not any(policy.each("spec", step, "caCertificateRefs" if step == "validation" else "caCertRefs")):
        return "it names no CA, and Contour does not know the well-known ones"
    for client in upstream.of_policy(facts.snapshot, endpoint, policy, None):
        if client.missing.endswith("is not there"):
            return client.missing
    return ""
