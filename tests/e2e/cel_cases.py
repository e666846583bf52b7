"""Every rule in CEL in the definitions of the kinds with TLS parts: an object that violates it and the rule of lint
that says so, or why lint has nothing to say of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scanner.values import replace
from tests.e2e.field_bases import BASES
from tests.e2e.writing import Object


@dataclass(frozen=True, slots=True)
class Violation:
    """What makes a base violate the rule, and who says so."""

    rule: str
    """Of lint."""
    put: Mapping[str, object]
    """By the way to it, ``spec.listeners.0.tls``; a whole list is replaced, and None takes a field away."""
    words: str = ""
    """In lint's message, where they are not the API server's."""
    base: int = 0
    """Of several for its kind."""


_DOT: Final = "."
_HTTPS: Final = {"name": "web", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "web-tls"}]}}
_LISTENERS: Final[Mapping[str, Violation]] = {
    "spec.listeners: tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']": Violation(
        "gateway-listener-refused", {"spec.listeners": [{**_HTTPS, "protocol": "TCP"}]}
    ),
    "spec.listeners: tls mode must be Terminate for protocol HTTPS": Violation(
        "gateway-listener-refused", {"spec.listeners": [{**_HTTPS, "tls": {"mode": "Passthrough"}}]}
    ),
    "spec.listeners: tls mode must be set for protocol TLS": Violation(
        "gateway-listener-tls", {"spec.listeners": [{"name": "web", "port": 443, "protocol": "TLS"}]}
    ),
    "spec.listeners: hostname must not be specified for protocols ['TCP', 'UDP']": Violation(
        "gateway-listener-refused",
        {"spec.listeners": [{"name": "web", "port": 443, "protocol": "TCP", "hostname": "a.example"}]},
    ),
    "spec.listeners: Listener name must be unique within the Gateway": Violation(
        "gateway-listener-refused", {"spec.listeners": [_HTTPS, {**_HTTPS, "port": 8443}]}
    ),
    "spec.listeners: Combination of port, protocol and hostname must be unique for each listener": Violation(
        "gateway-listener-conflict",
        {"spec.listeners": [_HTTPS, {**_HTTPS, "name": "other"}]},
        words="with listener 'web'",
    ),
    "spec.listeners[].tls: certificateRefs or options must be specified when mode is Terminate": Violation(
        "gateway-listener-tls", {"spec.listeners": [{**_HTTPS, "tls": {"mode": "Terminate"}}]}
    ),
}
_PARENT: Final = {"name": "edge", "namespace": "shop"}
_ANY_ROUTES: Final[Mapping[str, Violation]] = {
    "spec.parentRefs: sectionName or port must be specified when parentRefs includes 2 or more references to the same "
    "parent": Violation("field-value", {"spec.parentRefs": [_PARENT, {**_PARENT, "sectionName": "web"}]}),
    "spec.parentRefs: sectionName or port must be unique when parentRefs includes 2 or more references to the same "
    "parent": Violation("field-value", {"spec.parentRefs": [_PARENT, _PARENT]}),
    "spec.rules[].backendRefs[]: Must have port for Service reference": Violation(
        "field-value", {"spec.rules.0.backendRefs": [{"name": "web"}]}
    ),
}
_TWICE: Final = [{"name": "web", "backendRefs": [{"name": "web", "port": 443}]}] * 2
_NAMED_RULES: Final[Mapping[str, Violation]] = {
    "spec.rules: Rule name must be unique within the route": Violation("field-value", {"spec.rules": _TWICE})
}
_TLS_ROUTES: Final[Mapping[str, Violation]] = {
    **_ANY_ROUTES,
    "spec.hostnames: Hostnames cannot contain an IP": Violation(
        "gateway-route-attachment", {"spec.hostnames": ["10.0.0.1"]}
    ),
    "spec.hostnames: Hostnames must be valid based on RFC-1123": Violation(
        "field-value", {"spec.hostnames": ["Web.example"]}, words="must be a DNS name in lower case"
    ),
    "spec.hostnames: Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on "
    "RFC-1123": Violation("field-value", {"spec.hostnames": ["a.*.example"]}, words="must be a DNS name in lower case"),
    **{name: replace(each, base=1) for name, each in _NAMED_RULES.items()},
}
_TARGET: Final = {"group": "", "kind": "Service", "name": "web"}
_AUTHORITIES: Final = "spec.validation.caCertificateRefs"
_NAMES: Final = "spec.validation.subjectAltNames"
_POLICIES: Final[Mapping[str, Violation]] = {
    "spec.targetRefs: sectionName must be specified when targetRefs includes 2 or more references to the same target": (
        Violation("backend-tls-target", {"spec.targetRefs": [_TARGET, {**_TARGET, "sectionName": "https"}]})
    ),
    "spec.targetRefs: sectionName must be unique when targetRefs includes 2 or more references to the same target": (
        Violation("backend-tls-target", {"spec.targetRefs": [_TARGET, _TARGET]})
    ),
    "spec.validation: must not contain both CACertificateRefs and WellKnownCACertificates": Violation(
        "backend-tls-validation", {"spec.validation.wellKnownCACertificates": "System"}
    ),
    "spec.validation: must specify either CACertificateRefs or WellKnownCACertificates": Violation(
        "backend-tls-validation", {_AUTHORITIES: None}
    ),
    f"{_NAMES}[]: SubjectAltName element must contain Hostname, if Type is set to Hostname": Violation(
        "backend-tls-validation", {_NAMES: [{"type": "Hostname"}]}
    ),
    f"{_NAMES}[]: SubjectAltName element must not contain Hostname, if Type is not set to Hostname": Violation(
        "backend-tls-validation", {_NAMES: [{"type": "URI", "uri": "spiffe://a/b", "hostname": "a.example"}]}
    ),
    f"{_NAMES}[]: SubjectAltName element must contain URI, if Type is set to URI": Violation(
        "backend-tls-validation", {_NAMES: [{"type": "URI"}]}
    ),
    f"{_NAMES}[]: SubjectAltName element must not contain URI, if Type is not set to URI": Violation(
        "backend-tls-validation", {_NAMES: [{"type": "Hostname", "uri": "spiffe://a/b", "hostname": "a.example"}]}
    ),
}
_X_NAMES: Final = "spec.tls.validation.subjectAltNames"
_X_BACKENDS: Final[Mapping[str, Violation]] = {
    "spec: externalHostname must be set when type is ExternalHostname and must be unset otherwise": Violation(
        "field-value", {"spec.externalHostname": None}
    ),
    "spec.tls: clientCertificateRef must be set if and only if mode is ClientAndServer": Violation(
        "field-value", {"spec.tls.mode": "ClientAndServer", "spec.tls.clientCertificateRef": None}
    ),
    "spec.tls.validation: must not contain both CACertificateRefs and WellKnownCACertificates": Violation(
        "field-value",
        {
            "spec.tls.validation.caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "backends"}],
            "spec.tls.validation.wellKnownCACertificates": "System",
        },
    ),
    "spec.tls.validation: must specify either CACertificateRefs or WellKnownCACertificates": Violation(
        "field-value",
        {
            "spec.tls.validation.caCertificateRefs": None,
        },
    ),
    f"{_X_NAMES}[]: SubjectAltName element must contain Hostname, if Type is set to Hostname": Violation(
        "field-value", {_X_NAMES: [{"type": "Hostname"}]}
    ),
    f"{_X_NAMES}[]: SubjectAltName element must not contain Hostname, if Type is not set to Hostname": Violation(
        "field-value", {_X_NAMES: [{"type": "URI", "uri": "spiffe://a/b", "hostname": "a.example"}]}
    ),
    f"{_X_NAMES}[]: SubjectAltName element must contain URI, if Type is set to URI": Violation(
        "field-value", {_X_NAMES: [{"type": "URI"}]}
    ),
    f"{_X_NAMES}[]: SubjectAltName element must not contain URI, if Type is not set to URI": Violation(
        "field-value", {_X_NAMES: [{"type": "Hostname", "uri": "spiffe://a/b", "hostname": "a.example"}]}
    ),
}
_ROUTES: Final[Mapping[str, Violation]] = {
    "spec: header actions are not permitted when tls termination is passthrough.": Violation(
        "route-fields",
        {
            "spec.tls": {"termination": "passthrough"},
            "spec.path": None,
            "spec.httpHeaders": {
                "actions": {
                    "response": [{"name": "x-a", "action": {"type": "Delete"}}],
                },
            },
        },
        words="only edge and re-encrypt routes are supported for providing customized headers",
    ),
    "spec.tls: cannot have both spec.tls.termination: passthrough and spec.tls.insecureEdgeTerminationPolicy: Allow": (
        Violation(
            "route-fields",
            {
                "spec.tls": {"termination": "passthrough", "insecureEdgeTerminationPolicy": "Allow"},
                "spec.path": None,
            },
            words="acceptable values are None, Redirect",
        )
    ),
    "spec.tls: cannot have both spec.tls.certificate and spec.tls.externalCertificate": Violation(
        "route-fields",
        {"spec.tls.certificate": "a"},
        words="cannot specify both tls.certificate and tls.externalCertificate",
    ),
}
_CONTROLLERS: Final[Mapping[str, Violation]] = {
    "The combined 'router-' + metadata.name + '.' + .spec.domain cannot exceed 253 characters": Violation(
        "field-value", {"spec.domain": ".".join(["a" * 60] * 4)}
    ),
    "spec.domain: domain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character": Violation(
        "field-value", {"spec.domain": "Apps.example"}, words="must be a DNS name in lower case"
    ),
    "spec.domain: each DNS label must not exceed 63 characters": Violation(
        "field-value", {"spec.domain": "a" * 64}, words="must be a DNS name in lower case"
    ),
}
_SUBJECTS: Final = {"subjectName": "a.example", "subjectNames": ["b.example"], "caSecret": "backends"}
_SAID: Final = "subjectNames[0] must equal subjectName if set"
_PROXIES: Final[Mapping[str, Violation]] = {
    f"spec.routes[].services[].validation: {_SAID}": Violation(
        "field-value", {"spec.routes.0.services.0.validation": _SUBJECTS}
    ),
    f"spec.tcpproxy.services[].validation: {_SAID}": Violation(
        "field-value", {"spec.tcpproxy.services.0.validation": _SUBJECTS}, base=1
    ),
    f"spec.virtualhost.jwtProviders[].remoteJWKS.validation: {_SAID}": Violation(
        "field-value", {"spec.virtualhost.jwtProviders.0.remoteJWKS.validation": _SUBJECTS}
    ),
}
_PUBLISHED: Final = "APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts"
_BALANCED: Final = {"type": "LoadBalancer", "loadBalancer": {"hostname": "api.shop.example"}}
_HOSTED: Final[Mapping[str, Violation]] = {
    f"spec: {_PUBLISHED}.namedCertificates[]": Violation(
        "field-value",
        {"spec.services.0": {"service": "APIServer", "servicePublishingStrategy": _BALANCED}},
    ),
}
_KEYS: Final = ("clientCertificates", "defaults", "servingCertificates", "signerCertificates")
_CUSTOM: Final = "spec.certificateManagement.custom"
_PKI: Final[Mapping[str, Violation]] = {
    "spec.certificateManagement: custom is required when mode is Custom, and forbidden otherwise": Violation(
        "pki-object", {_CUSTOM: None}
    ),
    **{
        f"{_CUSTOM}.{name}.key: {key} is required when algorithm is {key.upper()}, and forbidden otherwise": Violation(
            "pki-object", {f"{_CUSTOM}.{name}": {"key": {"algorithm": key.upper()}}}
        )
        for name in _KEYS
        for key in ("rsa", "ecdsa")
    },
}
VIOLATIONS: Final[Mapping[str, Mapping[str, Violation]]] = {
    "Gateway": {
        **_LISTENERS,
        "spec.tls.frontend.perPort: Port for TLS configuration must be unique within the Gateway": Violation(
            "gateway-port-unused", {"spec.tls.frontend.perPort": [{"port": 443, "tls": {}}] * 2}
        ),
    },
    "ListenerSet": _LISTENERS,
    "XListenerSet": {name: each for name, each in _LISTENERS.items() if "set for protocol TLS" not in name},
    "TLSRoute": _TLS_ROUTES,
    "HTTPRoute": {**_ANY_ROUTES, **_NAMED_RULES},
    "GRPCRoute": {**_ANY_ROUTES, **_NAMED_RULES},
    "TCPRoute": _ANY_ROUTES,
    "XBackend": _X_BACKENDS,
    "ExtensionService": {f"spec.validation: {_SAID}": Violation("field-value", {"spec.validation": _SUBJECTS})},
    "BackendTLSPolicy": _POLICIES,
    "Route": _ROUTES,
    "IngressController": _CONTROLLERS,
    "HTTPProxy": _PROXIES,
    "HostedCluster": _HOSTED,
    "PKI": _PKI,
}
"""By kind, and by the way to the rule and its message."""
NO_TLS: Final[Mapping[str, str]] = {
    "APIServer spec.encryption": "how etcd's content is encrypted, and who keeps the keys for that",
    "APIServer spec: tlsAdherence may not be removed once set": "a transition, which has a test of its own",
    "GRPCRoute spec.rules": "which requests go where",
    "Gateway spec.addresses": "where it listens",
    "Gateway spec.infrastructure": "labels and annotations of what it is made of",
    "Console spec.customization": "how it looks",
    "Console spec.ingress": "addresses of proxies before it",
    "HTTPRoute spec.rules": "which requests go where, and what is changed in them",
    "Ingress spec.componentRoutes[].labels": "labels of the routes",
    "Ingress spec.domain: domain is immutable once set": "a transition",
    **{
        f"HostedCluster spec.{name}": "what the cluster is made of, where it is and who logs in"
        for name in (
            "autoNode",
            "autoscaling",
            "capabilities",
            "clusterID",
            "configuration.authentication",
            "configuration.featureGate",
            "configuration.image",
            "configuration.ingress",
            "configuration.network",
            "configuration.oauth",
            "controlPlaneRelease",
            "controllerAvailabilityPolicy",
            "dns",
            "etcd",
            "fips",
            "infraID",
            "issuerURL",
            "kubeAPIServerDNSName",
            "networking",
            "nodeSelector",
            "olmCatalogPlacement",
            "operatorConfiguration",
            "pausedUntil",
            "platform",
            "release",
            "secretEncryption",
            "services[]",
            "updateService",
        )
    },
    "HostedCluster spec.configuration.apiServer.encryption": "the same as for an APIServer",
    "HostedCluster spec.configuration.apiServer: tlsAdherence may not be removed once set": "the same",
    **{
        f"HostedCluster spec: {begins}": "how it is published, and on which platform"
        for begins in (
            "spec.services in body",
            "Services is immutable",
            "Azure managed",
            "Self-managed Azure",
            "Azure platform",
            "If serviceAccountSigningKey",
            "disableMultiNetwork",
            "ovnKubernetesConfig",
            "secretEncryption cannot",
        )
    },
    "IngressController spec.endpointPublishingStrategy": "the cloud's load balancer",
    "IngressController spec.httpHeaders": "headers of HTTP",
    "IngressController spec.tuningOptions": "time limits and numbers of connections",
    "Route spec.httpHeaders": "headers of HTTP",
    "ScrapeConfig spec: at most one of basicAuth, authorization, or oauth2": "how Prometheus shows who it is",
    "TCPRoute spec.rules: Rule name": "it may have no second one, which is said before",
    "XBackend spec.externalHostname.hostname: hostname must not be an IP": "which host outside is meant",
    "XBackend spec.port.name": "what a port is called",
}
"""Where rules begin that say nothing of TLS, and what of."""
PKI_BASE: Final[Object] = {
    "apiVersion": "config.openshift.io/v1alpha1",
    "kind": "PKI",
    "metadata": {"name": "cluster"},
    "spec": {
        "certificateManagement": {
            "mode": "Custom",
            "custom": {"defaults": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}}},
        }
    },
}


def violating(kind: str, violation: Violation) -> Object:
    """The object that violates it."""
    item = copy.deepcopy([each for each in (*BASES, PKI_BASE) if each["kind"] == kind][violation.base])
    for way, value in violation.put.items():
        *steps, last = [int(step) if step.isdigit() else step for step in way.split(_DOT)]
        holder: Any = item
        for step in steps:
            holder = holder[step]
        if value is None:
            del holder[last]
        else:
            holder[last] = value
    return item
