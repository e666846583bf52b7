"""Who is registered with the API server, and the bundles by which it is trusted: webhooks, aggregated APIs, CRDs,
monitors, operators of OLM, ConfigMaps."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from scanner.demo.api.store import Object, Resource
from scanner.demo.landscape import BASE_DOMAIN
from scanner.demo.objects.platform import conditions
from scanner.demo.signers import Signer
from scanner.demo.world import World

OUTSIDE = "https://198.51.100.7:9443/validate"
"""A webhook that points out of the cluster, to an address for documents (RFC 5737): never to be dialled."""

_BACKUP = "backup.example.com"
_WEBHOOK = {"namespace": "openshift-operators", "name": "backup-operator-webhook", "port": 443}


def _bundle(world: World, signer: Signer) -> str:
    return base64.b64encode(world.signers.pem(signer).encode()).decode()


def validating_webhooks(world: World) -> Iterator[Object]:
    """One in the cluster, one that points out of it."""
    rule = {"apiGroups": [_BACKUP], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["backups"]}
    inside = {"service": {**_WEBHOOK, "path": "/validate"}, "caBundle": _bundle(world, "olm")}
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


def mutating_webhooks(world: World) -> Iterator[Object]:
    """By the same listener as the other: one endpoint with two origins."""
    client = {"service": {**_WEBHOOK, "path": "/mutate"}, "caBundle": _bundle(world, "olm")}
    hook = {"name": f"default.{_BACKUP}", "clientConfig": client, "sideEffects": "None"}
    yield {"metadata": {"name": "backup-operator"}, "webhooks": [{**hook, "admissionReviewVersions": ["v1"]}]}


def api_services(world: World, resources: Iterable[Resource]) -> Iterator[Object]:
    """One for each group and version; two are served by pods."""
    behind = {
        "route.openshift.io": {"namespace": "openshift-apiserver", "name": "api", "port": 443},
        "metrics.k8s.io": {"namespace": "openshift-monitoring", "name": "metrics-server", "port": 443},
    }
    served = [(each.kind.group, version) for each in resources for version in each.versions]
    for group, version in dict.fromkeys([*served, ("metrics.k8s.io", "v1beta1")]):
        spec: dict[str, Any] = {"version": version, "groupPriorityMinimum": 9900, "versionPriority": 15}
        spec |= {"group": group} if group else {}
        if group in behind:
            spec |= {"service": behind[group], "caBundle": _bundle(world, "service-ca")}
        status = {"conditions": conditions(Available="True")}
        yield {"metadata": {"name": f"{version}.{group}"}, "spec": spec, "status": status}


def custom_resource_definitions(world: World, resources: Iterable[Resource]) -> Iterator[Object]:
    """Of each kind that has one here, and one whose versions a webhook converts."""
    for each in resources:
        if each.server == "crd":
            kind = each.kind
            names = {"plural": kind.plural, "singular": kind.name.lower(), "kind": kind.name}
            yield _definition(kind.group, {**names, "listKind": f"{kind.name}List"}, each.versions, kind.namespaced)
    names = {"plural": "backups", "singular": "backup", "kind": "Backup", "listKind": "BackupList"}
    backups = _definition(_BACKUP, names, ("v1", "v1beta1"), True)  # noqa: FBT003 - as above
    client = {"service": {**_WEBHOOK, "path": "/convert"}, "caBundle": _bundle(world, "olm")}
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
"""Fields of spec whose presence in the schema says something; of the others the demo's schemas say nothing."""


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
    """Who is asked for metrics by https: one of them answers in plaintext."""
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
    """What OLM installed: a layered product, in a namespace that looks like the platform's."""
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


def events(world: World) -> Iterator[Object]:
    """What a client told the metrics server that is not reached as the cluster's profile would have it."""
    about = {"apiVersion": "v1", "kind": "Service", "namespace": "openshift-monitoring", "name": "metrics-server"}
    said = f"{world.now - timedelta(minutes=7):%Y-%m-%dT%H:%M:%SZ}"
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
            "firstTimestamp": said,
            "lastTimestamp": said,
            "source": {"component": "kubelet"},
        }


def config_maps(world: World) -> Iterator[Object]:
    """How the cluster was installed, and whom its parts trust."""
    networks = {
        "clusterNetwork": [{"cidr": world.land.pod_network, "hostPrefix": 24}],
        "serviceNetwork": [world.land.service_network],
    }
    installed = {
        "apiVersion": "v1",
        "baseDomain": BASE_DOMAIN.partition(".")[2],
        "metadata": {"name": BASE_DOMAIN.partition(".")[0]},
        "networking": networks,
        "fips": False,
        "platform": {"none": {}},
    }
    pem = world.signers.pem
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
