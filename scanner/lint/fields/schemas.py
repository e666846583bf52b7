"""Schemas of the objects that the rules on fields check: those of the API, with changes.

``profiles/schemas`` has the definitions and the API server's OpenAPI. ``CHANGES`` has the rest: the API server's checks
in Go code, wrong values that another rule reports, and fields that only other releases have. ``tests/e2e`` compares the
result with a real API server, value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.schema import Change, Constraint, Difference, Record, Schema, definition, differences, parse_schema
from scanner.lint.fields.constraints import CEL, IN_GO, LABEL, LABELS, RBAC
from scanner.model.object_rule import Subject
from scanner.values import replace

KINDS: Final = (
    kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET, kinds.BACKEND_TLS_POLICY, kinds.TLS_ROUTE,
    kinds.REFERENCE_GRANT, kinds.HTTP_ROUTE, kinds.GRPC_ROUTE, kinds.TCP_ROUTE, kinds.X_BACKEND, kinds.API_SERVER,
    kinds.INGRESS_CONTROLLER, kinds.KUBELET_CONFIG, kinds.ROUTE, kinds.OAUTH, kinds.INGRESS_CONFIG, kinds.CONSOLE,
    kinds.HOSTED_CLUSTER, kinds.HTTP_PROXY, kinds.TLS_CERTIFICATE_DELEGATION, kinds.HEPTIO_DELEGATION,
    kinds.VMWARE_DELEGATION, kinds.EXTENSION_SERVICE, kinds.CONTOUR_CONFIGURATION, kinds.CONTOUR_DEPLOYMENT,
    kinds.INGRESS, kinds.VALIDATING_WEBHOOK, kinds.MUTATING_WEBHOOK, kinds.API_SERVICE, kinds.CONFIG_MAP,
    kinds.SERVICE_MONITOR, kinds.POD_MONITOR, kinds.PROBE, kinds.SCRAPE_CONFIG, kinds.ROLE, kinds.CLUSTER_ROLE,
    kinds.ROLE_BINDING, kinds.CLUSTER_ROLE_BINDING, kinds.SERVICE, kinds.POD, kinds.DEPLOYMENT, kinds.STATEFUL_SET,
    kinds.DAEMON_SET, kinds.CUSTOM_RESOURCE_DEFINITION,
)  # fmt: skip
"""The kinds whose fields are checked."""


# --- Words for patterns ----------------------------------------------------------------------------------------------

_SHORT_LABELS: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*"
"""A name of RFC 1123 in lower case, with labels of 63 characters at most."""
_DNS_NAME: Final = "a DNS name in lower case"
_WILDCARD: Final = f"{_DNS_NAME}, with *. before it for a wildcard"
_NAMESPACE: Final = "a namespace's name, in lower case"
_WELL_KNOWN: Final = "System, or an implementation's own with its domain (example.com/NAME)"
_PROTOCOL: Final = "HTTP, HTTPS, TLS, TCP or UDP, or an implementation's own with its domain (example.com/NAME)"
PATTERNS: Final[Mapping[str, Schema]] = {
    rf"^(\*\.)?{LABELS}$": {"description": _WILDCARD},
    rf"^{LABELS}$": {"description": _DNS_NAME},
    rf"^$|^{LABELS}$": {"description": "an API group, or empty for the core"},
    "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$": {"description": "a kind"},
    rf"^{LABEL}$": {"description": _NAMESPACE},
    r"^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?": {
        "description": "a URI with a scheme and a host, such as spiffe://example.com/web"
    },
    rf"^(System|({LABELS}/([A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]))$": {
        "description": _WELL_KNOWN,
        "known": ("System",),
    },
    # HBONE is Istio's, for its own proxies (istio.io, "Configure waypoint proxies").
    rf"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|{LABELS}\/[A-Za-z0-9]+$": {
        "description": _PROTOCOL,
        "known": ("HTTP", "HTTPS", "TLS", "TCP", "UDP", "HBONE"),
    },
}
"""Descriptions of the patterns of definitions, and the accepted words that have a meaning."""


# --- Checks of the API server in Go code -----------------------------------------------------------------------------


def _text(pattern: str, description: str, longest: int | None = 253, shortest: int = 0) -> Schema:
    return {
        "type": "string",
        "pattern": pattern,
        "description": description,
        "maxLength": longest,
        "minLength": shortest,
    }


def _former(*names: str) -> Schema:
    """Fields that current definitions do not have, and another rule reports."""
    return {"properties": {name: {"former": True} for name in names}}


def _other(*names: str) -> Schema:
    """Fields of other releases, which no rule checks."""
    return {"properties": {name: {} for name in names}}


def _reported(*names: str) -> Schema:
    return {"reported": names}


def _enum(*words: str) -> Schema:
    return {"enum": words}


_PORT: Final = {"minimum": 1, "maximum": 65535}
_PORT_OR_ZERO: Final = {"minimum": 0, "maximum": 65535}
"""Zero counts as missing."""
_PORT_NAME: Final = r"(?=[-0-9]*[a-z])[a-z0-9]+(-[a-z0-9]+)*"
"""k8s.io/apimachinery ``IsValidPortName``."""
_PORT_DESCRIPTION: Final = "a port's name (a-z, 0-9 and single -, with a letter), or its number without quotes"
_OPTIONAL_PORT_NAME: Final = _text(f"^$|^{_PORT_NAME}$", _PORT_DESCRIPTION, 15)
_PROTOCOLS: Final = _enum("TCP", "UDP", "SCTP", "")
_FILLED: Final = {"minLength": 1}
_LABEL: Final = _text(f"^{LABEL}$", "a name in lower case without dots", 63)
_SECRET_NAME: Final = _text(rf"^$|^{LABELS}$|/", "the name of a Secret, in lower case")
"""The API server accepts no slash either; the rules for Contour report it."""
_INGRESS_HOST: Final = rf"^{LABELS}$|^\*\.{LABELS}$"
_NULLS: Final = {"nulls": True}
_PATH: Final = _text("^$|^/", "a path that begins with /", None)
_CALLED: Final = {
    "*.clientConfig.service": _reported("namespace", "name", "port"),
    "*.clientConfig.service.name": _FILLED,
    "*.clientConfig.service.namespace": _FILLED,
    "*.clientConfig.service.port": _PORT,
    "*.clientConfig.service.path": _PATH,
}
"""``webhook-target`` reports the service, and URLs too."""
_WEBHOOKS: Final[Mapping[str, Schema]] = {
    **_CALLED,
    "webhooks[].name": _text(rf"^{LABEL}(\.{LABEL}){{2,}}$", "a DNS name of three labels or more"),
    "webhooks[].failurePolicy": _enum("Fail", "Ignore"),
    "webhooks[]": {"required": ("name",)},
}
_PATH_NAME: Final = _text(
    r"^([^./%][^/%]*|\.[^./%][^/%]*|\.\.[^/%]+)$", "a name without / and %, and none of . and ..", None
)
"""A name that is valid in a URL path: ``system:auth-delegator``."""
_GROUP: Final = _enum(RBAC, "")
"""The API server fills in an empty group."""
_ROLES: Final[Mapping[str, Schema]] = {
    "metadata.name": _PATH_NAME,
    "rules[].verbs": {"minItems": 1, **_NULLS},
    **dict.fromkeys(
        (f"rules[].{name}" for name in ("apiGroups", "resources", "resourceNames", "nonResourceURLs")), _NULLS
    ),
}
_BINDINGS: Final[Mapping[str, Schema]] = {
    "metadata.name": _PATH_NAME,
    "subjects[].kind": _enum("ServiceAccount", "User", "Group"),
    "subjects[].name": _FILLED,
    "subjects[].apiGroup": _GROUP,
    "roleRef": {"required": ("kind", "name")},
    "roleRef.apiGroup": _GROUP,
    "roleRef.name": _PATH_NAME,
    "roleRef.kind": _enum("Role", "ClusterRole"),
}
_PODS: Final[Mapping[str, Schema]] = {
    "*.spec.containers": {"minItems": 1},
    **{
        f"*.spec.{containers}[].{name}": keywords
        for containers in ("containers", "initContainers")
        for name, keywords in {
            "name": _LABEL,
            "ports[].name": _OPTIONAL_PORT_NAME,
            "ports[].containerPort": _PORT,
            "ports[].hostPort": _PORT_OR_ZERO,
            "ports[].protocol": _PROTOCOLS,
        }.items()
    },
    "*.httpGet": _reported("scheme"),
    "*.httpGet.scheme": _enum("HTTP", "HTTPS", ""),
    "*.httpGet.port": {"integer": _PORT, "string": _text(f"^{_PORT_NAME}$", _PORT_DESCRIPTION, 15)},
    "*.volumes[].name": _LABEL,
    "*.volumes[].secret": {"required": ("secretName",)},
    "*.volumes[].secret.secretName": _FILLED,
    "*.volumes[].configMap": {"required": ("name",)},
    "*.volumes[].configMap.name": _FILLED,
}


_ANYTHING: Final[Mapping[str, Schema]] = {"apiVersion": {}, "kind": {}, "status": {}, "adhere": {}}
"""Fields of every object; ``adhere`` is its own note where it removes a key."""
_METADATA: Final[Schema] = {
    "type": "object",
    "properties": {
        "name": _text(rf"^{LABELS}\.?$", _DNS_NAME),
        "namespace": _text(rf"^$|^{LABEL}$", _NAMESPACE, 63),
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        **{
            name: {}
            for name in (
                *("clusterName", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
                *("generateName", "generation", "initializers", "managedFields", "ownerReferences"),
                *("resourceVersion", "selfLink", "uid"),
            )
        },
    },
}
"""k8s.io/apimachinery meta/v1 ``ObjectMeta``, with fields of earlier releases. Names are those of most kinds; the
APIService of the core group is called ``v1.``."""
_WORKLOADS: Final[Mapping[str, Schema]] = {
    **_PODS,
    "": {"required": ("spec",)},
    "spec": {"required": ("template",)},  # what it selects is not about TLS
    "spec.template": {"required": ("spec",)},
    # a template's name is ignored
    "spec.template.metadata": {
        **_METADATA,
        "properties": {**_METADATA["properties"], "name": {}, "namespace": {}},
    },
}


# --- Fields that other rules report ----------------------------------------------------------------------------------

_PROFILE: Final[Mapping[str, Schema]] = {
    "*.tlsSecurityProfile": _reported("type"),
    "*.tlsSecurityProfile.custom": _reported("groups", "minTLSVersion"),
}
"""The rules on profiles report them, for every kind that has one."""
_VERSIONS: Final = _reported("minVersion", "maxVersion")
"""``monitor-tls`` reports them, and ``monitor-scheme`` schemes."""
_LISTENERS: Final = {"spec.listeners[].tls": _former("frontendValidation")}
_NO_CEL: Final = {"x-kubernetes-validations": ()}
_DELEGATION: Final[Mapping[str, Schema]] = {
    "spec.delegations": {"minItems": 0},
    "spec.delegations[]": {"required": ()},
}

_HOSTED_CLUSTER: Final[Mapping[str, Schema]] = {
    **_PROFILE,
    "spec": {"required": ()},  # required fields have defaults, and are not about TLS
    "spec.configuration.apiServer": _reported("tlsAdherence"),
}

CHANGES: Final[Mapping[Kind | tuple[Kind, str], Mapping[str, Schema]]] = {
    kinds.GATEWAY: {
        **_LISTENERS,
        "spec": _former("backendTLS"),
        "spec.tls": _former("default", "perPort"),
        # gateway-client-ca reports a missing CA
        "*.validation": {"required": ()},
        "*.validation.caCertificateRefs": {"minItems": 0},
        "*.validation.mode": {"weak": ("AllowInsecureFallback",)},
    },
    kinds.LISTENER_SET: _LISTENERS,
    kinds.X_LISTENER_SET: _LISTENERS,
    kinds.BACKEND_TLS_POLICY: {
        # backend-tls-target and backend-tls-validation report them
        "spec": {**_former("targetRef", "tls"), "required": ("validation",)},
        "spec.targetRefs": {"minItems": 0},
        "spec.validation": {**_reported("hostname"), **_NO_CEL},
        "spec.validation.subjectAltNames[]": _NO_CEL,
    },
    # release 1.0
    (kinds.BACKEND_TLS_POLICY, "v1alpha2"): {"spec": {**_former("targetRefs", "validation"), "required": ()}},
    # gateway-route-attachment reports missing hostnames
    kinds.TLS_ROUTE: {"spec": {"required": ("rules",)}, "spec.hostnames": {"minItems": 0}},
    kinds.X_BACKEND: {"spec.tls.mode": {"weak": ("None",)}},
    kinds.API_SERVER: {**_PROFILE, "spec": _reported("tlsAdherence")},
    kinds.HOSTED_CLUSTER: _HOSTED_CLUSTER,
    # HyperShift no longer has it
    (kinds.HOSTED_CLUSTER, "v1alpha1"): {
        **_HOSTED_CLUSTER,
        "spec.configuration": _other("configMapRefs", "items", "secretRefs"),
    },
    kinds.INGRESS_CONTROLLER: {
        **_PROFILE,
        "": {"required": ("spec",)},  # without a specification, its rules in CEL fail
        "spec.domain": _text(rf"^{_SHORT_LABELS}$", _DNS_NAME, 244),  # the definition writes it in CEL
        "spec.clientTLS.clientCertificatePolicy": {"weak": ("", "Optional")},
    },
    kinds.KUBELET_CONFIG: {
        **_PROFILE,
        # the kubelet reads them, but the definition does not have them
        "spec.kubeletConfig": {
            "properties": {
                "tlsMinVersion": {"type": "string"},
                "tlsCipherSuites": {"type": "array", "items": {"type": "string"}},
            }
        },
    },
    # Defaults and validation in Go, everywhere but in MicroShift: openshift/library-go pkg/route/validation,
    # openshift-apiserver pkg/route/apis/route/v1/defaults.go. They accept empty values, and no upper case.
    kinds.ROUTE: {
        "spec.host": _text(rf"^$|^{LABELS}$", _DNS_NAME),
        "spec.subdomain": _text(rf"^$|^{_SHORT_LABELS}$", _DNS_NAME),
        "spec.path": _PATH,
        "spec.to": {"required": ("name",)},
        "spec.tls": {"required": (), **_reported("termination", "insecureEdgeTerminationPolicy")},
        "spec.tls.insecureEdgeTerminationPolicy": {"weak": ("Allow",)},
    },
    kinds.TLS_CERTIFICATE_DELEGATION: _DELEGATION,  # contour-delegation-target and -secret report them
    kinds.EXTENSION_SERVICE: {"spec.protocol": {"weak": ("h2c",)}},
    kinds.SERVICE_MONITOR: {"spec.endpoints[]": _reported("scheme"), "*.tlsConfig": _VERSIONS},
    kinds.POD_MONITOR: {"spec.podMetricsEndpoints[]": _reported("scheme"), "*.tlsConfig": _VERSIONS},
    kinds.PROBE: {"spec.prober": _reported("scheme"), "*.tlsConfig": _VERSIONS},
    kinds.SCRAPE_CONFIG: {"spec": _reported("scheme"), "*.tlsConfig": _VERSIONS},
    # k8s.io/kubernetes pkg/apis/networking/validation; v1beta1 has backend
    kinds.INGRESS: {
        "": {"required": ("spec",)},
        "spec": _other("backend"),
        "spec.ingressClassName": _text(rf"^{LABELS}$", "the name of an IngressClass"),
        "spec.tls": _NULLS,
        "spec.tls[].hosts[]": _text(_INGRESS_HOST, _WILDCARD, shortest=1),
        "spec.tls[].secretName": _SECRET_NAME,
        "spec.rules": _NULLS,
        "spec.rules[].host": _text(f"^$|{_INGRESS_HOST}", _WILDCARD),
    },
    # k8s.io/kubernetes pkg/apis/admissionregistration/validation, k8s.io/apiserver pkg/util/webhook/validation.go
    kinds.VALIDATING_WEBHOOK: _WEBHOOKS,
    kinds.MUTATING_WEBHOOK: _WEBHOOKS,
    # k8s.io/kube-aggregator pkg/apis/apiregistration/validation
    kinds.API_SERVICE: {
        "": {"required": ("spec",)},
        "spec": {"required": ("groupPriorityMinimum", "version", "versionPriority")},
        "spec.service": _reported("namespace", "name", "port"),
        "spec.service.name": _FILLED,
        "spec.service.namespace": _FILLED,
        "spec.service.port": _PORT,
    },
    # k8s.io/kubernetes pkg/apis/rbac/validation
    kinds.ROLE: _ROLES,
    kinds.CLUSTER_ROLE: _ROLES,
    kinds.ROLE_BINDING: _BINDINGS,
    kinds.CLUSTER_ROLE_BINDING: {**_BINDINGS, "roleRef.kind": _enum("ClusterRole")},
    # k8s.io/kubernetes pkg/apis/core/validation, validateService
    kinds.SERVICE: {
        "": {"required": ("spec",)},
        "metadata.name": _LABEL,
        "spec": _other("ipFamily", "topologyKeys"),
        "spec.type": _enum("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", ""),
        "spec.selector": {"additionalProperties": {"type": "string", "maxLength": 63}},
        "spec.ports[].name": _text(f"^$|^{LABEL}$", _LABEL["description"], 63),
        "spec.ports[].port": _PORT,
        "spec.ports[].nodePort": _PORT_OR_ZERO,
        "spec.ports[].targetPort": {"integer": _PORT_OR_ZERO, "string": _OPTIONAL_PORT_NAME},
        "spec.ports[].protocol": _PROTOCOLS,
        "spec.ports[].appProtocol": _text(
            rf"^({LABELS}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$",
            "a protocol's name, with its domain (kubernetes.io/wss) unless it is IANA's",
            317,
        ),
    },
    # k8s.io/kubernetes pkg/apis/core/validation, pkg/apis/apps/validation
    kinds.POD: {**_PODS, "": {"required": ("spec",)}},
    **dict.fromkeys((kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET), _WORKLOADS),
    # k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation
    kinds.CUSTOM_RESOURCE_DEFINITION: {
        **_CALLED,
        "spec.conversion.strategy": _enum("None", "Webhook"),
        "*.conversionReviewVersions": {"minItems": 1},
        "*.conversionReviewVersions[]": _text("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a version, such as v1", 63),
    },
    # no current API server accepts it
    (kinds.CUSTOM_RESOURCE_DEFINITION, "v1beta1"): {"spec": {"type": ""}},
}
"""By kind, or kind and version, and by path: the keywords that replace the schema's. ``[]`` is each item of a list, and
a path that begins with ``*.`` is one at any depth."""


def compare(subject: Subject) -> Iterator[Difference]:
    """The differences of the object from its shape."""
    if not subject.once(_fits):
        yield from differences(subject.object.raw, shape_of(subject.object))


def _fits(subject: Subject) -> bool:
    """True if nothing differs, as in most objects. Cached for three rules; the differences are not, because the author
    of the object chooses their number."""
    return next(iter(differences(subject.object.raw, shape_of(subject.object))), None) is None


def shape_of(found: KubeObject) -> Record:
    """The shape of an object of its kind and version. Raises ``KeyError`` for a kind without a schema."""
    return _shape(found.kind, found.api_version.rpartition("/")[2])


@cache
def _shape(kind: Kind, version: str) -> Record:
    found = definition(kind).versions
    schema = found.get(version) or next(iter(found.values()))
    properties = {**_ANYTHING, "metadata": _METADATA, **schema["properties"]}
    return cast("Record", parse_schema({**schema, "properties": properties}, _change(kind, version)))


def _change(kind: Kind, version: str) -> Change:
    """The function that changes the schema at each path of a kind."""
    changes = CHANGES.get((kind, version), CHANGES.get(kind, {}))

    def change(path: str, schema: Schema) -> Schema:
        changed: dict[str, Any] = {**schema, **PATTERNS.get(schema.get("pattern", ""), {})}
        for where, keywords in changes.items():
            if _is_at(path, where):
                properties = {**changed.get("properties", {}), **keywords.get("properties", {})}
                changed |= {**keywords, "properties": properties} if properties else keywords
        if changed.get("type") == "object":
            changed["constraints"] = (*_of_definition(changed), *_in_go(kind, path))
        return changed

    return change


def _is_at(path: str, where: str) -> bool:
    """True if ``where`` matches the path; a leading ``*.`` matches any start, or none."""
    return f".{path}".endswith(where[1:]) if where.startswith("*") else path == where


def _of_definition(schema: Schema) -> Iterator[Constraint]:
    """The rules in CEL of an object, and of the lists in it."""
    yield from (CEL[each["message"]] for each in schema.get("x-kubernetes-validations", ()) if each["message"] in CEL)
    for name, inner in schema.get("properties", {}).items():
        if inner.get("type") == "array":
            yield from (replace(each, at=(name,)) for each in _of_definition({**inner, "properties": {}}))


def _in_go(kind: Kind, path: str) -> Iterator[Constraint]:
    for where, constraints in IN_GO.get(kind, {}).items():
        yield from constraints if _is_at(path, where) else ()
