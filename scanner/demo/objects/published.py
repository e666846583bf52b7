"""RouteSpec and registered objects of the demo's cluster.

IngressControllers (operator.openshift.io/v1), Routes (route.openshift.io/v1), a Gateway (gateway.networking.k8s.io/v1);
webhooks, aggregated APIs, CRDs, monitors, operators of OLM, and the ConfigMaps with their CA bundles.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from scanner.demo.api.store import Object, Resource
from scanner.demo.certificates import Signer
from scanner.demo.cluster_workloads import ROUTERS, ROUTES, Router, RouteSpec
from scanner.demo.layout import Layout
from scanner.demo.objects.platform import conditions
from scanner.demo.workload_types import BASE_DOMAIN, GATEWAY, GATEWAY_PORT

_AEAD = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
_OLD = (
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
)
_DEPLOYED = {
    "Intermediate": {"ciphers": [*_AEAD, *_TLS13], "minTLSVersion": "VersionTLS12"},
    "Old": {"ciphers": [*_AEAD, *_OLD, *_TLS13], "minTLSVersion": "VersionTLS11"},  # the operator raises TLS 1.0 to 1.1
}
"""``status.tlsProfile``: the profile that the operator configured."""


def ingress_controllers() -> Iterator[Object]:
    """Two IngressControllers, each with its own profile, on ports of the nodes."""
    for router in ROUTERS:
        ports = {"httpPort": router.http, "httpsPort": router.https, "statsPort": router.stats}
        strategy: dict[str, Any] = {"type": "HostNetwork", "hostNetwork": {**ports, "protocol": "TCP"}}
        yield {
            "metadata": {"name": router.name, "namespace": "openshift-ingress-operator", "generation": 2},
            "spec": {
                "domain": router.domain,
                "replicas": 1,
                "endpointPublishingStrategy": strategy,
                "tlsSecurityProfile": {"type": router.profile, router.profile.lower(): {}},
                **({"routeSelector": {"matchLabels": {"router": "legacy"}}} if router.name == "legacy" else {}),
            },
            "status": {
                "domain": router.domain,
                "availableReplicas": 1,
                "observedGeneration": 2,
                "endpointPublishingStrategy": strategy,
                "tlsProfile": _DEPLOYED[router.profile],
                "conditions": conditions(Admitted="True", Available="True", Progressing="False", Degraded="False"),
                "selector": f"ingresscontroller.operator.openshift.io/deployment-ingresscontroller={router.name}",
            },
        }


def routes() -> Iterator[Object]:
    """Routes of all terminations. None has a private key: the one with its own certificate names a Secret."""
    routers = {each.name: each for each in ROUTERS}
    return (_route(each, routers[each.router]) for each in ROUTES)


def certificate_roles() -> Iterator[Object]:
    """Roles that allow the routers to read the Secrets that Routes name, and no others."""
    for each in _with_certificates():
        yield {
            "metadata": {"name": f"{each.name}-cert-reader", "namespace": each.namespace},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": [f"{each.name}-cert"],
                    "verbs": ["get", "list", "watch"],
                }
            ],
        }


def certificate_role_bindings() -> Iterator[Object]:
    """Bindings of these roles to the routers' service account."""
    for each in _with_certificates():
        name = f"{each.name}-cert-reader"
        yield {
            "metadata": {"name": name, "namespace": each.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "router", "namespace": "openshift-ingress"}],
        }


def _with_certificates() -> Iterator[RouteSpec]:
    return (each for each in ROUTES if each.certificate is not None)


def _route(published: RouteSpec, router: Router) -> Object:
    tls: dict[str, Any] = {"termination": published.termination, "insecureEdgeTerminationPolicy": "Redirect"}
    if published.certificate is not None:
        tls["externalCertificate"] = {"name": f"{published.name}-cert"}
    ingress = {
        "host": published.host,
        "routerName": router.name,
        "routerCanonicalHostname": f"router-{router.name}.{router.domain}",
        "wildcardPolicy": "None",
        "conditions": conditions(Admitted="True"),
    }
    labels = {"router": "legacy"} if router.name == "legacy" else {"app": published.service}
    return {
        "metadata": {"name": published.name, "namespace": published.namespace, "labels": labels},
        "spec": {
            "host": published.host,
            "to": {"kind": "Service", "name": published.service, "weight": 100},
            "port": {"targetPort": published.port},
            "tls": tls,
            "wildcardPolicy": "None",
        },
        "status": {"ingress": [ingress]},
    }


def gateway_classes() -> Iterator[Object]:
    """The GatewayClass of OpenShift."""
    yield {
        "metadata": {"name": "openshift-default"},
        "spec": {"controllerName": "openshift.io/gateway-controller/v1"},
        "status": {"conditions": conditions(Accepted="True")},
    }


def gateways(layout: Layout) -> Iterator[Object]:
    """A Gateway with an HTTPS listener behind a load balancer."""
    kinds = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]
    status = {"name": "shop", "attachedRoutes": 1, "supportedKinds": kinds}
    met = conditions(Accepted="True", Programmed="True", ResolvedRefs="True", Conflicted="False")
    yield {
        "metadata": {"name": "shop", "namespace": "openshift-ingress", "generation": 1},
        "spec": {
            "gatewayClassName": "openshift-default",
            "listeners": [
                {
                    "name": "shop",
                    "hostname": f"shop.{GATEWAY}",
                    "port": GATEWAY_PORT,
                    "protocol": "HTTPS",
                    "tls": {"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": "shop"}]},
                    "allowedRoutes": {"namespaces": {"from": "All"}},
                }
            ],
        },
        "status": {
            "addresses": [{"type": "IPAddress", "value": layout.addresses.load_balancer}],
            "conditions": conditions(Accepted="True", Programmed="True"),
            "listeners": [{**status, "conditions": met}],
        },
    }


OUTSIDE = "https://198.51.100.7:9443/validate"
"""A webhook outside of the cluster, at an address for documentation (RFC 5737): a scan must not dial it."""

_BACKUP = "backup.example.com"
_WEBHOOK = {"namespace": "openshift-operators", "name": "backup-operator-webhook", "port": 443}


def _bundle(layout: Layout, signer: Signer) -> str:
    return base64.b64encode(layout.signers.pem(signer).encode()).decode()


def validating_webhooks(layout: Layout) -> Iterator[Object]:
    """A webhook in the cluster, and one outside of it."""
    rule = {"apiGroups": [_BACKUP], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["backups"]}
    inside = {"service": {**_WEBHOOK, "path": "/validate"}, "caBundle": _bundle(layout, "olm")}
    for name, client in (("backup-operator", inside), ("corporate-policy", {"url": OUTSIDE})):
        hook = {
            "name": f"{name}.{_BACKUP}",
            "clientConfig": client,
            "rules": [{**rule, "scope": "*"}],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
        }
        yield {"metadata": {"name": name}, "webhooks": [hook]}


def mutating_webhooks(layout: Layout) -> Iterator[Object]:
    """A webhook at the same listener as the validating one: one endpoint with two origins."""
    client = {"service": {**_WEBHOOK, "path": "/mutate"}, "caBundle": _bundle(layout, "olm")}
    hook = {"name": f"default.{_BACKUP}", "clientConfig": client, "sideEffects": "None"}
    yield {"metadata": {"name": "backup-operator"}, "webhooks": [{**hook, "admissionReviewVersions": ["v1"]}]}


def api_services(layout: Layout, resources: Iterable[Resource]) -> Iterator[Object]:
    """An APIService for each group and version; pods serve two of them."""
    behind = {
        "route.openshift.io": {"namespace": "openshift-apiserver", "name": "api", "port": 443},
        "metrics.k8s.io": {"namespace": "openshift-monitoring", "name": "metrics-server", "port": 443},
    }
    served = [(each.kind.group, version) for each in resources for version in each.versions]
    for group, version in dict.fromkeys([*served, ("metrics.k8s.io", "v1beta1")]):
        spec: dict[str, Any] = {"version": version, "groupPriorityMinimum": 9900, "versionPriority": 15}
        spec |= {"group": group} if group else {}
        if group in behind:
            spec |= {"service": behind[group], "caBundle": _bundle(layout, "service-ca")}
        status = {"conditions": conditions(Available="True")}
        yield {"metadata": {"name": f"{version}.{group}"}, "spec": spec, "status": status}


def custom_resource_definitions(layout: Layout, resources: Iterable[Resource]) -> Iterator[Object]:
    """A definition of each custom kind, and one with a conversion webhook."""
    for each in resources:
        if each.server == "crd":
            kind = each.kind
            names = {"plural": kind.plural, "singular": kind.name.lower(), "kind": kind.name}
            yield _definition(kind.group, {**names, "listKind": f"{kind.name}List"}, each.versions, kind.namespaced)
    names = {"plural": "backups", "singular": "backup", "kind": "Backup", "listKind": "BackupList"}
    backups = _definition(_BACKUP, names, ("v1", "v1beta1"), True)  # noqa: FBT003 - as above
    client = {"service": {**_WEBHOOK, "path": "/convert"}, "caBundle": _bundle(layout, "olm")}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    backups["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    yield backups


_PROFILE_TYPES = ["Old", "Intermediate", "Modern", "Custom"]
_FIELDS: dict[str, dict[str, Any]] = {
    "apiservers": {
        "tlsAdherence": {"type": "string", "enum": ["LegacyAdheringComponentsOnly", "StrictAllComponents"]},
        "tlsSecurityProfile": {
            "type": "object",
            "properties": {"type": {"type": "string", "enum": ["", *_PROFILE_TYPES]}},
        },
    }
}
"""Fields of spec in the schemas, by plural: only those whose presence adhere reads."""


def _definition(group: str, names: dict[str, str], versions: tuple[str, ...], namespaced: bool) -> Object:  # noqa: FBT001
    spec = {"type": "object", "properties": _FIELDS.get(names["plural"], {})}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    served = [
        {"name": version, "served": True, "storage": version == versions[0], "schema": schema} for version in versions
    ]
    return {
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": served,
            "conversion": {"strategy": "None"},
        },
        "status": {"conditions": conditions(Established="True", NamesAccepted="True"), "storedVersions": [versions[0]]},
    }


def service_monitors() -> Iterator[Object]:
    """ServiceMonitors with scheme https. One of these listeners answers in plaintext."""
    asked = (
        ("openshift-monitoring", "metrics-server", "https", {"app.kubernetes.io/name": "metrics-server"}, "HTTPS"),
        ("openshift-monitoring", "node-exporter", "https", {"app.kubernetes.io/name": "node-exporter"}, "https"),
        ("openshift-operators", "backup-operator-webhook", "metrics", {"control-plane": "backup-operator"}, "https"),
        ("shop", "catalog", "metrics", {"app": "catalog"}, "https"),
    )
    for namespace, name, port, labels, scheme in asked:
        tls = {"serverName": f"{name}.{namespace}.svc", "caFile": "/etc/prometheus/configmaps/service-ca.crt"}
        endpoint = {"port": port, "scheme": scheme, "interval": "30s", "tlsConfig": tls}
        yield {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}, "endpoints": [endpoint]},
        }


def cluster_service_versions() -> Iterator[Object]:
    """A layered product that OLM installed, in a namespace with the prefix of the platform's namespaces."""
    deployment = {"name": "backup-operator-controller-manager", "spec": {"replicas": 1}}
    yield {
        "metadata": {"name": "backup-operator.v1.4.2", "namespace": "openshift-operators"},
        "spec": {
            "displayName": "Backup Operator",
            "version": "1.4.2",
            "provider": {"name": "Example"},
            "install": {"strategy": "deployment", "spec": {"deployments": [deployment]}},
        },
        "status": {"phase": "Succeeded", "reason": "InstallSucceeded"},
    }


def events(layout: Layout) -> Iterator[Object]:
    """Events about the metrics server; one is about TLS."""
    about = {"apiVersion": "v1", "kind": "Service", "namespace": "openshift-monitoring", "name": "metrics-server"}
    at = f"{layout.now - timedelta(minutes=7):%Y-%m-%dT%H:%M:%SZ}"
    for kind, reason, message in (
        ("Warning", "ProbeError", "tls: server selected unsupported protocol version 303"),
        ("Warning", "BackOff", "Back-off restarting failed container"),
        ("Normal", "Pulled", "Container image with a TLS library already present on machine"),
    ):
        yield {
            "metadata": {"name": f"metrics-server.{reason.lower()}", "namespace": "openshift-monitoring"},
            "involvedObject": about,
            "type": kind,
            "reason": reason,
            "message": message,
            "count": 3,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": "kubelet"},
        }


def config_maps(layout: Layout) -> Iterator[Object]:
    """The installation's configuration, and CA bundles."""
    networks = {
        "clusterNetwork": [{"cidr": layout.addresses.pod_network, "hostPrefix": 24}],
        "serviceNetwork": [layout.addresses.service_network],
    }
    installed = {
        "apiVersion": "v1",
        "baseDomain": BASE_DOMAIN.partition(".")[2],
        "metadata": {"name": BASE_DOMAIN.partition(".")[0]},
        "networking": networks,
        "fips": False,
        "platform": {"none": {}},
    }
    pem = layout.signers.pem
    bundles = (
        ("kube-system", "cluster-config-v1", "install-config", json.dumps(installed, indent=2) + "\n"),
        ("kube-system", "kube-root-ca.crt", "ca.crt", pem("kube-apiserver", "router")),
        ("kube-system", "extension-apiserver-authentication", "client-ca-file", pem("kubelet", "kube-apiserver")),
        ("openshift-config-managed", "default-ingress-cert", "ca-bundle.crt", pem("router")),
        ("openshift-config-managed", "kubelet-serving-ca", "ca-bundle.crt", pem("kubelet")),
        ("openshift-config-managed", "kube-apiserver-server-ca", "ca-bundle.crt", pem("kube-apiserver")),
        ("openshift-kube-apiserver-operator", "loadbalancer-serving-ca", "ca-bundle.crt", pem("kube-apiserver")),
        ("openshift-kube-controller-manager-operator", "csr-signer-ca", "ca-bundle.crt", pem("kubelet")),
        ("openshift-etcd", "etcd-ca-bundle", "ca-bundle.crt", pem("etcd")),
        ("openshift-machine-config-operator", "machine-config-server-ca", "ca-bundle.crt", pem("machine-config")),
        ("openshift-service-ca", "signing-cabundle", "ca-bundle.crt", pem("service-ca")),
        ("openshift-config", "openshift-service-ca.crt", "service-ca.crt", pem("service-ca")),
    )
    for namespace, name, key, text in bundles:
        yield {"metadata": {"name": name, "namespace": namespace}, "data": {key: text}}
