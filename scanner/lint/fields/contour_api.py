"""The fields of Contour's API (apis/projectcontour/v1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together
from scanner.lint.fields.contour_settings import CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT
from scanner.lint.fields.names import LABELS, PORT
from scanner.lint.fields.shape import FLAG, TEXT, Items, Record, Shape, Text, anything, texts

_UPSTREAM: Final = Record(
    {
        "caSecret": Text(shortest=1, longest=317),
        "subjectName": Text(shortest=1, longest=250),
        "subjectNames": Items(TEXT, 1, 8),
    },
    ("caSecret", "subjectName"),
    clashes=together.UPSTREAM,
)
_SERVICE: Final = Record(
    {
        "name": TEXT,
        "port": PORT,
        "protocol": Text(enum=("h2", "h2c", "tls")),
        "validation": _UPSTREAM,
        **anything("cookieRewritePolicies", "healthPort", "mirror", "requestHeadersPolicy", "responseHeadersPolicy"),
        **anything("slowStartPolicy", "weight"),
    },
    ("name", "port"),
)
_SERVICES: Final = Items(_SERVICE)
_CLIENT_VALIDATION: Final = Record(
    {
        **dict.fromkeys(("caSecret", "crlSecret"), Text(shortest=1)),
        **dict.fromkeys(("crlOnlyVerifyLeafCert", "optionalClientCertificate", "skipClientCertValidation"), FLAG),
        "forwardClientCertificate": Record(dict.fromkeys(("cert", "chain", "dns", "subject", "uri"), FLAG)),
    }
)
_TLS: Final[dict[str, Shape]] = {
    **texts("secretName", "minimumProtocolVersion", "maximumProtocolVersion"),
    **dict.fromkeys(("passthrough", "enableFallbackCertificate"), FLAG),
    "clientValidation": _CLIENT_VALIDATION,
}
_KEY_SET: Final = Record(
    {"validation": _UPSTREAM, **anything("cacheDuration", "dnsLookupFamily", "timeout", "uri")}, ("uri",)
)
_PROVIDER: Final = Record(
    {"remoteJWKS": _KEY_SET, **anything("audiences", "default", "forwardJWT", "issuer", "name")},
    ("name", "remoteJWKS"),
)
_VIRTUAL_HOST: Final = Record(
    {
        "fqdn": Text(pattern=rf"^(\*\.)?{LABELS}$", meant="a DNS name in lower case, with *. before it for a wildcard"),
        "tls": Record(_TLS),
        "jwtProviders": Items(_PROVIDER),
        **anything("authorization", "corsPolicy", "ipAllowPolicy", "ipDenyPolicy", "rateLimitPolicy"),
    },
    ("fqdn",),
    clashes=together.VIRTUAL_HOST,
)
_ROUTE: Final = Record(
    {
        "services": _SERVICES,
        "permitInsecure": FLAG,
        **anything("authPolicy", "conditions", "cookieRewritePolicies", "directResponsePolicy", "enableWebsockets"),
        **anything("healthCheckPolicy", "internalRedirectPolicy", "ipAllowPolicy", "ipDenyPolicy"),
        **anything("jwtVerificationPolicy", "loadBalancerPolicy", "pathRewritePolicy"),
        **anything("rateLimitPolicy", "requestHeadersPolicy", "requestRedirectPolicy", "responseHeadersPolicy"),
        **anything("retryPolicy", "timeoutPolicy"),
    }
)
_TCP_PROXY: Final = Record(
    {"services": _SERVICES, **anything("healthCheckPolicy", "include", "includes", "loadBalancerPolicy")}
)
_HTTP_PROXY: Final = Record(
    {
        "virtualhost": _VIRTUAL_HOST,
        "tcpproxy": _TCP_PROXY,
        "routes": Items(_ROUTE),
        "ingressClassName": TEXT,
        "includes": Items(Record({**texts("name", "namespace"), **anything("conditions")}, ("name",))),
    }
)
_DELEGATED: Final = Record({"secretName": TEXT, "targetNamespaces": Items(TEXT)})
"""What lacks one of them is ``contour-delegation-target``'s and ``contour-delegation-secret``'s."""
_DELEGATION: Final = Record({"delegations": Items(_DELEGATED)}, ("delegations",))
_FORMER: Final = Record(
    {"delegations": Items(replace(_DELEGATED, required=("secretName", "targetNamespaces")))}, ("delegations",)
)
"""Of former groups, of which no rule looks at what is in them."""
_EXTENSION_SERVICE: Final = Record(
    {
        "services": Items(Record({"name": TEXT, "port": PORT, **anything("weight")}, ("name", "port")), 1),
        "protocol": Text(enum=("h2", "h2c"), weak=("h2c",)),
        "protocolVersion": Text(enum=("v3",)),
        "validation": _UPSTREAM,
        **anything("circuitBreakerPolicy", "loadBalancerPolicy", "timeoutPolicy"),
    },
    ("services",),
)

CONTOUR_API: Final[Mapping[Kind, Record]] = {
    kinds.HTTP_PROXY: Record({"spec": _HTTP_PROXY}, ("spec",)),
    kinds.TLS_CERTIFICATE_DELEGATION: Record({"spec": _DELEGATION}, ("spec",)),
    kinds.HEPTIO_DELEGATION: Record({"spec": _FORMER}, ("spec",)),
    kinds.VMWARE_DELEGATION: Record({"spec": _FORMER}, ("spec",)),
    kinds.EXTENSION_SERVICE: Record({"spec": _EXTENSION_SERVICE}),
    kinds.CONTOUR_CONFIGURATION: Record({"spec": CONTOUR_CONFIGURATION}, ("spec",)),
    kinds.CONTOUR_DEPLOYMENT: Record({"spec": CONTOUR_DEPLOYMENT}),
}
