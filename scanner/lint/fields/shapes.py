"""Which fields the TLS parts of objects have, and of what type: a table beside the definitions that it comes from.

``tests/e2e`` holds it against the real definitions, field by field. ``ANY`` is what no rule on TLS looks into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from scanner.model import kinds
from scanner.model.kinds import Kind

Scalar: TypeAlias = Literal["text", "number", "flag", "words", "any"]
Shape: TypeAlias = "Scalar | tuple[Shape] | Mapping[str, Shape]"
"""A scalar, a list of one shape, or a mapping with exactly these fields."""

TEXT: Final = "text"
NUMBER: Final = "number"
FLAG: Final = "flag"
WORDS: Final = "words"
"""A mapping of names that somebody chooses to text."""
ANY: Final = "any"


def _any(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, ANY)


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, TEXT)


_NAME: Shape = _texts("name")

# --- Gateway API (apis/v1) -------------------------------------------------------------------------------------------
# Fields of earlier releases stand here too, as ANY: rules of their own say that they are dropped.

_REFERENCE: Shape = _texts("group", "kind", "name", "namespace")
_LOCAL: Shape = _texts("group", "kind", "name")
_VALIDATION: Shape = {"caCertificateRefs": (_REFERENCE,), "mode": TEXT}
_FRONTEND_TLS: Shape = {"validation": _VALIDATION}
_LISTENER: Shape = {
    **_texts("name", "hostname", "protocol"),
    "port": NUMBER,
    "tls": {"mode": TEXT, "certificateRefs": (_REFERENCE,), "options": WORDS, **_any("frontendValidation")},
    **_any("allowedRoutes"),
}
_GATEWAY: Shape = {
    "listeners": (_LISTENER,),
    "tls": {
        "backend": {"clientCertificateRef": _REFERENCE},
        "frontend": {"default": _FRONTEND_TLS, "perPort": ({"port": NUMBER, "tls": _FRONTEND_TLS},)},
        **_any("default", "perPort"),
    },
    "gatewayClassName": TEXT,
    **_any("addresses", "allowedListeners", "defaultScope", "infrastructure", "backendTLS"),
}
_LISTENER_SET: Shape = {"listeners": (_LISTENER,), **_any("parentRef")}
_BACKEND_TLS_POLICY: Shape = {
    "targetRefs": (_texts("group", "kind", "name", "sectionName"),),
    "options": WORDS,
    "validation": {
        **_texts("hostname", "wellKnownCACertificates"),
        "caCertificateRefs": (_LOCAL,),
        "subjectAltNames": (_texts("type", "hostname", "uri"),),
    },
    **_any("targetRef", "tls"),
}

# --- OpenShift (openshift/api) ---------------------------------------------------------------------------------------

_PROFILE: Shape = {
    "type": TEXT,
    "custom": {"ciphers": (TEXT,), "groups": (TEXT,), "minTLSVersion": TEXT},
    **_any("old", "intermediate", "modern"),
}
_API_SERVER: Shape = {
    "servingCerts": {"namedCertificates": ({"names": (TEXT,), "servingCertificate": _NAME},)},
    "clientCA": _NAME,
    "tlsAdherence": TEXT,
    "tlsSecurityProfile": _PROFILE,
    **_any("additionalCORSAllowedOrigins", "audit", "encryption"),
}
_INGRESS_CONTROLLER: Shape = {
    "clientTLS": {**_texts("clientCertificatePolicy"), "clientCA": _NAME, "allowedSubjectPatterns": (TEXT,)},
    "defaultCertificate": _NAME,
    "tlsSecurityProfile": _PROFILE,
    "domain": TEXT,
    **_any("closedClientConnectionPolicy", "endpointPublishingStrategy", "haproxyVersion", "httpCompression"),
    **_any("httpEmptyRequestsPolicy", "httpErrorCodePages", "httpHeaders", "idleConnectionTerminationPolicy"),
    **_any("logging", "namespaceSelector", "nodePlacement", "replicas", "routeAdmission", "routeSelector"),
    **_any("tuningOptions", "unsupportedConfigOverrides"),
}
_KUBELET_CONFIG: Shape = {
    "tlsSecurityProfile": _PROFILE,
    "machineConfigPoolSelector": {"matchLabels": WORDS, **_any("matchExpressions")},
    **_any("autoSizingReserved", "kubeletConfig", "logLevel"),
}
_ROUTE: Shape = {
    **_texts("host", "path", "subdomain", "wildcardPolicy"),
    "tls": {
        **_texts("termination", "insecureEdgeTerminationPolicy"),
        **_texts("certificate", "key", "caCertificate", "destinationCACertificate"),
        "externalCertificate": _NAME,
    },
    **_any("alternateBackends", "httpHeaders", "port", "to"),
}

# --- Contour (apis/projectcontour) -----------------------------------------------------------------------------------

_UPSTREAM: Shape = {**_texts("caSecret", "subjectName"), "subjectNames": (TEXT,)}
_SERVICE: Shape = {
    **_texts("name", "protocol"),
    "port": NUMBER,
    "validation": _UPSTREAM,
    **_any("cookieRewritePolicies", "healthPort", "mirror", "requestHeadersPolicy", "responseHeadersPolicy"),
    **_any("slowStartPolicy", "weight"),
}
_CLIENT_VALIDATION: Shape = {
    **_texts("caSecret", "crlSecret"),
    **dict.fromkeys(("crlOnlyVerifyLeafCert", "optionalClientCertificate", "skipClientCertValidation"), FLAG),
    "forwardClientCertificate": dict.fromkeys(("cert", "chain", "dns", "subject", "uri"), FLAG),
}
_VIRTUAL_HOST: Shape = {
    "fqdn": TEXT,
    "tls": {
        **_texts("secretName", "minimumProtocolVersion", "maximumProtocolVersion"),
        **dict.fromkeys(("passthrough", "enableFallbackCertificate"), FLAG),
        "clientValidation": _CLIENT_VALIDATION,
    },
    **_any("authorization", "corsPolicy", "ipAllowPolicy", "ipDenyPolicy", "jwtProviders", "rateLimitPolicy"),
}
_HTTP_PROXY: Shape = {
    "virtualhost": _VIRTUAL_HOST,
    "tcpproxy": {"services": (_SERVICE,), **_any("healthCheckPolicy", "include", "includes", "loadBalancerPolicy")},
    "ingressClassName": TEXT,
    **_any("includes", "routes"),
}
_DELEGATION: Shape = {"delegations": ({"secretName": TEXT, "targetNamespaces": (TEXT,)},)}

# --- Kubernetes ------------------------------------------------------------------------------------------------------

_INGRESS: Shape = {
    "tls": ({"hosts": (TEXT,), "secretName": TEXT},),
    "ingressClassName": TEXT,
    **_any("defaultBackend", "rules", "backend"),
}
_CALLED: Shape = {**_texts("namespace", "name", "path"), "port": NUMBER}
_WEBHOOKS: Shape = (
    {
        "name": TEXT,
        "clientConfig": {"url": TEXT, "caBundle": TEXT, "service": _CALLED},
        **_any("admissionReviewVersions", "failurePolicy", "matchConditions", "matchPolicy", "namespaceSelector"),
        **_any("objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"),
    },
)
_API_SERVICE: Shape = {
    "service": _texts("namespace", "name") | {"port": NUMBER},
    "caBundle": TEXT,
    "insecureSkipTLSVerify": FLAG,
    **_any("group", "version", "groupPriorityMinimum", "versionPriority"),
}

OBJECT: Final[Mapping[str, Shape]] = _any("apiVersion", "kind", "metadata", "status", "adhere")
"""What every object has; the last is what adhere itself notes where it drops a key."""
SHAPES: Final[Mapping[Kind, Mapping[str, Shape]]] = {
    kinds.GATEWAY: {"spec": _GATEWAY},
    kinds.LISTENER_SET: {"spec": _LISTENER_SET},
    kinds.X_LISTENER_SET: {"spec": _LISTENER_SET},
    kinds.BACKEND_TLS_POLICY: {"spec": _BACKEND_TLS_POLICY},
    kinds.API_SERVER: {"spec": _API_SERVER},
    kinds.INGRESS_CONTROLLER: {"spec": _INGRESS_CONTROLLER},
    kinds.KUBELET_CONFIG: {"spec": _KUBELET_CONFIG},
    kinds.ROUTE: {"spec": _ROUTE},
    kinds.HTTP_PROXY: {"spec": _HTTP_PROXY},
    kinds.TLS_CERTIFICATE_DELEGATION: {"spec": _DELEGATION},
    kinds.INGRESS: {"spec": _INGRESS},
    kinds.VALIDATING_WEBHOOK: {"webhooks": _WEBHOOKS},
    kinds.MUTATING_WEBHOOK: {"webhooks": _WEBHOOKS},
    kinds.API_SERVICE: {"spec": _API_SERVICE},
}
"""The objects whose fields are known, beside ``OBJECT``."""
