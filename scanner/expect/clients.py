"""Who calls a listener, whom each of them trusts, and by which name: one object after the other that led there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from scanner.expect import upstream
from scanner.expect.origins import led
from scanner.expect.pem import certificates, decoded
from scanner.files.source_positions import dotted
from scanner.kube.cluster_facts import is_guest
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

SERVICE_CA_BUNDLES: Final = (
    ("openshift-service-ca", "signing-cabundle", "ca-bundle.crt"),
    ("openshift-config", "openshift-service-ca.crt", "service-ca.crt"),
)
"""The ConfigMaps (namespace, name, key) that hold the service CA; the first that is there counts."""


def clients(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[Client]:
    """Each client whose trust an object says. Nobody is named of whom it is not known what they trust: the API server
    without a caBundle goes by its own system's roots, and with ``insecureSkipTLSVerify`` by nothing."""
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
                who=who, source=source, anchors=tuple(certificates(decoded(client.bundle))), name=called or None
            )


def _route(snapshot: Snapshot, endpoint: Endpoint, found: KubeObject, origin: Origin) -> Iterator[Client]:
    """The router: with a CA of the Route's own it looks at no name, else it goes by the service CA and the Service's
    name (openshift/router, haproxy-config.template)."""
    if (origin.role, origin.part) != ("backend", "reencrypt"):
        return
    who, field = f"{found.reference} reencrypt backend", "spec.tls.destinationCACertificate"
    route = Route.of(found)
    own = route.tls.destination_ca
    if own.strip():
        yield Client(who=who, source=f"{found.reference} {field}", anchors=tuple(certificates(own)), name=None)
        return
    bundle, source = first_bundle(snapshot, SERVICE_CA_BUNDLES)
    if bundle:
        yield Client(who=who, source=source, anchors=tuple(certificates(bundle)), name=_backend(endpoint, route))


def _backend(endpoint: Endpoint, route: Route) -> str | None:
    """The name of that Service of the Route which leads there; None where nothing tells which."""
    hosts = {endpoint.server_name or "", endpoint.host, *(each.rpartition(":")[0] for each in endpoint.aliases)}
    names = {f"{each.service}.{route.namespace}.svc" for each in route.backends} & hosts
    return names.pop() if len(names) == 1 else None


def _kubelet(snapshot: Snapshot, _: Endpoint, found: KubeObject, origin: Origin) -> Iterator[Client]:
    """kube-apiserver calls kubelets by their internal address alone (cluster-kube-apiserver-operator,
    ``bindata/assets/config/defaultconfig.yaml``). A hosted control plane has a configuration of its own."""
    held = snapshot.get(CONFIG_MAP, "kubelet-serving-ca", "openshift-config-managed")
    if origin.role != "kubelet" or is_guest(snapshot) or held is None:
        return
    addresses = (each for each in Node.of(found).addresses if each.type == "InternalIP")
    yield Client(
        who="kube-apiserver, which calls kubelets",
        source=f"{held.reference} data[ca-bundle.crt]",
        anchors=tuple(certificates(ConfigMap.of(held).data.get("ca-bundle.crt", ""))),
        name=next((each.address for each in addresses), None) or None,
    )


def first_bundle(snapshot: Snapshot, places: Iterable[tuple[str, str, str]]) -> tuple[str, str]:
    """PEM of the first ConfigMap (namespace, name, key) that has the key, and where it stands; empty where none has."""
    for namespace, name, key in places:
        held = snapshot.get(CONFIG_MAP, name, namespace)
        bundle = "" if held is None else ConfigMap.of(held).data.get(key, "")
        if held is not None and bundle:
            return bundle, f"{held.reference} data[{key}]"
    return "", ""


_READERS: Final[Mapping[str, tuple[Kind, Callable[[Snapshot, Endpoint, KubeObject, Origin], Iterator[Client]]]]] = {
    VALIDATING_WEBHOOK.name: (VALIDATING_WEBHOOK, _api_server),
    MUTATING_WEBHOOK.name: (MUTATING_WEBHOOK, _api_server),
    CUSTOM_RESOURCE_DEFINITION.name: (CUSTOM_RESOURCE_DEFINITION, _api_server),
    API_SERVICE.name: (API_SERVICE, _api_server),
    ROUTE.name: (ROUTE, _route),
    BACKEND_TLS_POLICY.name: (BACKEND_TLS_POLICY, upstream.of_policy),
    HTTP_PROXY.name: (HTTP_PROXY, upstream.of_proxy),
    NODE.name: (NODE, _kubelet),
}
"""By the kind of the object that leads there."""
