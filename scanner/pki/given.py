"""What people gave the cluster: certificates and CAs that no operator generates, so that the PKI object cannot ask
anything of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from scanner.kube.kinds import (
    API_SERVER,
    CONFIG_MAP,
    GATEWAY,
    HTTP_PROXY,
    INGRESS,
    INGRESS_CONFIG,
    INGRESS_CONTROLLER,
    LISTENER_SET,
    ROUTE,
    X_LISTENER_SET,
    Kind,
)
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import Snapshot

_HOLDERS = (GATEWAY, LISTENER_SET, X_LISTENER_SET)
"""What has listeners in the Gateway API."""
READS: tuple[Kind, ...] = (API_SERVER, INGRESS_CONFIG, INGRESS_CONTROLLER, INGRESS, *_HOLDERS, HTTP_PROXY, ROUTE)

Name: TypeAlias = tuple[str, str]
"""Namespace and name."""
Named: TypeAlias = Iterator[tuple[Name, str]]
"""Objects by name, and the object and field that names each."""

CONFIG_NAMESPACE = "openshift-config"
"""Where users put what objects of ``config.openshift.io`` name."""
INGRESS_NAMESPACE = "openshift-ingress"
_CERT_MANAGER = "cert-manager.io/certificate-name"
_SERVICE_CA = (
    "service.beta.openshift.io/originating-service-name",
    "service.alpha.openshift.io/originating-service-name",
)
_INJECTED = ("cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret")
_TRUST_BUNDLE = "config.openshift.io/inject-trusted-cabundle"
_INSTALL_CONFIG = ("kube-system", "cluster-config-v1")


def of_platform(snapshot: Snapshot) -> Named:
    """Secrets that take the place of an operator's own: APIServer's, the component routes', the IngressControllers'."""
    for server in snapshot.every(API_SERVER):
        for number, each in enumerate(server.each("spec", "servingCerts", "namedCertificates")):
            where = f"{server.reference} spec.servingCerts.namedCertificates[{number}]"
            yield (CONFIG_NAMESPACE, each.text("servingCertificate", "name")), where
    for config in snapshot.every(INGRESS_CONFIG):
        for number, each in enumerate(config.each("spec", "componentRoutes")):
            where = f"{config.reference} spec.componentRoutes[{number}].servingCertKeyPairSecret"
            yield (CONFIG_NAMESPACE, each.text("servingCertKeyPairSecret", "name")), where
    for controller in snapshot.every(INGRESS_CONTROLLER):
        name = controller.text("spec", "defaultCertificate", "name")
        yield (INGRESS_NAMESPACE, name), f"{controller.reference} spec.defaultCertificate"


def of_workloads(snapshot: Snapshot) -> Named:
    """Secrets that Ingresses, Gateways, HTTPProxies and Routes name."""
    for ingress in snapshot.every(INGRESS):
        for number, each in enumerate(ingress.each("spec", "tls")):
            yield (ingress.namespace or "", each.text("secretName")), f"{ingress.reference} spec.tls[{number}]"
    for kind in _HOLDERS:
        for holder in snapshot.every(kind):
            yield from _of_gateway(holder)
    for proxy in snapshot.every(HTTP_PROXY):
        yield from _of_proxy(proxy)
    for route in snapshot.every(ROUTE):
        name = route.text("spec", "tls", "externalCertificate", "name")
        yield (route.namespace or "", name), f"{route.reference} spec.tls.externalCertificate"


def _of_gateway(gateway: KubeObject) -> Named:
    for number, listener in enumerate(gateway.each("spec", "listeners")):
        for reference in listener.each("tls", "certificateRefs"):
            if reference.text("group") == "" and reference.text("kind") in ("", "Secret"):
                namespace = reference.text("namespace") or gateway.namespace or ""
                yield (namespace, reference.text("name")), f"{gateway.reference} spec.listeners[{number}].tls"


def _of_proxy(proxy: KubeObject) -> Named:
    """What it serves, and the CAs by which it verifies its services."""
    secrets = [(proxy.text("spec", "virtualhost", "tls", "secretName"), "spec.virtualhost.tls")]
    for number, route in enumerate(proxy.each("spec", "routes")):
        field = f"spec.routes[{number}].services"
        secrets += [(each.text("validation", "caSecret"), field) for each in route.each("services")]
    for secret, field in secrets:
        namespace, _, name = secret.rpartition("/")
        yield (namespace or proxy.namespace or "", name), f"{proxy.reference} {field}"


class Given:
    """Who gave what."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._platform = _first(of_platform(snapshot))
        self._workloads = _first(of_workloads(snapshot))
        self._client_cas = {
            (CONFIG_NAMESPACE, server.text("spec", "clientCA", "name")): f"{server.reference} spec.clientCA"
            for server in snapshot.every(API_SERVER)
        }

    def secret(self, secret: KubeObject) -> str | None:
        """Why the Secret's certificates are nobody's to generate, or None. What the service CA made for a Service is
        the cluster's own, whoever uses it."""
        name = (secret.namespace or "", secret.name)
        if name in self._platform:
            return self._platform[name]
        if any(each in secret.annotations for each in _SERVICE_CA):
            return None
        issued = secret.annotations.get(_CERT_MANAGER)
        return f"cert-manager's Certificate {issued[:253]}" if issued else self._workloads.get(name)

    def config_map(self, found: KubeObject) -> str | None:
        """Why the CAs in a ConfigMap are not the cluster's, or None."""
        name = (found.namespace or "", found.name)
        if name == _INSTALL_CONFIG:
            return "additionalTrustBundle of the install-config"
        if found.labels.get(_TRUST_BUNDLE) == "true":
            return f"the label {_TRUST_BUNDLE}: the system's trusted CAs and those of Proxy spec.trustedCA"
        others = None if name in CONFIG_MAP.named else "none of the platform's: an object names it as a CA"
        return self._client_cas.get(name) or others


def injected(found: KubeObject) -> str | None:
    """Why the caBundle of a webhook, a conversion or an aggregated API is not the cluster's, or None."""
    annotations = Fields(found.annotations)
    return next((f"the annotation {name}" for name in _INJECTED if annotations.has(name)), None)


def _first(named: Named) -> Mapping[Name, str]:
    """By name; the first to name it counts."""
    found: dict[Name, str] = {}
    for name, where in named:
        if name[1]:
            found.setdefault(name, where)
    return found
