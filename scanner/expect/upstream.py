"""Whom gateways trust as clients of their backends: BackendTLSPolicy, and ``validation`` in an HTTPProxy's services."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scanner.expect.pem import certificates, decoded
from scanner.files.source_positions import dotted
from scanner.kube.contour import HTTPProxy, ProxyService, secret_name
from scanner.kube.gateway_routes import BackendTLSPolicy
from scanner.kube.kinds import CONFIG_MAP, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import ConfigMap, Secret
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint, Origin
from scanner.model.expectation import Client

_KEY: Final = "ca.crt"
_HOLDERS: Final[dict[str, Kind]] = {CONFIG_MAP.name: CONFIG_MAP, SECRET.name: SECRET}
_MOST: Final = 8
"""References of one policy, as the API has it."""
_NAMES: Final = 9
"""A name with as many others as the API allows."""


def of_policy(snapshot: Snapshot, _: Endpoint, item: KubeObject, __: Origin | None) -> Iterator[Client]:
    """A BackendTLSPolicy: with ``subjectAltNames`` the hostname is only sent, and no longer verified (GEP-1897,
    GEP-3155). CAs stand in the policy's own namespace."""
    policy = BackendTLSPolicy.of(item)
    said = policy.validation
    references = said.ca_certificate_refs[:_MOST]
    names = [each.uri or each.hostname for each in said.subject_alt_names] or [said.hostname]
    bundles = [_held(snapshot, each.kind, policy.namespace or "", each.name) for each in references]
    source = ", ".join(each.where for each in bundles) or f"{policy.reference} {dotted(said.steps)}"
    anchors = tuple(der for each in bundles for der in certificates(each.text))
    missing = "; ".join(f"{each.where} {each.missing}" for each in bundles if each.missing)
    if not references:
        missing = "its public roots are those of the gateway, which are unknown here"
    yield from _client(str(policy.reference), source, anchors, names, missing)


def of_proxy(snapshot: Snapshot, endpoint: Endpoint, item: KubeObject, origin: Origin) -> Iterator[Client]:
    """An HTTPProxy's service: without ``validation`` Envoy encrypts and verifies nothing."""
    if origin.role != "backend":
        return
    hosts = {endpoint.server_name or "", endpoint.host, *(each.rpartition(":")[0] for each in endpoint.aliases)}
    proxy = HTTPProxy.of(item)
    # Those of a TCP proxy only if Envoy decrypts what it passes on.
    connections = () if proxy.tls.passthrough else proxy.tcp_proxy.services
    for service in (*proxy.routed_services, *connections):
        if f"{service.name}.{proxy.namespace}.svc" in hosts and service.has_validation:
            yield from _verified(snapshot, proxy, service)


def _verified(snapshot: Snapshot, proxy: HTTPProxy, service: ProxyService) -> Iterator[Client]:
    said = service.validation
    secret = secret_name(said.ca_secret, proxy.namespace)
    held = _held(snapshot, SECRET.name, secret.namespace or "", secret.name)
    names = list(said.subject_names) or [said.subject_name]
    missing = f"{held.where} {held.missing}" if held.missing else ""
    who = f"{proxy.reference} service {service.name}"
    yield from _client(who, held.where, tuple(certificates(held.text)), names, missing)


def _client(who: str, source: str, anchors: tuple[bytes, ...], names: list[str], missing: str) -> Iterator[Client]:
    known = list(filter(None, names))[:_NAMES]
    if known:  # the API asks for one, and without any nobody knows what is verified
        name, *others = known
        yield Client(who=who, source=source, anchors=anchors, name=name, others=tuple(others), missing=missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A bundle of CAs."""

    where: str
    text: str = ""
    missing: str = ""
    """Why it is not at hand."""


def _held(snapshot: Snapshot, kind: str, namespace: str, name: str) -> _Held:
    where = f"{kind}/{namespace}/{name} data[{_KEY}]"
    holder = _HOLDERS.get(kind)
    if holder is None or holder not in snapshot.objects:
        return _Held(where=where, missing="was not read: such objects are not supported")
    found = snapshot.get(holder, name, namespace)
    if found is None:
        gap = snapshot.missing(holder, name, namespace)
        return _Held(where=where, missing=f"was not read: {gap}" if gap else "is not there")
    text = decoded(Secret.of(found).ca_crt) if holder is SECRET else ConfigMap.of(found).data.get(_KEY, "")
    return _Held(where=where, text=text)
