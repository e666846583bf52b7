"""Names that a served certificate must be valid for, and CAs that the clients of its listener trust."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from scanner.expect.client_trust import SERVICE_CA_BUNDLES, clients, first_bundle
from scanner.expect.declared_certificate import beside, declared_certificates, missing_grants
from scanner.expect.declared_secrets import declared_secrets
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import route_of
from scanner.expect.partial_expectation import Draft
from scanner.expect.passthrough import passed_through
from scanner.kube.api_server import api_server_config
from scanner.kube.gateway_routes import BackendTLSPolicy
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
"""Who signs, to the ConfigMaps (namespace, name, key) that hold the signers; the first that is there counts."""

_SUBJECTS = {each.name: each for each in CALLS}


def expected(facts: Facts, draft: Draft) -> CertificateExpectation:
    """Names and anchors of ``draft``'s endpoint; what no object says is not judged."""
    names = tuple(_names(facts, draft))
    bundle, source = _anchors(facts, draft)
    anchors = tuple(trusted_certificates(bundle))
    # Behind a passthrough the backend answers: an endpoint of its own, with which this one is compared.
    passing = passed_through(facts, draft) is not None
    said = None if passing else declared_secrets(facts, draft)
    refused = missing_grants(facts, said) if said else ()
    return CertificateExpectation(
        names=names,
        anchors=anchors,
        anchor_source=source if anchors else "",
        clients=tuple(clients(facts.snapshot, draft.endpoint)),
        declared=None if passing else declared_certificates(facts, draft, said),
        missing_grants=refused,
        beside=beside(facts, draft.endpoint) if refused else frozenset(),
    )


def _names(facts: Facts, draft: Draft) -> Iterator[str]:
    """The name that clients use: what they send as SNI, else what an object calls it, unless that is an address."""
    endpoint, entry = draft.endpoint, draft.entry
    name = endpoint.server_name or endpoint.host
    if not name or not _named(draft) or _only_sent(facts, endpoint):
        return
    try:
        ip_address(name)
    except ValueError:
        # A name of one label that is in no entry is a node's, or unknown.
        if "." in name or (entry is not None and name in entry.server_names):
            yield name


def _only_sent(facts: Facts, endpoint: Endpoint) -> bool:
    """Whether a gateway sends the name and verifies others (GEP-3155): those are judged with its trust."""
    subject = endpoint.subject
    if subject is None or subject.kind != BACKEND_TLS_POLICY.name:
        return False
    policy = facts.snapshot.get(BACKEND_TLS_POLICY, subject.name, subject.namespace)
    return policy is not None and bool(BackendTLSPolicy.of(policy).validation.subject_alt_names)


def _named(draft: Draft) -> bool:
    """Whether the name is one that the certificate is made for, and not merely the Service's that leads there."""
    entry, subject = draft.entry, draft.endpoint.subject
    if draft.implementation == "haproxy":
        return subject is not None and subject.kind == "Route"
    if entry is None or subject is not None:
        return True
    return entry.certificate == _SERVICE_CA or draft.endpoint.server_name in entry.server_names or _is_api(draft)


def _is_api(draft: Draft) -> bool:
    return draft.entry is not None and (draft.entry.component, draft.endpoint.port) == ("kube-apiserver", 6443)


def _anchors(facts: Facts, draft: Draft) -> tuple[str, str]:
    """The bundle as PEM, and where it stands."""
    found = _of_subject(facts, draft.endpoint)
    if found is not None:
        return found
    signer = _signer(facts, draft)
    return first_bundle(facts.snapshot, _BUNDLES.get(signer or "", ()))


def _signer(facts: Facts, draft: Draft) -> str | None:
    entry, endpoint = draft.entry, draft.endpoint
    if endpoint.subject is not None and endpoint.subject.kind == "Route":
        return "router" if _is_routers(facts, draft) else None
    if draft.implementation == "haproxy":
        return None
    if entry is None:
        return _SERVICE_CA if _by_service_ca(facts, endpoint) else None
    if entry.certificate == _SERVICE_CA:
        return _SERVICE_CA
    if _is_api(draft):
        return None if _by_administrator(facts, draft) else "kube-apiserver"
    return "kubelet" if (entry.component, endpoint.port) == ("kubelet", 10250) else None


def _by_service_ca(facts: Facts, endpoint: Endpoint) -> bool:
    """Whether a Service that leads there asks for such a certificate. The annotation does not say for which of its
    ports; discovery declares to be TLS the one that must be meant."""
    if endpoint.component is not None or endpoint.certainty != "declared":
        return False
    hosts = {endpoint.server_name or endpoint.host} - {""} or set(endpoint.alias_hosts)
    services = (service_of(facts.snapshot, each) for each in hosts)
    return any(service_ca_secret(each) for each in services if each is not None)


def _is_routers(facts: Facts, draft: Draft) -> bool:
    """Whether the router's default certificate is served under a Route's host: by the router, or by the OAuth server,
    which gets a copy for exactly that name (cluster-authentication-operator, ``v4-0-config-system-router-certs``)."""
    if draft.implementation == "haproxy":
        return _default_certificate(facts, draft)
    return (
        draft.entry is not None
        and draft.entry.component == _OAUTH
        and _default_certificate(facts, draft)
        and not _own_component_route(facts, draft.endpoint.server_name)
    )


def _own_component_route(facts: Facts, host: str | None) -> bool:
    """Whether the administrator gave this host a certificate (``spec.componentRoutes`` of Ingress/cluster)."""
    found = facts.snapshot.get(INGRESS_CONFIG, "cluster")
    return found is None or any(
        each.hostname == host and each.secret for each in IngressConfig.of(found).component_routes
    )


def _by_administrator(facts: Facts, draft: Draft) -> bool:
    """Whether ``namedCertificates`` may be served for this name, by any issuer. Without names in the object
    they are those of the certificate, which is not at hand."""
    found = facts.snapshot.get(API_SERVER, "cluster")
    name = draft.endpoint.server_name
    given = api_server_config(found).named_certificates if found else ()
    internal = draft.entry.server_names if draft.entry else ()
    return name is not None and name not in internal and any(not each.names or name in each.names for each in given)


def _default_certificate(facts: Facts, draft: Draft) -> bool:
    """Whether the operator's own certificate is served: no object sets another for the router or the Route."""
    routers = map(IngressController.of, facts.snapshot.every(INGRESS_CONTROLLER))
    subject = draft.endpoint.subject
    if subject is None or subject.kind != "Route" or any(each.default_certificate is not None for each in routers):
        return False
    route = route_of(facts, draft)
    return route is None or not (route.tls.certificate or route.tls.external)


def _of_subject(facts: Facts, endpoint: Endpoint) -> tuple[str, str] | None:
    """The ``caBundle`` for calls to this listener; empty means the API server's own trust."""
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
