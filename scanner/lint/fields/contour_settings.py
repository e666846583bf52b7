"""The fields of what configures Contour (apis/projectcontour/v1alpha1)."""

from __future__ import annotations

from typing import Final

from scanner.lint.fields.shape import FLAG, TEXT, Items, Record, anything, texts

_NAMED: Final = Record(texts("name", "namespace"), ("name", "namespace"))
_TLS: Final = Record(
    {**texts("minimumProtocolVersion", "maximumProtocolVersion"), "cipherSuites": Items(TEXT)},
)
_LISTENER: Final = Record(
    {
        "tls": _TLS,
        **anything("compression", "connectionBalancer", "disableAllowChunkedLength", "disableMergeSlashes"),
        **anything("httpMaxConcurrentStreams", "maxConnectionsPerListener", "maxRequestsPerConnection"),
        **anything("maxRequestsPerIOCycle", "per-connection-buffer-limit-bytes", "serverHeaderTransformation"),
        **anything("socketOptions", "useProxyProtocol"),
    }
)
_CLUSTER: Final = Record(
    {
        "upstreamTLS": _TLS,
        **anything("circuitBreakers", "dnsLookupFamily", "maxRequestsPerConnection"),
        **anything("per-connection-buffer-limit-bytes"),
    }
)
_ENVOY: Final = Record(
    {
        "clientCertificate": _NAMED,
        "cluster": _CLUSTER,
        "listener": _LISTENER,
        **anything("defaultHTTPVersions", "health", "http", "https", "logging", "metrics", "network"),
        **anything("omEnforcedHealth", "service", "timeouts"),
    }
)
CONTOUR_CONFIGURATION: Final = Record(
    {
        "envoy": _ENVOY,
        "httpproxy": Record(
            {"disablePermitInsecure": FLAG, "fallbackCertificate": _NAMED, "rootNamespaces": Items(TEXT)}
        ),
        **anything("debug", "enableExternalNameService", "featureFlags", "gateway", "globalExtAuth", "health"),
        **anything("ingress", "metrics", "policy", "rateLimitService", "tracing", "xdsServer"),
    }
)
CONTOUR_DEPLOYMENT: Final = Record(
    {"runtimeSettings": CONTOUR_CONFIGURATION, **anything("contour", "envoy", "resourceLabels")}
)
