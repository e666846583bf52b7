"""The fields of OpenShift's API (openshift/api).

Routes are served by the OpenShift API server, whose Go code holds them (openshift/library-go
``pkg/route/validation/validation.go``); MicroShift serves them by the definition. The table has what Go holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together
from scanner.lint.fields.hypershift_api import FORMER, hosted_cluster
from scanner.lint.fields.names import LABELS, SHORT_LABELS
from scanner.lint.fields.openshift_others import CONSOLE, INGRESS_CONFIG, NAMED, OAUTH
from scanner.lint.fields.shape import ANY, TEXT, Items, Record, Text, Words, anything, texts
from scanner.model.custom_profile import GROUPS, VERSIONS
from scanner.model.declared_profile import TYPES

_LOCAL: Final = Record(texts("name"))
"""k8s.io/api core/v1 ``LocalObjectReference``, without a required name."""
_PROFILE: Final = Record(
    {
        "type": Text(enum=tuple(TYPES)),
        "custom": Record(
            {
                "ciphers": Items(TEXT),
                "groups": Items(Text(enum=GROUPS), 1, 7),
                "minTLSVersion": Text(enum=VERSIONS),
            },
            told=("groups", "minTLSVersion"),
        ),
        **anything("old", "intermediate", "modern"),
    },
    told=("type",),
)
"""What is wrong with values of a profile is said by the rules on profiles, for every kind that has one."""
_API_SERVER: Final = Record(
    {
        "servingCerts": Record(
            {"namedCertificates": Items(Record({"names": Items(TEXT, 0, 64), "servingCertificate": NAMED}), 0, 32)}
        ),
        "clientCA": NAMED,
        "tlsAdherence": Text(enum=("LegacyAdheringComponentsOnly", "StrictAllComponents")),
        "tlsSecurityProfile": _PROFILE,
        **anything("additionalCORSAllowedOrigins", "audit", "encryption"),
    },
    told=("tlsAdherence",),
)
_DOMAIN: Final = Text(pattern=rf"^{SHORT_LABELS}$", longest=244, meant="a DNS name in lower case")
"""The pattern is what the definition says in CEL."""
_INGRESS_CONTROLLER: Final = Record(
    {
        "clientTLS": Record(
            {
                "clientCertificatePolicy": Text(enum=("", "Required", "Optional"), weak=("", "Optional")),
                "clientCA": NAMED,
                "allowedSubjectPatterns": Items(TEXT),
            },
            ("clientCA", "clientCertificatePolicy"),
        ),
        "defaultCertificate": _LOCAL,
        "tlsSecurityProfile": _PROFILE,
        "domain": _DOMAIN,
        **anything("closedClientConnectionPolicy", "endpointPublishingStrategy", "haproxyVersion", "httpCompression"),
        **anything("httpEmptyRequestsPolicy", "httpErrorCodePages", "httpHeaders", "idleConnectionTerminationPolicy"),
        **anything("logging", "namespaceSelector", "nodePlacement", "replicas", "routeAdmission", "routeSelector"),
        **anything("tuningOptions", "unsupportedConfigOverrides"),
    }
)
_KUBELET_CONFIG: Final = Record(
    {
        "tlsSecurityProfile": _PROFILE,
        "machineConfigPoolSelector": Record({"matchLabels": Words(), **anything("matchExpressions")}),
        "kubeletConfig": Record({"tlsMinVersion": TEXT, "tlsCipherSuites": Items(TEXT)}, others=True),
        **anything("autoSizingReserved", "logLevel"),
    }
)
_HOST: Final = Text(pattern=rf"^$|^{LABELS}$", longest=253, meant="a DNS name in lower case")
_SUBDOMAIN: Final = Text(pattern=rf"^$|^{SHORT_LABELS}$", longest=253, meant="a DNS name in lower case")
_ROUTE: Final = Record(
    {
        "host": _HOST,
        "subdomain": _SUBDOMAIN,
        "path": Text(pattern="^$|^/", meant="a path that begins with /"),
        "wildcardPolicy": Text(enum=("None", "Subdomain", "")),
        "tls": Record(
            {
                "termination": Text(enum=("edge", "reencrypt", "passthrough")),
                "insecureEdgeTerminationPolicy": Text(enum=("Allow", "None", "Redirect", ""), weak=("Allow",)),
                **texts("certificate", "key", "caCertificate", "destinationCACertificate"),
                "externalCertificate": _LOCAL,
            },
            told=("termination", "insecureEdgeTerminationPolicy"),
        ),
        "to": Record({"kind": Text(enum=("Service", "")), "name": Text(shortest=1), "weight": ANY}, ("name",)),
        **anything("alternateBackends", "httpHeaders", "port"),
    },
    ("to",),
)

OPENSHIFT_API: Final[Mapping[Kind, Record]] = {
    kinds.API_SERVER: Record({"spec": _API_SERVER}, ("spec",)),
    kinds.INGRESS_CONTROLLER: Record({"spec": _INGRESS_CONTROLLER}, ("spec",), clashes=together.INGRESS_CONTROLLER),
    kinds.KUBELET_CONFIG: Record({"spec": _KUBELET_CONFIG}, ("spec",)),
    kinds.ROUTE: Record({"spec": _ROUTE}, ("spec",), clashes=together.ROUTE),
    kinds.OAUTH: Record({"spec": OAUTH}, ("spec",)),
    kinds.INGRESS_CONFIG: Record({"spec": INGRESS_CONFIG}, ("spec",)),
    kinds.CONSOLE: Record({"spec": CONSOLE}, ("spec",)),
    kinds.HOSTED_CLUSTER: hosted_cluster(_API_SERVER),
}
FORMER_OPENSHIFT: Final[Mapping[tuple[Kind, str], Record]] = {
    (kinds.HOSTED_CLUSTER, "v1alpha1"): hosted_cluster(_API_SERVER, FORMER),
}
