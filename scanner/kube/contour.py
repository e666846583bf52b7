"""Objects of Contour (projectcontour.io/v1 and v1alpha1, and contour.heptio.com/v1beta1 before them).

Read at projectcontour/contour 31c4bb38e (2026-08-18). ``contour serve`` reads its settings from the object that
``--contour-config-name`` names and, without it, from the file of ``--config-path`` (Contour ``cmd/contour/serve.go``).
A ContourDeployment's ``runtimeSettings`` become a ContourConfiguration of its own (``internal/provisioner``). The
file's keys are the object's fields in another spelling (``pkg/config/parameters.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT
from scanner.kube.meta import Condition
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.service import Service, ServicePort
from scanner.kube.view import Flag, Number, Part, Parts, Present, Text, Texts, Value, View
from scanner.tls.codepoints import TLS12, TLS13

# --- Names of Secrets ------------------------------------------------------------------------------------------------


class SecretName(Struct, frozen=True):
    """A Secret as Contour's references name it."""

    namespace: str | None
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, ("Secret", self.namespace, self.name)))


def secret_name(text: str, namespace: str | None) -> SecretName:
    """Parse ``name`` or ``namespace/name`` in an object of ``namespace`` (``internal/k8s/namespacedname.go``)."""
    before, slash, name = text.partition("/")
    return SecretName(before or namespace, name) if slash else SecretName(namespace, text)


class NamespacedName(View):
    """A reference with a namespace."""

    name = Text()
    namespace = Text()

    @property
    def secret(self) -> SecretName | None:
        """The Secret that it names."""
        return SecretName(self.namespace or None, self.name) if self.name else None


# --- HTTPProxy -------------------------------------------------------------------------------------------------------


class UpstreamValidation(View):
    """Verification of a service's certificate by Envoy."""

    ca_secret = Text()
    subject_name = Text()
    subject_names = Texts()


class ProxyService(View):
    """A service behind a route or a TCP proxy."""

    name = Text()
    port = Number()
    raw_port = Value("port")
    weight = Value()
    protocol = Text()
    validation = Part(UpstreamValidation)
    has_validation = Present("validation")


class MatchCondition(View):
    """A condition of a route or an include."""

    prefix = Text()
    exact = Text()

    @property
    def needs_more(self) -> bool:
        """True if the condition requires more than a path."""
        return bool(self.raw.keys() - {"prefix", "exact"})


class Include(View):
    """A reference to an included object; an empty namespace is that of the including object."""

    name = Text()
    namespace = Text()
    conditions = Parts(MatchCondition)
    """Conditions before those of the included routes."""


class ProxyRoute(View):
    """A route of an HTTPProxy or IngressRoute."""

    services = Parts(ProxyService)
    conditions = Parts(MatchCondition)
    permit_insecure = Flag()
    delegate = Part(Include)
    """Included object; IngressRoutes only."""


class ClientValidation(View):
    """Verification of client certificates by Envoy."""

    ca_secret = Text()
    crl_secret = Text()
    crl_only_verify_leaf_cert = Flag()
    skip_client_cert_validation = Flag()
    optional_client_certificate = Flag()


class VirtualHostTLS(View):
    """TLS settings of a virtual host."""

    secret_name = Text()
    passthrough = Flag()
    minimum_protocol_version = Value()
    maximum_protocol_version = Value()
    client_validation = Part(ClientValidation)
    has_client_validation = Present("clientValidation")
    enable_fallback_certificate = Flag()


class TCPProxy(View):
    """Backends of a TCP proxy."""

    services = Parts(ProxyService)
    include = Part(Include)
    includes = Part(Include)
    """The former spelling of ``include``."""


class SubCondition(View):
    """An error or a warning."""

    type = Text()
    reason = Text()
    message = Text()


class DetailedCondition(Condition):
    """A condition of a status, with its errors and warnings."""

    errors = Parts(SubCondition)
    warnings = Parts(SubCondition)


class HTTPProxy(KubeObject):
    """An HTTPProxy, or an IngressRoute of former releases.

    An HTTPProxy with a virtual host is a root: Contour serves it under that name and does not serve it as an include
    (``internal/dag/httpproxy_processor.go``, computeRoutes).
    """

    is_root = Present("spec", "virtualhost")
    fqdn = Text("spec", "virtualhost", "fqdn")
    tls = Part(VirtualHostTLS, "spec", "virtualhost", "tls")
    has_tls = Present("spec", "virtualhost", "tls")
    has_authorization = Present("spec", "virtualhost", "authorization")
    jwt_providers = Value("spec", "virtualhost", "jwtProviders")
    routes = Parts(ProxyRoute, "spec", "routes")
    has_routes = Present("spec", "routes")
    includes = Parts(Include, "spec", "includes")
    has_includes = Present("spec", "includes")
    tcp_proxy = Part(TCPProxy, "spec", "tcpproxy")
    has_tcp_proxy = Present("spec", "tcpproxy")
    has_misplaced_tls = Present("spec", "tls")
    """``tls`` beside ``virtualhost``: the API server removes it."""
    current_status = Text("status", "currentStatus")
    description = Text("status", "description")
    conditions = Parts(DetailedCondition, "status", "conditions")

    @property
    def routed_services(self) -> Iterator[ProxyService]:
        """Services of its routes."""
        for route in self.routes:
            yield from route.services

    @property
    def children(self) -> Iterator[Include]:
        """Every include, in all spellings of the API."""
        yield from self.includes
        yield from filter(None, (self.tcp_proxy.include, self.tcp_proxy.includes))
        yield from filter(None, (route.delegate for route in self.routes))


UPSTREAM_PROTOCOL: Final = "projectcontour.io/upstream-protocol."
"""Prefix of annotations of Services. Each annotation lists ports, by number or name, for one protocol."""
TLS_PROTOCOLS: Final = ("tls", "h2")
"""Protocols of a service that use TLS."""
_PROTOCOLS: Final = ("tls", "h2c", "h2")
"""Protocols in the order of precedence of the annotations (``internal/annotation``, ParseUpstreamProtocols)."""
_OF_APP_PROTOCOL: Final = {"https": "tls", "kubernetes.io/h2c": "h2c"}


def upstream_protocol(named: ProxyService, service: KubeObject, number: int | None) -> str:
    """The protocol that Envoy uses to a port of a Service; "" is plain HTTP/1.1.

    The reference's own protocol comes first, then the port's ``appProtocol``, then the annotations by the port's name
    and by its number (``internal/dag/accessors.go``, upstreamProtocol).
    """
    if named.protocol:
        return named.protocol
    port = next((each for each in Service.of(service).ports if each.port == number), ServicePort({}))
    if port.app_protocol:
        return _OF_APP_PROTOCOL.get(port.app_protocol, "")
    annotated = {
        each.strip(): protocol
        for protocol in reversed(_PROTOCOLS)
        for each in service.annotations.get(UPSTREAM_PROTOCOL + protocol, "").split(",")
    }
    annotated.pop("", None)
    return annotated.get(port.name) or annotated.get(str(number)) or ""


# --- TLSCertificateDelegation ----------------------------------------------------------------------------------------


EVERYWHERE: Final = ("*",)
"""Every namespace, if it is the only item. In a longer list, and as a Secret's name, ``*`` is a literal name."""
_SHOWN: Final = 10
_MOST: Final = 1000
"""Maximum number of delegations that are read from one object."""


class Delegation(View):
    """An entry of ``spec.delegations``."""

    secret = Text("secretName")
    targets = Texts("targetNamespaces")


class CertificateDelegation(KubeObject):
    """A TLSCertificateDelegation: namespaces that may refer to Secrets of its own namespace."""

    every = Parts(Delegation, "spec", "delegations")

    @property
    def delegations(self) -> tuple[Delegation, ...]:
        """The first 1,000 entries."""
        return self.every[:_MOST]


class Delegated(Struct):
    """All delegations of one Secret, merged: a lookup must not walk through 10,000 objects."""

    namespaces: set[str] = field(default_factory=set)
    everywhere: bool = False
    some: list[tuple[KubeObject, Delegation]] = field(default_factory=list)
    """The first few, with the object that contains each."""

    def permits(self, namespace: str | None) -> bool:
        """True if an object of ``namespace`` may refer to the Secret (``internal/dag/cache.go``,
        ``delegationPermitted``; unchanged since 1.2). Contour looks up the Secret itself later."""
        return self.everywhere or namespace in self.namespaces


BySecret: TypeAlias = Mapping[SecretName, Delegated]


def delegations_by_secret(holders: Iterable[KubeObject]) -> BySecret:
    """Index delegations by Secret; each is for Secrets of its own namespace."""
    found: dict[SecretName, Delegated] = {}
    for holder in holders:
        namespace = holder.namespace
        for each in CertificateDelegation.of(holder).delegations:
            delegated = found.setdefault(SecretName(namespace, each.secret), Delegated())
            delegated.namespaces.update(each.targets)
            delegated.everywhere |= each.targets == EVERYWHERE
            if len(delegated.some) < _SHOWN:
                delegated.some.append((holder, each))
    return found


# --- ExtensionService ------------------------------------------------------------------------------------------------


class ExtensionService(KubeObject):
    """A service that Envoy asks for authorization, rate limits or traces."""

    protocol = Text("spec", "protocol")
    validation = Part(UpstreamValidation, "spec", "validation")
    has_validation = Present("spec", "validation")


CONTOUR_TLS_VERSIONS: Final[Mapping[str, int]] = {"1.2": TLS12, "1.3": TLS13}
"""Values of a minimum or maximum version; Contour replaces any other value of a virtual host by its default."""
FILE: Final = "contour.yaml"
"""Key of Contour's configuration file in a ConfigMap."""


class FileHolder(KubeObject):
    """A ConfigMap that may contain Contour's configuration file."""

    file = Text("data", FILE)
    has_file = Present("data", FILE)


class EnvoyListenerTLS(View):
    """TLS settings of every listener of Envoy."""

    minimum_protocol_version = Value()
    maximum_protocol_version = Value()
    cipher_suites = Texts()
    ecdh_curves = Texts()


class Settings(View):
    """``spec`` of a ContourConfiguration."""

    tls = Part(EnvoyListenerTLS, "envoy", "listener", "tls")
    envoy_service = Part(NamespacedName, "envoy", "service")
    client_certificate = Part(NamespacedName, "envoy", "clientCertificate")
    """Client certificate that Envoy presents to services."""
    fallback_certificate = Part(NamespacedName, "httpproxy", "fallbackCertificate")
    """Certificate for server names without a virtual host."""
    root_namespaces = Texts("httpproxy", "rootNamespaces")
    """Namespaces that may contain roots; empty: all."""
    disable_permit_insecure = Flag("httpproxy", "disablePermitInsecure")


class ContourConfiguration(KubeObject):
    settings = Part(Settings, "spec")


_ABOVE: Final = {CONTOUR_CONFIGURATION: ("spec",), CONTOUR_DEPLOYMENT: ("spec", "runtimeSettings")}
_SPELLINGS: Final = {
    "minimum-protocol-version": "minimumProtocolVersion",
    "maximum-protocol-version": "maximumProtocolVersion",
    "cipher-suites": "cipherSuites",
    "ecdh-curves": "ecdhCurves",
}


def settings(holder: KubeObject) -> Settings | None:
    """Read the settings in an object; None if it has none, or if the file is no mapping. Raises ``InputError`` for a
    file that cannot be read."""
    if holder.kind == CONFIG_MAP:
        spec = _of_file(holder)
        return None if spec is None else Settings(spec)
    steps = _ABOVE.get(holder.kind)
    return Settings(holder.fields(*steps).raw, steps) if steps else None


def configured(item: KubeObject) -> KubeObject:
    """Convert a ConfigMap with Contour's file to the equivalent ContourConfiguration; any other object is unchanged."""
    try:
        spec = _of_file(item) if item.kind == CONFIG_MAP else None
    except InputError:
        return item
    return KubeObject({"metadata": item.at("metadata"), "spec": spec}, CONTOUR_CONFIGURATION) if spec else item


def _of_file(holder: KubeObject) -> Mapping[str, object] | None:
    """Convert the file to ``spec`` of a ContourConfiguration. Root namespaces are an argument of ``contour serve``, not
    a key."""
    found = FileHolder.of(holder)
    if not found.has_file:
        return None
    value = yaml_values.load(found.file.encode("utf-8", "replace"), FILE).value
    if not (value is None or isinstance(value, dict)):
        return None
    file = Fields(value or {})
    tls = file.fields("tls")
    return {
        "envoy": {
            "listener": {"tls": {name: _text(tls.at(key)) for key, name in _SPELLINGS.items()}},
            "clientCertificate": tls.at("envoy-client-certificate"),
        },
        "httpproxy": {
            "fallbackCertificate": tls.at("fallback-certificate"),
            "disablePermitInsecure": file.at("disablePermitInsecure"),
        },
    }


def _text(value: object) -> object:
    """Convert a value like Contour's decoder: a number without quotes is text."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
