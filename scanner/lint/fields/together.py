"""Fields that do not go together: what definitions say in CEL and API servers in Go, and no other rule looks at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from scanner.kube.hostnames import is_address
from scanner.kube.objects import Fields
from scanner.lint.fields.shape import Clash

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_DOMAIN_AT_MOST: Final = 253
_LABEL_AT_MOST: Final = 63
_LENIENT: Final = "route.openshift.io/allow-non-dns-compliant-host"


def _other_subject(upstream: Fields) -> bool:
    names = upstream.at("subjectNames")
    return isinstance(names, list) and bool(names) and names[0] != upstream.at("subjectName")


def _without_port(backend: Fields) -> bool:
    """A reference to a Service, which it is where neither group nor kind is said."""
    service = not backend.text("group") and backend.at("kind") in (None, "Service")
    return service and not backend.has("port")


def _parents(apart: Callable[[list[tuple[str, object]]], bool]) -> Callable[[Fields], bool]:
    """Whether references to one parent are not ``apart``, by what each says of section and port."""
    return lambda spec: any(len(several) > 1 and not apart(several) for several in _by_parent(spec))


def _by_parent(spec: Fields) -> Iterator[list[tuple[str, object]]]:
    found: dict[tuple[str, ...], list[tuple[str, object]]] = {}
    for each in spec.each("parentRefs"):
        group = each.text("group") if each.has("group") else "gateway.networking.k8s.io"
        parent = (group, each.text("kind") or "Gateway", each.text("name"), each.text("namespace"))
        found.setdefault(parent, []).append((each.text("sectionName"), each.number("port") or 0))
    yield from found.values()


def _alike(several: list[tuple[str, object]]) -> bool:
    """Whether all of them say, or none says, which section, and which port."""
    return len({bool(section) for section, _ in several}) == 1 and len({bool(port) for _, port in several}) == 1


def _unique(several: list[tuple[str, object]]) -> bool:
    return len({*several}) == len(several)


def _same_name(spec: Fields) -> bool:
    names = [each.text("name") for each in spec.each("rules") if each.has("name")]
    return len({*names}) < len(names)


def _same_component(spec: Fields) -> bool:
    names = [(each.text("namespace"), each.text("name")) for each in spec.each("componentRoutes")]
    return len({*names}) < len(names)


def _long_label(route: Fields) -> bool:
    lenient = route.text("metadata", "annotations", _LENIENT) == "true"
    return not lenient and any(len(label) > _LABEL_AT_MOST for label in route.text("spec", "host").split("."))


def _long_name(controller: Fields) -> bool:
    domain = controller.text("spec", "domain")
    return bool(domain) and len(f"router-{controller.text('metadata', 'name')}.{domain}") > _DOMAIN_AT_MOST


def _addressed(*ways: str) -> Callable[[Fields], bool]:
    """Whether an IP address stands where a name belongs, alone or in a list."""

    def found(fields: Fields) -> bool:
        values = [fields.at(*way.split(".")) for way in ways]
        names = [name for each in values for name in (each if isinstance(each, list) else [each])]
        return any(isinstance(name, str) and is_address(name) for name in names)

    return found


def _named(clash: Callable[[Fields], bool], at: tuple[str, ...]) -> Clash:
    says = "an IP address is no host name: no client sends one as server name (RFC 6066, section 3)"
    return Clash(clash, says, at, fix="name the host", admitted=True)


LISTENER: Final = (_named(_addressed("hostname"), ("hostname",)),)
"""Gateway API ``Hostname``, whose documentation rules addresses out."""
VIRTUAL_HOST: Final = (_named(lambda host: host.has("tls") and _addressed("fqdn")(host), ("fqdn",)),)
INGRESS_TLS: Final = (_named(_addressed("hosts"), ("hosts",)),)
INGRESS_RULE: Final = (
    Clash(_addressed("host"), "must be a DNS name, not an IP address", ("host",), fix="name the host, or leave it out"),
)
"""k8s.io/kubernetes ``validateIngressRules``."""
CONFIG_MAP: Final = (
    Clash(
        lambda whole: any(not _KEY.match(name) for name in whole.fields("data").raw),
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        ("data",),
        fix="rename the key",
    ),
)
"""k8s.io/apimachinery ``IsConfigMapKey``."""
COMPONENT_ROUTES: Final = (
    Clash(_same_component, "Duplicate value: componentRoutes of one namespace and name", ("componentRoutes",)),
)
"""openshift/api config/v1 ``IngressSpec``, a list by these keys."""
X_BACKEND: Final = (
    Clash(
        lambda spec: spec.text("type") == "ExternalHostname" and not spec.has("externalHostname"),
        "externalHostname must be set when type is ExternalHostname and must be unset otherwise",
        ("externalHostname",),
    ),
)
X_BACKEND_TLS: Final = (
    Clash(
        lambda tls: (tls.text("mode") == "ClientAndServer") != tls.has("clientCertificateRef"),
        "clientCertificateRef must be set if and only if mode is ClientAndServer",
        ("clientCertificateRef",),
    ),
)


def _of_type(name: str, field: str) -> tuple[Clash, Clash]:
    """A subject alternative name has the field of its type, and no other's."""
    without, beside = (
        f"must contain {name}, if Type is set to {name}",
        f"must not contain {name}, if Type is not set to",
    )
    return (
        Clash(lambda each: each.text("type") == name and not each.text(field), f"SubjectAltName element {without}"),
        Clash(
            lambda each: each.text("type") != name and each.text(field),
            f"SubjectAltName element {beside} {name}",
            (field,),
        ),
    )


ALTERNATIVE: Final = (*_of_type("Hostname", "hostname"), *_of_type("URI", "uri"))
"""Gateway API ``SubjectAltName``, where ``backend-tls-validation`` does not look."""
X_BACKEND_AUTHORITIES: Final = (
    Clash(
        lambda validation: bool(validation.at("caCertificateRefs")) == bool(validation.text("wellKnownCACertificates")),
        "must specify either CACertificateRefs or WellKnownCACertificates, and not both",
        ("caCertificateRefs",),
        fix="give one of them",
    ),
)
"""Gateway API apisx/v1alpha1 ``XBackend``."""
UPSTREAM: Final = (Clash(_other_subject, "subjectNames[0] must equal subjectName if set", ("subjectNames",)),)
"""projectcontour.io/v1 ``UpstreamValidation``."""
BACKEND: Final = (Clash(_without_port, "Must have port for Service reference", ("port",), fix="write port"),)
"""Gateway API ``BackendObjectReference``."""
_PARENTS: Final = "when parentRefs includes 2 or more references to the same parent"
PARENTS: Final = (
    Clash(_parents(_alike), f"sectionName or port must be specified {_PARENTS}", ("parentRefs",)),
    Clash(_parents(_unique), f"sectionName or port must be unique {_PARENTS}", ("parentRefs",)),
)
"""Gateway API ``CommonRouteSpec``."""
RULES: Final = (Clash(_same_name, "Rule name must be unique within the route", ("rules",)),)
"""Of routes that may have several."""
ROUTE: Final = (
    Clash(_long_label, "host must have labels of no more than 63 characters", ("spec", "host"), "shorten the label"),
    _named(lambda route: route.has("spec", "tls") and _addressed("spec.host")(route), ("spec", "host")),
)
"""openshift/library-go ``pkg/route/validation``, which an annotation turns off."""
INGRESS_CONTROLLER: Final = (
    Clash(
        _long_name,
        "The combined 'router-' + metadata.name + '.' + .spec.domain cannot exceed 253 characters",
        ("spec", "domain"),
    ),
)
"""openshift/api operator/v1 ``IngressController``."""
INGRESS: Final = (
    Clash(
        lambda spec: not (spec.at("rules") or spec.has("defaultBackend") or spec.has("backend")),
        "either `defaultBackend` or `rules` must be specified",
    ),
)
"""k8s.io/kubernetes ``ValidateIngressSpec``; of v1beta1 the default was called ``backend``."""
API_SERVICE: Final = (
    Clash(lambda spec: spec.at("service") == {}, "service has no name and no namespace", ("service",)),
    Clash(
        lambda spec: not spec.has("service") and spec.at("caBundle"),
        "local APIServices may not have a caBundle",
        ("caBundle",),
    ),
    Clash(
        lambda spec: not spec.has("service") and spec.flag("insecureSkipTLSVerify"),
        "local APIServices may not have insecureSkipTLSVerify",
        ("insecureSkipTLSVerify",),
    ),
)
"""k8s.io/kube-aggregator ``ValidateAPIService``."""
