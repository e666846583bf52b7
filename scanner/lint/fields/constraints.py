"""Conditions on several fields, which definitions have in CEL and API servers in Go, and no other rule reports.

``CEL`` implements rules of definitions, by their messages; the schema has the place of each. ``docs/decisions``
explains why no library evaluates them. ``IN_GO`` has conditions that no definition has, by kind and path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.hostnames import is_address
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.kube.schema import Constraint

LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABELS: Final = rf"{LABEL}(\.{LABEL})*"
"""A name of RFC 1123 in lower case, without a limit for the length of a label."""
HANDLERS: Final = ("exec", "grpc", "httpGet", "sleep", "tcpSocket")
"""Types of probes."""
RBAC: Final = "rbac.authorization.k8s.io"

_NAME_AT_MOST: Final = 253
_LABEL_AT_MOST: Final = 63


# --- CEL -------------------------------------------------------------------------------------------------------------


def _other_subject(upstream: Fields) -> bool:
    names = upstream.at("subjectNames")
    return isinstance(names, list) and bool(names) and names[0] != upstream.at("subjectName")


def _without_port(backend: Fields) -> bool:
    """True for a Service without a port. A reference without group and kind is to a Service."""
    service = not backend.text("group") and backend.at("kind") in (None, "Service")
    return service and not backend.has("port")


def _parents(apart: Callable[[list[tuple[str, object]]], bool]) -> Callable[[Fields], bool]:
    """True if the sections and ports of references to one parent are not ``apart``."""
    return lambda spec: any(len(several) > 1 and not apart(several) for several in _by_parent(spec))


def _by_parent(spec: Fields) -> Iterator[list[tuple[str, object]]]:
    found: dict[tuple[str, ...], list[tuple[str, object]]] = {}
    for each in spec.each("parentRefs"):
        group = each.text("group") if each.has("group") else "gateway.networking.k8s.io"
        parent = (group, each.text("kind") or "Gateway", each.text("name"), each.text("namespace"))
        found.setdefault(parent, []).append((each.text("sectionName"), each.number("port") or 0))
    yield from found.values()


def _alike(several: list[tuple[str, object]]) -> bool:
    """True if all of them have a section, or none, and the same for the port."""
    return len({bool(section) for section, _ in several}) == 1 and len({bool(port) for _, port in several}) == 1


def _unique(several: list[tuple[str, object]]) -> bool:
    return len({*several}) == len(several)


def _same_name(spec: Fields) -> bool:
    names = [each.text("name") for each in spec.each("rules") if each.has("name")]
    return len({*names}) < len(names)


def _long_domain(controller: Fields) -> bool:
    domain = controller.text("spec", "domain")
    return bool(domain) and len(f"router-{controller.text('metadata', 'name')}.{domain}") > _NAME_AT_MOST


def _published_name(spec: Fields) -> bool:
    """True if a named certificate is for the public name of the API server, which has another certificate."""
    services = (each for each in spec.each("services") if each.text("service") == "APIServer")
    published = {each.text("servicePublishingStrategy", "loadBalancer", "hostname") for each in services} - {""}
    serving = spec.fields("configuration", "apiServer", "servingCerts")
    return any(published.intersection(each.texts("names")) for each in serving.each("namedCertificates"))


def _of_type(name: str, field: str) -> tuple[Constraint, Constraint]:
    """A subject alternative name has the field of its type, and no other's."""
    without = f"SubjectAltName element must contain {name}, if Type is set to {name}"
    beside = f"SubjectAltName element must not contain {name}, if Type is not set to {name}"
    return (
        Constraint(lambda each: each.text("type") == name and not each.text(field), without),
        Constraint(lambda each: each.text("type") != name and each.text(field), beside, (field,)),
    )


def _authorities(validation: Fields) -> int:
    return bool(validation.at("caCertificateRefs")) + bool(validation.text("wellKnownCACertificates"))


_SAME_PARENT: Final = "when parentRefs includes 2 or more references to the same parent"
_CEL: Final = (
    Constraint(_other_subject, "subjectNames[0] must equal subjectName if set", ("subjectNames",)),
    Constraint(_without_port, "Must have port for Service reference", ("port",), fix="set port"),
    Constraint(_parents(_alike), f"sectionName or port must be specified {_SAME_PARENT}"),
    Constraint(_parents(_unique), f"sectionName or port must be unique {_SAME_PARENT}"),
    Constraint(_same_name, "Rule name must be unique within the route"),
    Constraint(
        lambda spec: (spec.text("type") == "ExternalHostname") != spec.has("externalHostname"),
        "externalHostname must be set when type is ExternalHostname and must be unset otherwise",
        ("externalHostname",),
    ),
    Constraint(
        lambda tls: (tls.text("mode") == "ClientAndServer") != tls.has("clientCertificateRef"),
        "clientCertificateRef must be set if and only if mode is ClientAndServer",
        ("clientCertificateRef",),
    ),
    *_of_type("Hostname", "hostname"),
    *_of_type("URI", "uri"),
    Constraint(
        lambda validation: _authorities(validation) == 2,
        "must not contain both CACertificateRefs and WellKnownCACertificates",
        ("caCertificateRefs",),
        fix="remove one of them",
    ),
    Constraint(
        lambda validation: _authorities(validation) == 0,
        "must specify either CACertificateRefs or WellKnownCACertificates",
        ("caCertificateRefs",),
        fix="set one of them",
    ),
    Constraint(
        _long_domain,
        "The combined 'router-' + metadata.name + '.' + .spec.domain cannot exceed 253 characters",
        ("spec", "domain"),
    ),
    Constraint(
        _published_name,
        "APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts.namedCertificates[]",
        at=("configuration", "apiServer", "servingCerts", "namedCertificates"),
        fix="use another name for the named certificate (kubeAPIServerDNSName)",
    ),
)
CEL: Final[Mapping[str, Constraint]] = {each.message: each for each in _CEL}
"""Constraints by the rule's message."""


# --- Host names ------------------------------------------------------------------------------------------------------


def _addressed(*paths: str) -> Callable[[Fields], bool]:
    """True if a field has an IP address in place of a name, alone or in a list."""

    def found(fields: Fields) -> bool:
        values = [fields.at(*path.split(".")) for path in paths]
        names = [name for each in values for name in (each if isinstance(each, list) else [each])]
        return any(isinstance(name, str) and is_address(name) for name in names)

    return found


def _no_address(violated: Callable[[Fields], bool], at: tuple[str, ...]) -> Constraint:
    message = "an IP address is not a host name: no client sends one as server name (RFC 6066, section 3)"
    return Constraint(violated, message, at, fix="set a DNS name", accepted=True)


_LISTENER: Final = {"spec.listeners[]": (_no_address(_addressed("hostname"), ("hostname",)),)}
"""Gateway API ``Hostname``, whose documentation excludes addresses."""


# --- OpenShift -------------------------------------------------------------------------------------------------------


_LENIENT: Final = "route.openshift.io/allow-non-dns-compliant-host"


def _long_label(route: Fields) -> bool:
    lenient = route.text("metadata", "annotations", _LENIENT) == "true"
    return not lenient and any(len(label) > _LABEL_AT_MOST for label in route.text("spec", "host").split("."))


def _same_component(spec: Fields) -> bool:
    names = [(each.text("namespace"), each.text("name")) for each in spec.each("componentRoutes")]
    return len({*names}) < len(names)


# --- Kubernetes ------------------------------------------------------------------------------------------------------

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_HOST: Final = re.compile(rf"{LABELS}\.?\Z")
_ACCOUNT: Final = re.compile(rf"{LABELS}\Z")
_OF_RESOURCES: Final = ("apiGroups", "resources", "resourceNames")
_REVIEWS: Final = frozenset({"v1", "v1beta1"})
"""ConversionReviews that API servers send."""


def _external(spec: Fields) -> bool:
    return spec.text("type") == "ExternalName"


def _headless(spec: Fields) -> bool:
    addresses = spec.at("clusterIPs")
    return spec.at("clusterIP") == "None" or (isinstance(addresses, list) and addresses[:1] == ["None"])


def _no_host(spec: Fields) -> bool:
    name = spec.text("externalName")
    return _external(spec) and not (_HOST.match(name) and len(name.removesuffix(".")) <= _NAME_AT_MOST)


def _duplicate(of: Callable[[Fields], tuple[object, ...]]) -> Callable[[Fields], bool]:
    """True if two ports have the same ``of``; ports whose last value is empty do not count."""

    def found(spec: Fields) -> bool:
        values = [each for each in map(of, spec.each("ports")) if each[-1]]
        return len({*values}) < len(values)

    return found


def _protocol(port: Fields) -> str:
    return port.text("protocol") or "TCP"


def _nameless(spec: Fields) -> bool:
    ports = list(spec.each("ports"))
    return len(ports) > 1 and not all(port.text("name") for port in ports)


def _handlers(probe: Fields) -> int:
    return sum(probe.has(each) for each in HANDLERS)


def _not_selected(spec: Fields) -> bool:
    labels = spec.words("template", "metadata", "labels")
    return not spec.words("selector", "matchLabels").items() <= labels.items()


def _account(subject: Fields) -> bool:
    return subject.text("kind") == "ServiceAccount"


def _no_account(subject: Fields) -> bool:
    name = subject.text("name")
    return _account(subject) and bool(name) and not (_ACCOUNT.match(name) and len(name) <= _NAME_AT_MOST)


def _lacks(name: str, message: str) -> Constraint:
    return Constraint(
        lambda rule: not rule.at("nonResourceURLs") and not rule.at(name), message, (name,), fix=f"set {name}"
    )


def _no_known_review(webhook: Fields) -> bool:
    return webhook.has("conversionReviewVersions") and not _REVIEWS & {*webhook.texts("conversionReviewVersions")}


def _duplicate_review(webhook: Fields) -> bool:
    versions = webhook.texts("conversionReviewVersions")
    return len({*versions}) < len(versions)


_RULE: Final = (
    Constraint(
        lambda rule: rule.at("nonResourceURLs") and any(rule.at(name) for name in _OF_RESOURCES),
        "rules cannot apply to both regular resources and non-resource URLs",
        ("nonResourceURLs",),
        fix="split it into two rules",
    ),
    _lacks("apiGroups", "resource rules must supply at least one api group"),
    _lacks("resources", "resource rules must supply at least one resource"),
)
_NAMESPACED_RULE: Final = (
    Constraint(
        lambda rule: rule.at("nonResourceURLs"),
        "namespaced rules cannot apply to non-resource URLs",
        ("nonResourceURLs",),
        fix="move it to a ClusterRole",
    ),
)
_SUBJECT: Final = (
    Constraint(
        lambda subject: _account(subject) and subject.text("apiGroup") == RBAC,
        "the apiGroup of a ServiceAccount is the core group, which is empty",
        ("apiGroup",),
        fix="remove apiGroup",
    ),
    Constraint(
        _no_account,
        "a ServiceAccount's name is a DNS name in lower case",
        ("name",),
        fix="set the name of the ServiceAccount",
    ),
)
_CLUSTER_SUBJECT: Final = (
    Constraint(
        lambda subject: _account(subject) and not subject.text("namespace"),
        "a ServiceAccount must have its namespace here",
        ("namespace",),
        fix="set namespace",
    ),
)
_SERVICE: Final = (
    Constraint(
        lambda spec: not spec.at("ports") and not _external(spec) and not _headless(spec),
        "there must be ports",
        ("ports",),
        fix="set ports",
    ),
    Constraint(_nameless, "each of several ports must have a name", ("ports",), fix="name the ports"),
    Constraint(_duplicate(lambda port: (port.text("name"),)), "Duplicate value: two ports of one name", ("ports",)),
    Constraint(
        _duplicate(lambda port: (_protocol(port), port.number("port"))),
        "Duplicate value: one port twice for one protocol",
        ("ports",),
    ),
    Constraint(
        _duplicate(lambda port: (_protocol(port), port.number("nodePort"))),
        "Duplicate value: one nodePort twice for one protocol",
        ("ports",),
    ),
    Constraint(
        lambda spec: (
            spec.text("type") in ("", "ClusterIP") and any(port.number("nodePort") for port in spec.each("ports"))
        ),
        "nodePort may not be used when type is ClusterIP",
        ("ports",),
        fix="remove nodePort, or set type to NodePort or LoadBalancer",
    ),
    Constraint(
        _no_host,
        "a Service of type ExternalName must have a DNS name in lower case",
        ("externalName",),
        fix="set externalName",
    ),
)
_PROBE: Final = (
    Constraint(lambda probe: _handlers(probe) == 0, "must specify a handler type", fix="set one handler"),
    Constraint(lambda probe: _handlers(probe) > 1, "may not specify more than 1 handler type", fix="keep one of them"),
)
_CONTAINERS: Final = {
    f"*.spec.{containers}[]{path}": constraints
    for containers in ("containers", "initContainers")
    for path, constraints in {
        "": (
            Constraint(
                _duplicate(lambda port: (port.text("name"),)), "Duplicate value: two ports of one name", ("ports",)
            ),
        ),
        **dict.fromkeys((".livenessProbe", ".readinessProbe", ".startupProbe"), _PROBE),
        **dict.fromkeys((".lifecycle.postStart", ".lifecycle.preStop"), _PROBE),
    }.items()
}
_WORKLOAD: Final = {
    **_CONTAINERS,
    "spec": (
        Constraint(
            _not_selected,
            "`selector` does not match template `labels`",
            ("selector",),
            fix="add the selected labels to the template",
        ),
    ),
}

IN_GO: Final[Mapping[Kind, Mapping[str, tuple[Constraint, ...]]]] = {
    **dict.fromkeys((kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET), _LISTENER),
    kinds.HTTP_PROXY: {
        "spec.virtualhost": (_no_address(lambda host: host.has("tls") and _addressed("fqdn")(host), ("fqdn",)),)
    },
    # openshift/library-go pkg/route/validation; an annotation turns it off
    kinds.ROUTE: {
        "": (
            Constraint(
                _long_label,
                "host must have labels of no more than 63 characters",
                ("spec", "host"),
                "shorten the label",
            ),
            _no_address(lambda route: route.has("spec", "tls") and _addressed("spec.host")(route), ("spec", "host")),
        )
    },
    # a list with these keys
    kinds.INGRESS_CONFIG: {
        "spec": (
            Constraint(
                _same_component, "Duplicate value: componentRoutes of one namespace and name", ("componentRoutes",)
            ),
        )
    },
    # k8s.io/kubernetes pkg/apis/networking/validation; in v1beta1 the default was called backend
    kinds.INGRESS: {
        "spec": (
            Constraint(
                lambda spec: not (spec.at("rules") or spec.has("defaultBackend") or spec.has("backend")),
                "either `defaultBackend` or `rules` must be specified",
            ),
        ),
        "spec.tls[]": (_no_address(_addressed("hosts"), ("hosts",)),),
        "spec.rules[]": (
            Constraint(
                _addressed("host"),
                "must be a DNS name, not an IP address",
                ("host",),
                fix="set a DNS name, or remove host",
            ),
        ),
    },
    # k8s.io/apimachinery IsConfigMapKey
    kinds.CONFIG_MAP: {
        "": (
            Constraint(
                lambda config: any(not _KEY.match(name) for name in config.fields("data").raw),
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                ("data",),
                fix="rename the key",
            ),
        )
    },
    # k8s.io/kube-aggregator ValidateAPIService
    kinds.API_SERVICE: {
        "spec": (
            Constraint(lambda spec: spec.at("service") == {}, "service has no name and no namespace", ("service",)),
            Constraint(
                lambda spec: not spec.has("service") and spec.at("caBundle"),
                "local APIServices may not have a caBundle",
                ("caBundle",),
            ),
            Constraint(
                lambda spec: not spec.has("service") and spec.flag("insecureSkipTLSVerify"),
                "local APIServices may not have insecureSkipTLSVerify",
                ("insecureSkipTLSVerify",),
            ),
        )
    },
    # k8s.io/kubernetes pkg/apis/rbac/validation
    kinds.ROLE: {"rules[]": (*_RULE, *_NAMESPACED_RULE)},
    kinds.CLUSTER_ROLE: {"rules[]": _RULE},
    kinds.ROLE_BINDING: {"subjects[]": _SUBJECT},
    kinds.CLUSTER_ROLE_BINDING: {"subjects[]": (*_SUBJECT, *_CLUSTER_SUBJECT)},
    # k8s.io/kubernetes pkg/apis/core/validation and pkg/apis/apps/validation
    kinds.SERVICE: {"spec": _SERVICE},
    kinds.POD: _CONTAINERS,
    **dict.fromkeys((kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET), _WORKLOAD),
    # k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation
    kinds.CUSTOM_RESOURCE_DEFINITION: {
        "spec.conversion": (
            Constraint(
                lambda conversion: (
                    conversion.text("strategy") == "Webhook" and not conversion.has("webhook", "clientConfig")
                ),
                "webhook.clientConfig is required when strategy is set to Webhook",
                ("webhook",),
                fix="set webhook.clientConfig",
            ),
        ),
        "spec.conversion.webhook": (
            Constraint(
                _no_known_review,
                "must include at least one of v1, v1beta1",
                ("conversionReviewVersions",),
                fix="add v1",
            ),
            Constraint(_duplicate_review, "duplicate version", ("conversionReviewVersions",)),
        ),
    },
}
"""By kind and path: ``[]`` is each item of a list, and a path that begins with ``*.`` is one at any depth."""
