"""Names that a served certificate must be valid for, and CAs that the clients of its listener trust."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.client_trust import SERVICE_CA_BUNDLES, clients, first_bundle
from scanner.expect.declared_certificate import beside, declared_certificates, declared_secrets, missing_grants
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import route_of
from scanner.expect.partial_expectation import Partial
from scanner.expect.passthrough import passed_through
from scanner.kube.api_server import api_server_config
from scanner.kube.gateway_routes import BackendTLSPolicy
from scanner.kube.hostnames import parse_zoned_address
from scanner.kube.ingress import IngressConfig, IngressController
from scanner.kube.kinds import API_SERVER, BACKEND_TLS_POLICY, INGRESS_CONFIG, INGRESS_CONTROLLER
from scanner.kube.secrets import service_ca_secret
from scanner.kube.service import service_of
from scanner.kube.service_callers import CALLS, calls
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import CertificateExpectation
from scanner.model.pem import decoded_text, trusted_certificates

_SERVICE_CA = "service-ca"
_OAUTH = "oauth-openshift"
_BUNDLES = {
    _SERVICE_CA: SERVICE_CA_BUNDLES,
    "kube-apiserver": (
        ("openshift-config-managed", "kube-apiserver-server-ca", "ca-bundle.crt"),
        ("kube-system", "kube-root-ca.crt", "ca.crt"),
    ),
    "kubelet": (("openshift-config-managed", "kubelet-serving-ca", "ca-bundle.crt"),),
    "router": (("openshift-config-managed", "default-ingress-cert", "ca-bundle.crt"),),
}
"""Signer to the ConfigMaps (namespace, name, key) with its CA; the first existing one counts."""

_SUBJECTS = {each.name: each for each in CALLS}


def expected(facts: Facts, partial: Partial) -> CertificateExpectation:
    """Names and anchors of ``partial``'s endpoint. Without a declaration of an object they are not judged."""
    names = tuple(_names(facts, partial))
    bundle, source = _anchors(facts, partial)
    anchors = tuple(trusted_certificates(bundle))
    # With passthrough the backend answers; ``passthrough-backend`` compares both endpoints.
    passing = passed_through(facts, partial) is not None
    secrets = None if passing else declared_secrets(facts, partial)
    refused = missing_grants(facts, secrets) if secrets else ()
    return CertificateExpectation(
        names=names,
        anchors=anchors,
        anchor_source=source if anchors else "",
        clients=tuple(clients(facts.snapshot, partial.endpoint)),
        declared=None if passing else declared_certificates(facts, partial, secrets),
        missing_grants=refused,
        beside=beside(facts, partial.endpoint) if refused else frozenset(),
    )


def _names(facts: Facts, partial: Partial) -> Iterator[str]:
    """The name that clients use: their SNI, else the host in an object, unless it is an address."""
    endpoint, entry = partial.endpoint, partial.entry
    name = endpoint.server_name or endpoint.host
    if not name or not _named(partial) or _only_sent(facts, endpoint):
        return
    # A single label that is in no entry is a node name, or unknown.
    if parse_zoned_address(name) is None and ("." in name or (entry is not None and name in entry.server_names)):
        yield name


def _only_sent(facts: Facts, endpoint: Endpoint) -> bool:
    """True if a gateway sends the name as SNI and verifies other names (GEP-3155); ``cert-clients`` judges those."""
    subject = endpoint.subject
    if subject is None or subject.kind != BACKEND_TLS_POLICY.name:
        return False
    policy = facts.snapshot.get(BACKEND_TLS_POLICY, subject.name, subject.namespace)
    return policy is not None and bool(BackendTLSPolicy.of(policy).validation.subject_alt_names)


def _named(partial: Partial) -> bool:
    """True if the certificate is issued for the name, and it is not merely the name of a Service."""
    entry, subject = partial.entry, partial.endpoint.subject
    if partial.implementation == "haproxy":
        return subject is not None and subject.kind == "Route"
    if entry is None or subject is not None:
        return True
    return entry.certificate == _SERVICE_CA or partial.endpoint.server_name in entry.server_names or _is_api(partial)


def _is_api(partial: Partial) -> bool:
    return partial.entry is not None and (partial.entry.component, partial.endpoint.port) == ("kube-apiserver", 6443)


def _anchors(facts: Facts, partial: Partial) -> tuple[str, str]:
    """The bundle as PEM, and its object and field."""
    found = _of_subject(facts, partial.endpoint)
    if found is not None:
        return found
    signer = _signer(facts, partial)
    return first_bundle(facts.snapshot, _BUNDLES.get(signer or "", ()))


def _signer(facts: Facts, partial: Partial) -> str | None:
    entry, endpoint = partial.entry, partial.endpoint
    if endpoint.subject is not None and endpoint.subject.kind == "Route":
        return "router" if _is_routers(facts, partial) else None
    if partial.implementation == "haproxy":
        return None
    if entry is None:
        return _SERVICE_CA if _by_service_ca(facts, endpoint) else None
    if entry.certificate == _SERVICE_CA:
        return _SERVICE_CA
    if _is_api(partial):
        return None if _by_administrator(facts, partial) else "kube-apiserver"
    return "kubelet" if (entry.component, endpoint.port) == ("kubelet", 10250) else None


def _by_service_ca(facts: Facts, endpoint: Endpoint) -> bool:
    """True if a Service in front requests a service CA certificate. The annotation does not name a port; discovery
    marks the port that must be meant as declared TLS."""
    if endpoint.component is not None or endpoint.certainty != "declared":
        return False
    hosts = {endpoint.server_name or endpoint.host} - {""} or set(endpoint.alias_hosts)
    services = (service_of(facts.snapshot, each) for each in hosts)
    return any(service_ca_secret(each) for each in services if each is not None)


def _is_routers(facts: Facts, partial: Partial) -> bool:
    """True if the router's default certificate is served for a Route's host: by the router, or by the OAuth server,
    which gets a copy for exactly that name (cluster-authentication-operator, ``v4-0-config-system-router-certs``)."""
    if partial.implementation == "haproxy":
        return _default_certificate(facts, partial)
    return (
        partial.entry is not None
        and partial.entry.component == _OAUTH
        and _default_certificate(facts, partial)
        and not _own_component_route(facts, partial.endpoint.server_name)
    )


def _own_component_route(facts: Facts, host: str | None) -> bool:
    """True if the administrator set a certificate for this host (``spec.componentRoutes`` of Ingress/cluster)."""
    found = facts.snapshot.get(INGRESS_CONFIG, "cluster")
    return found is None or any(
        each.hostname == host and each.secret for each in IngressConfig.of(found).component_routes
    )


def _by_administrator(facts: Facts, partial: Partial) -> bool:
    """True if one of ``namedCertificates``, by any issuer, may be served for this name. An entry without names has
    those of its certificate, which is unknown here."""
    found = facts.snapshot.get(API_SERVER, "cluster")
    name = partial.endpoint.server_name
    named = api_server_config(found).named_certificates if found else ()
    internal = partial.entry.server_names if partial.entry else ()
    return name is not None and name not in internal and any(not each.names or name in each.names for each in named)


def _default_certificate(facts: Facts, partial: Partial) -> bool:
    """True if the operator's default certificate is served for a Route: no object sets another for it or a router."""
    routers = map(IngressController.of, facts.snapshot.every(INGRESS_CONTROLLER))
    if any(each.default_certificate is not None for each in routers):
        return False
    route = route_of(facts, partial)
    return route is None or not (route.tls.certificate or route.tls.external)


def _of_subject(facts: Facts, endpoint: Endpoint) -> tuple[str, str] | None:
    """The ``caBundle`` for calls to this listener; empty means the API server's own trust anchors."""
    subject = endpoint.subject
    kind = _SUBJECTS.get(subject.kind) if subject else None
    found = facts.snapshot.get(kind, subject.name) if subject and kind else None
    if found is None:
        return None
    for client in (each.client for each in calls(found)):
        name = f"{client.service.name}.{client.service.namespace}.svc"
        if endpoint.server_name in (None, name) and client.bundle:
            return decoded_text(client.bundle), f"{found.reference} caBundle"
    return "", ""
