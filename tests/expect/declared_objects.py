"""Objects that declare a certificate, and those beside them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from scanner.tls.certificate import parse_certificate
from tests.certs import Authority

LEAF = Authority("Service CA").leaf(names=("web.shop.svc",))
FACTS = parse_certificate(LEAF.der)
ROUTER = "Deployment/openshift-ingress/router-default:443#web.apps.example"
ROUTED = {"subject": "Route/shop/web", "segment": "Frontend"}


def made(kind: str, namespace: str | None, name: str, api: str = "v1", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def secret(namespace: str, name: str, content: bytes = LEAF.pem) -> dict[str, Any]:
    return made("Secret", namespace, name, data={"tls.crt": b64encode(content).decode()})


def route(**tls: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return made("Route", "shop", "web", "route.openshift.io/v1", spec={"tls": {"termination": "edge", **tls}})


def controller(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return made("IngressController", "openshift-ingress-operator", "default", "operator.openshift.io/v1", spec=spec)


GATEWAY_API = "gateway.networking.k8s.io/v1"


def listener(name: str, *secrets: dict[str, str], **tls: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"name": name, "protocol": "HTTPS", "port": 443, "tls": {"certificateRefs": list(secrets), **tls}}


def grant(**to: str) -> dict[str, Any]:
    """Certificates of ``certs`` for Gateways of ``edge``."""
    source = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "edge"}
    spec = {"from": [source], "to": [{"group": "", "kind": "Secret", **to}]}
    return made("ReferenceGrant", "certs", "edge", "gateway.networking.k8s.io/v1beta1", spec=spec)


def gateway(*listeners: dict[str, Any]) -> dict[str, Any]:
    return made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": list(listeners)})


def proxy(**tls: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    spec = {"virtualhost": {"fqdn": "web.example", "tls": tls}}
    return made("HTTPProxy", "shop", "web", "projectcontour.io/v1", spec=spec)


def pem(*ders: bytes) -> str:
    return "".join(
        f"-----BEGIN CERTIFICATE-----\n{b64encode(der).decode()}\n-----END CERTIFICATE-----\n" for der in ders
    )


def config_map(namespace: str, name: str, key: str, der: bytes) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: pem(der)}}


def version(release: str) -> dict[str, Any]:
    history = [{"state": "Completed", "version": release}]
    status = {"desired": {"version": release}, "history": history}
    return made("ClusterVersion", "", "version", "config.openshift.io/v1", status=status)


def api_server(kind: str) -> dict[str, Any]:
    spec = {"tlsSecurityProfile": {"type": kind}, "tlsAdherence": "StrictAllComponents"}
    return made("APIServer", "", "cluster", "config.openshift.io/v1", spec=spec)


PROXY = "Deployment/edge/proxy:8443#web.example"


def delegation(name: str, *namespaces: str, group: str = "projectcontour.io/v1") -> dict[str, Any]:
    """A Secret of ``certs``, for ``shop`` where nobody is named."""
    one = {"secretName": name, "targetNamespaces": list(namespaces or ("shop",))}
    return made("TLSCertificateDelegation", "certs", "certs", group, spec={"delegations": [one]})
