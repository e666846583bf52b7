"""Trust between a listener and its clients: what clients verify, and which client certificates the listener accepts.

Discovery records in the endpoint whether a client certificate is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from scanner.expect.backend_tls import of_policy, of_proxy
from scanner.expect.contour import proxy_of
from scanner.expect.facts import Facts, gateway_listeners, gateways, led
from scanner.expect.ingress_controller import controller_of
from scanner.expect.partial_expectation import Partial
from scanner.expect.passthrough import passed_through
from scanner.files.source_positions import dotted
from scanner.kube.cluster_facts import is_guest
from scanner.kube.gateway import Gateway
from scanner.kube.hostnames import host_of
from scanner.kube.ingress import Route
from scanner.kube.kinds import (
    API_SERVICE,
    BACKEND_TLS_POLICY,
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    HTTP_PROXY,
    MUTATING_WEBHOOK,
    NODE,
    ROUTE,
    VALIDATING_WEBHOOK,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.pod import Node
from scanner.kube.secrets import ConfigMap
from scanner.kube.service_callers import calls
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint, Origin
from scanner.model.expectation import Client
from scanner.model.pem import decoded_text, trusted_certificates

SERVICE_CA_BUNDLES: Final = (
    ("openshift-service-ca", "signing-cabundle", "ca-bundle.crt"),
    ("openshift-config", "openshift-service-ca.crt", "service-ca.crt"),
)
"""The ConfigMaps (namespace, name, key) with the service CA; the first existing one counts."""


def clients(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[Client]:
    """Each client whose trust anchors an object declares. Others are left out: without a caBundle the API server uses
    the roots of its own system, and with ``insecureSkipTLSVerify`` it verifies nothing."""
    for found, origin in led(snapshot, endpoint, {name: kind for name, (kind, _) in _READERS.items()}):
        _, reader = _READERS[found.kind.name]
        yield from reader(snapshot, endpoint, found, origin)


_KINDS_OF_CALL: Final = {"webhook": " webhook ", "conversion": " conversion", "aggregation": ""}


def _api_server(_: Snapshot, __: Endpoint, found: KubeObject, origin: Origin) -> Iterator[Client]:
    """It verifies ``<name>.<namespace>.svc``, or the host of the URL (k8s.io/apiserver, pkg/util/webhook/client.go)."""
    who = f"{found.reference}{_KINDS_OF_CALL.get(origin.role, '')}{origin.part}"
    for call in calls(found):
        client = call.client
        if call.name == origin.part and client.bundle and not client.insecure_skip_tls_verify:
            url = client.url if isinstance(client.url, str) else ""
            called = f"{client.service.name}.{client.service.namespace}.svc" if client.service else host_of(url)
            source = f"{found.reference} {dotted((*client.steps, 'caBundle'))}"
            yield Client(
                who=who,
                source=source,
                anchors=tuple(trusted_certificates(decoded_text(client.bundle))),
                name=called or None,
            )


def _route(snapshot: Snapshot, endpoint: Endpoint, found: KubeObject, origin: Origin) -> Iterator[Client]:
    """The router: with the Route's own CA it verifies no name, else it verifies the Service's name with the service CA
    (openshift/router, haproxy-config.template)."""
    if (origin.role, origin.part) != ("backend", "reencrypt"):
        return
    who, field = f"{found.reference} reencrypt backend", "spec.tls.destinationCACertificate"
    route = Route.of(found)
    own = route.tls.destination_ca
    if own.strip():
        yield Client(who=who, source=f"{found.reference} {field}", anchors=tuple(trusted_certificates(own)), name=None)
        return
    bundle, source = first_bundle(snapshot, SERVICE_CA_BUNDLES)
    if bundle:
        yield Client(
            who=who, source=source, anchors=tuple(trusted_certificates(bundle)), name=_backend(endpoint, route)
        )


def _backend(endpoint: Endpoint, route: Route) -> str | None:
    """The name of the Route's Service in front of the endpoint; None if it is ambiguous."""
    names = {f"{each.service}.{route.namespace}.svc" for each in route.backends}.intersection(endpoint.hosts)
    return names.pop() if len(names) == 1 else None


def _kubelet(snapshot: Snapshot, _: Endpoint, found: KubeObject, origin: Origin) -> Iterator[Client]:
    """kube-apiserver calls kubelets only by their internal address (cluster-kube-apiserver-operator,
    ``bindata/assets/config/defaultconfig.yaml``). A hosted control plane has its own configuration."""
    config_map = snapshot.get(CONFIG_MAP, "kubelet-serving-ca", "openshift-config-managed")
    if origin.role != "kubelet" or is_guest(snapshot) or config_map is None:
        return
    addresses = (each for each in Node.of(found).addresses if each.type == "InternalIP")
    yield Client(
        who="kube-apiserver, which calls kubelets",
        source=f"{config_map.reference} data[ca-bundle.crt]",
        anchors=tuple(trusted_certificates(ConfigMap.of(config_map).data.get("ca-bundle.crt", ""))),
        name=next((each.address for each in addresses), None) or None,
    )


def first_bundle(snapshot: Snapshot, places: Iterable[tuple[str, str, str]]) -> tuple[str, str]:
    """PEM of the first ConfigMap (namespace, name, key) that has the key, and its place; empty if none has."""
    for namespace, name, key in places:
        config_map = snapshot.get(CONFIG_MAP, name, namespace)
        if config_map is not None and (bundle := ConfigMap.of(config_map).data.get(key)):
            return bundle, f"{config_map.reference} data[{key}]"
    return "", ""


_READERS: Final[Mapping[str, tuple[Kind, Callable[[Snapshot, Endpoint, KubeObject, Origin], Iterator[Client]]]]] = {
    VALIDATING_WEBHOOK.name: (VALIDATING_WEBHOOK, _api_server),
    MUTATING_WEBHOOK.name: (MUTATING_WEBHOOK, _api_server),
    CUSTOM_RESOURCE_DEFINITION.name: (CUSTOM_RESOURCE_DEFINITION, _api_server),
    API_SERVICE.name: (API_SERVICE, _api_server),
    ROUTE.name: (ROUTE, _route),
    BACKEND_TLS_POLICY.name: (BACKEND_TLS_POLICY, of_policy),
    HTTP_PROXY.name: (HTTP_PROXY, of_proxy),
    NODE.name: (NODE, _kubelet),
}
"""Readers by the kind of the object that leads to the endpoint."""


_VHOST = "spec.virtualhost.tls"


def server_trust(facts: Facts, partial: Partial) -> str | None:
    """The object and field with the CAs whose client certificates ``partial``'s endpoint accepts, or None."""
    if partial.endpoint.segment == "Backend" or passed_through(facts, partial) is not None:
        return None
    return _of_router(facts, partial) or _of_gateway(facts, partial.endpoint) or _of_proxy(facts, partial.endpoint)


def unasked(facts: Facts, partial: Partial) -> str | None:
    """The object that configures the listener without requesting a client certificate; None if it requests one."""
    endpoint = partial.endpoint
    if endpoint.segment == "Backend" or endpoint.expects is not None or passed_through(facts, partial) is not None:
        return None
    proxy = proxy_of(facts, endpoint)
    if proxy is not None and proxy.has_tls:
        return f"{proxy.reference} {_VHOST}"
    https = [each for each in gateway_listeners(facts.snapshot, endpoint) if each.protocol == "HTTPS"]
    found = next(gateways(facts.snapshot, endpoint), None) if https else None
    return f"{found.reference} spec.tls.frontend" if found else None


def _of_router(facts: Facts, partial: Partial) -> str | None:
    found = controller_of(facts, partial)
    if found is None or found.client_tls.certificates is None:
        return None
    return f"{found.reference} spec.clientTLS"


def _of_gateway(facts: Facts, endpoint: Endpoint) -> str | None:
    """``AllowInsecureFallback`` accepts a certificate that cannot be verified; only HTTPS listeners validate."""
    https = [each for each in gateway_listeners(facts.snapshot, endpoint) if each.protocol == "HTTPS"]
    for gateway in gateways(facts.snapshot, endpoint) if https else ():
        field = frontend_validation(gateway, https[0].port)
        if field is not None:
            return f"{gateway.reference} {field}"
    return None


def frontend_validation(gateway: Gateway, port: int | None) -> str | None:
    """The field that makes HTTPS listeners of ``gateway`` on ``port`` refuse unverified clients (GEP-91), or None."""
    found = gateway.validation(port)
    return dotted(found.steps) if found is not None and not found.falls_back else None


def _of_proxy(facts: Facts, endpoint: Endpoint) -> str | None:
    proxy = proxy_of(facts, endpoint) if endpoint.server_name is not None else None
    validation = proxy.tls.client_validation if proxy else None
    if proxy is None or validation is None or not validation.ca_secret or validation.skip_client_cert_validation:
        return None
    return f"{proxy.reference} {_VHOST}.clientValidation"
