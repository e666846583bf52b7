"""Gateways that connect to a backend with TLS: the names and CAs that they verify, and their client certificate.

A BackendTLSPolicy's Gateways are in its status (``status.ancestors``). Contour ignores a policy that it cannot apply
and uses plaintext; it reads CAs from ConfigMaps and Secrets (Contour ``internal/dag/gatewayapi_processor.go``).
An HTTPProxy has ``validation`` in its services.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from scanner.expect.facts import Facts, led
from scanner.files.source_positions import dotted
from scanner.kube.contour import HTTPProxy, ProxyService, secret_name
from scanner.kube.gateway import CONTOUR, Gateway, controller_of
from scanner.kube.gateway_routes import BackendTLSPolicy, ParentRef, PolicyAncestor
from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP, GATEWAY, SECRET, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import ConfigMap, Secret
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint, Origin
from scanner.model.expectation import Client, Upstream
from scanner.model.pem import decoded_text, trusted_certificates

_KEY: Final = "ca.crt"
_HOLDERS: Final[dict[str, Kind]] = {CONFIG_MAP.name: CONFIG_MAP, SECRET.name: SECRET}
_MOST: Final = 8
"""Most references of one policy, by the API."""
_NAMES: Final = 9
"""A name with as many others as the API allows."""


def of_policy(snapshot: Snapshot, _: Endpoint, item: KubeObject, __: Origin | None) -> Iterator[Client]:
    """A BackendTLSPolicy: with ``subjectAltNames`` the hostname is only sent, and no longer verified (GEP-1897,
    GEP-3155). The CAs are in the policy's own namespace."""
    policy = BackendTLSPolicy.of(item)
    validation = policy.validation
    references = validation.ca_certificate_refs[:_MOST]
    names = [each.uri or each.hostname for each in validation.subject_alt_names] or [validation.hostname]
    bundles = [_trust_bundle(snapshot, each.kind, policy.namespace or "", each.name) for each in references]
    source = ", ".join(each.where for each in bundles) or f"{policy.reference} {dotted(validation.steps)}"
    anchors = tuple(der for each in bundles for der in trusted_certificates(each.text))
    missing = "; ".join(f"{each.where} {each.missing}" for each in bundles if each.missing)
    if not references:
        missing = "the gateway verifies with its own public roots, which are unknown here"
    yield from _client(str(policy.reference), source, anchors, names, missing)


def of_proxy(snapshot: Snapshot, endpoint: Endpoint, item: KubeObject, origin: Origin) -> Iterator[Client]:
    """An HTTPProxy's service: without ``validation`` Envoy encrypts and verifies nothing."""
    if origin.role != "backend":
        return
    proxy = HTTPProxy.of(item)
    # Services of a TCP proxy count only if Envoy decrypts the connections.
    connections = () if proxy.tls.passthrough else proxy.tcp_proxy.services
    for service in (*proxy.routed_services, *connections):
        if f"{service.name}.{proxy.namespace}.svc" in endpoint.hosts and service.has_validation:
            yield from _verified(snapshot, proxy, service)


def _verified(snapshot: Snapshot, proxy: HTTPProxy, service: ProxyService) -> Iterator[Client]:
    validation = service.validation
    secret = secret_name(validation.ca_secret, proxy.namespace)
    bundle = _trust_bundle(snapshot, SECRET.name, secret.namespace or "", secret.name)
    names = list(validation.subject_names) or [validation.subject_name]
    missing = f"{bundle.where} {bundle.missing}" if bundle.missing else ""
    who = f"{proxy.reference} service {service.name}"
    yield from _client(who, bundle.where, tuple(trusted_certificates(bundle.text)), names, missing)


def _client(who: str, source: str, anchors: tuple[bytes, ...], names: list[str], missing: str) -> Iterator[Client]:
    known = list(filter(None, names))[:_NAMES]
    if known:  # the API requires a name; without one it is unknown what is verified
        name, *others = known
        yield Client(who=who, source=source, anchors=anchors, name=name, others=tuple(others), missing=missing)


class _TrustBundle(Struct, frozen=True, kw_only=True):
    """A bundle of CAs."""

    where: str
    text: str = ""
    missing: str = ""
    """Reason why it could not be read."""


def _trust_bundle(snapshot: Snapshot, kind: str, namespace: str, name: str) -> _TrustBundle:
    where = f"{kind}/{namespace}/{name} data[{_KEY}]"
    holder = _HOLDERS.get(kind)
    if holder is None or holder not in snapshot.objects:
        return _TrustBundle(where=where, missing="was not read: such objects are not supported")
    found = snapshot.get(holder, name, namespace)
    if found is None:
        gap = snapshot.missing(holder, name, namespace)
        return _TrustBundle(where=where, missing=f"was not read: {gap}" if gap else "is not there")
    text = decoded_text(Secret.of(found).ca_crt) if holder is SECRET else ConfigMap.of(found).data.get(_KEY, "")
    return _TrustBundle(where=where, text=text)


_KINDS: Final[Mapping[str, Kind]] = {BACKEND_TLS_POLICY.name: BACKEND_TLS_POLICY}
_MOST_ANCESTORS: Final = 16
"""Ancestors of one policy (MaxItems)."""


def upstreams(facts: Facts, endpoint: Endpoint) -> Iterator[Upstream]:
    """Each Gateway, once for each policy that led to ``endpoint``."""
    for found, _ in led(facts.snapshot, endpoint, _KINDS):
        policy = BackendTLSPolicy.of(found)
        for ancestor in policy.ancestors[:_MOST_ANCESTORS]:
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
    """The Secret, and what is not known of it. One without the grant that it needs does not count."""
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
    for client in of_policy(facts.snapshot, endpoint, policy, None):
        if client.missing.endswith("is not there"):
            return client.missing
    return ""
