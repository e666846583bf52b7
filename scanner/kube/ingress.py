"""Ingresses (networking.k8s.io/v1), and OpenShift's Routes, IngressControllers and configuration of both.

openshift/api ``route/v1``, openshift/library-go ``pkg/route``, openshift/router; operator.openshift.io/v1
IngressController and Console, config.openshift.io/v1 Ingress.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, Literal

from scanner.kube.kinds import INGRESS_CLASS, INGRESS_CONTROLLER
from scanner.kube.meta import Condition, LabelSelector, of_type
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import KeyHolder
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Number, Part, Parts, Present, Text, Texts, Value, View

TLS_CERT_NAMESPACE: Final = "projectcontour.io/tls-cert-namespace"
"""Annotation of an Ingress (since Contour 1.20): namespace of the Secrets of all its ``tls`` entries."""
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_CONTOURS_CLASS: Final = "projectcontour.io/ingress.class"
_CONTOURS: Final = ("projectcontour.io/", "contour.heptio.com/")
"""Prefixes of the annotations that only Contour reads."""
_OTHERS: Final = frozenset(
    {"nginx", "haproxy", "traefik", "kong", "istio", "cilium", "alb", "gce", "gce-internal", "openshift-default"}
)
"""Ingress classes of other controllers, from their documentation."""


class IngressTLS(View):
    """One entry of ``spec.tls``."""

    hosts = Texts()
    secret_name = Text()


class Path(View):
    """One path of a rule."""

    path = Text()


class Rule(View):
    """One rule: the paths of a host, or of all hosts."""

    host = Text()
    paths = Parts(Path, "http", "paths")


class Ingress(KubeObject):
    class_name = Text("spec", "ingressClassName")
    tls = Parts(IngressTLS, "spec", "tls")
    has_tls = Present("spec", "tls")
    rules = Parts(Rule, "spec", "rules")
    has_default_backend = Present("spec", "defaultBackend")


class IngressClass(KubeObject):
    controller = Text("spec", "controller")


def ingress_class(item: KubeObject) -> str:
    """The class of an Ingress or HTTPProxy; empty if it has none. Annotations override the field (Contour
    ``internal/ingressclass``)."""
    annotations = item.annotations
    named = (annotations.get(_CONTOURS_CLASS), annotations.get(CLASS_ANNOTATION), Ingress.of(item).class_name)
    return next(filter(None, named), "")


def is_served_by_contour(ingress: KubeObject, snapshot: Snapshot) -> bool | None:
    """True if Contour serves an Ingress; None if unknown. The class decides, whatever other annotations the Ingress
    has."""
    annotations = ingress.annotations
    if annotations.get(_CONTOURS_CLASS):
        return True
    named, field = ingress_class(ingress), Ingress.of(ingress).class_name
    if field and named != field:
        return None  # two classes: the API server refuses that, and the rule ingress-class reports it
    found = snapshot.get(INGRESS_CLASS, named) if named and INGRESS_CLASS in snapshot.objects else None
    if found is not None:
        return IngressClass.of(found).controller.startswith(_CONTOURS[0])
    if not named:
        return True if any(each.startswith(_CONTOURS) for each in annotations) else None
    return False if named in _OTHERS else True if "contour" in named else None


OPERATOR_NAMESPACE: Final = "openshift-ingress-operator"
"""The only namespace in which the operator looks for IngressControllers."""
ROUTER_NAMESPACE: Final = "openshift-ingress"
"""Namespace of the routers and of the Secrets with their certificates."""
CONFIG_NAMESPACE: Final = "openshift-config"
"""Namespace of the Secrets and ConfigMaps that the cluster's configuration names."""
ROUTER_LABEL: Final = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
"""Label of the router's pods; its value is the name of the IngressController."""

_CLIENT_CERTIFICATES: Final[Mapping[str, Literal["required", "requested"]]] = {
    "Required": "required",
    "Optional": "requested",
}


class ClientTLS(View):
    """``spec.clientTLS``: verification of client certificates by a router."""

    policy = Text("clientCertificatePolicy")
    authority = Text("clientCA", "name")
    patterns = Value("allowedSubjectPatterns")

    @property
    def certificates(self) -> Literal["required", "requested"] | None:
        """``required`` or ``requested`` if the router asks clients for a certificate where it terminates TLS, else
        None."""
        return _CLIENT_CERTIFICATES.get(self.policy)


class IngressController(KubeObject):
    """An IngressController: one set of routers."""

    own_domain = Text("spec", "domain")
    has_own_domain = Present("spec", "domain")
    status_domain = Text("status", "domain")
    default_certificate = Value("spec", "defaultCertificate")
    default_secret = Text("spec", "defaultCertificate", "name")
    client_tls = Part(ClientTLS, "spec", "clientTLS")
    namespace_selector = Part(LabelSelector, "spec", "namespaceSelector")
    route_selector = Part(LabelSelector, "spec", "routeSelector")
    has_namespace_selector = Present("spec", "namespaceSelector")
    has_route_selector = Present("spec", "routeSelector")
    raw_profile = Value("spec", "tlsSecurityProfile")
    wildcard_policy = Text("spec", "routeAdmission", "wildcardPolicy")
    namespace_ownership = Text("spec", "routeAdmission", "namespaceOwnership")
    https_port = Value("status", "endpointPublishingStrategy", "hostNetwork", "httpsPort")
    status_profile = Part(View, "status", "tlsProfile")
    stats_port = Number("status", "endpointPublishingStrategy", "hostNetwork", "statsPort")

    @property
    def domain(self) -> str:
        """The domain of its status, else its own; if empty, the cluster's domain applies (``setDefaultDomain``)."""
        return self.status_domain or self.own_domain

    @property
    def certificate(self) -> str:
        """The Secret in ``openshift-ingress`` with its default certificate: the configured one, else the operator's
        own."""
        return self.default_secret or f"router-certs-{self.name}"


def ingress_controller(snapshot: Snapshot, name: str) -> IngressController | None:
    """The IngressController of that name, or None."""
    found = snapshot.get(INGRESS_CONTROLLER, name, OPERATOR_NAMESPACE)
    return None if found is None else IngressController.of(found)


class ComponentRoute(View):
    """A Route of the platform with a host and certificate that the administrator sets."""

    hostname = Text()
    secret = Text("servingCertKeyPairSecret", "name")


class IngressConfig(KubeObject):
    domain = Text("spec", "domain")
    apps_domain = Text("spec", "appsDomain")
    component_routes = Parts(ComponentRoute, "spec", "componentRoutes")


class Console(KubeObject):
    """Console/cluster: its host and certificate, in the fields from before ``componentRoutes``."""

    hostname = Text("spec", "route", "hostname")
    secret = Text("spec", "route", "secret", "name")


_DEFAULTED: Final[Mapping[str, str]] = {"Edge": "edge", "Passthrough": "passthrough", "Reencrypt": "reencrypt"}
"""Spellings that admission converts to the API's own (``pkg/route/defaulting``); it converts no others."""
_MOST: Final = 16
"""Maximum number of routers of one Route that are read."""


class RouteTLS(View):
    """``spec.tls`` as written."""

    termination = Text()
    certificate = Text()
    key = Text()
    ca_certificate = Text("caCertificate")
    destination_ca = Text("destinationCACertificate")
    has_destination_ca = Present("destinationCACertificate")
    has_external = Present("externalCertificate")
    external = Text("externalCertificate", "name")
    insecure_policy = Text("insecureEdgeTerminationPolicy")
    raw_termination = Value("termination")
    raw_insecure_policy = Value("insecureEdgeTerminationPolicy")


class RouteBackend(View):
    """A backend of a Route."""

    kind = Text()
    name = Text()
    weight = Value()

    @property
    def service(self) -> str:
        """Name of the Service, or ""; the API has no other kind."""
        return self.name if self.kind in ("", "Service") else ""


class RouteIngress(View):
    """The status of the Route in one router."""

    host = Text()
    router_name = Text()
    router_canonical_hostname = Text()
    wildcard_policy = Text()
    conditions = Parts(Condition)

    @property
    def admitted(self) -> Condition | None:
        """The first condition ``Admitted``, as in the router's own ``findCondition``."""
        return of_type(self.conditions, "Admitted")

    @property
    def is_admitted(self) -> bool:
        """True if the router reports that it serves the Route."""
        return (found := self.admitted) is not None and found.holds


class Route(KeyHolder):
    host = Text("spec", "host")
    subdomain = Text("spec", "subdomain")
    path = Text("spec", "path")
    wildcard_policy = Text("spec", "wildcardPolicy")
    has_tls = Present("spec", "tls")
    tls = Part(RouteTLS, "spec", "tls")
    target_port = Value("spec", "port", "targetPort")
    to = Part(RouteBackend, "spec", "to")
    alternate_backends = Parts(RouteBackend, "spec", "alternateBackends")
    request_actions = Value("spec", "httpHeaders", "actions", "request")
    response_actions = Value("spec", "httpHeaders", "actions", "response")
    ingresses = Parts(RouteIngress, "status", "ingress")

    @property
    def termination(self) -> str:
        """``spec.tls.termination`` as the API server stores it: ``edge``, ``reencrypt`` or ``passthrough``. The API
        server refuses any other value, and "" with a CA for the backend (``pkg/route/validation``)."""
        tls = self.tls
        termination = tls.termination
        return "edge" if not termination and not tls.destination_ca else _DEFAULTED.get(termination, termination)

    @property
    def is_terminated(self) -> bool:
        """True if the router terminates TLS: edge and re-encrypt."""
        return self.has_tls and self.termination in ("edge", "reencrypt")

    @property
    def external_secret(self) -> str:
        """The Secret of its namespace with the certificate for the router, or "". A reference without a name has no
        effect."""
        return self.tls.external if self.is_terminated else ""

    @property
    def inline_certificate(self) -> str:
        """The certificate (PEM) in the Route that the router serves, or "" if there is none."""
        return self.tls.certificate if self.is_terminated and not self.tls.external else ""

    @property
    def backends(self) -> tuple[RouteBackend, ...]:
        """``to`` and ``alternateBackends``."""
        return self.to, *self.alternate_backends

    @property
    def is_subdomain(self) -> bool:
        """True if it serves every name in the domain of its host."""
        return self.wildcard_policy == "Subdomain"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hostnames under which clients reach it, including those that routers admitted; for a subdomain its
        wildcard."""
        hosts = (self.host, *(each.host for each in islice(self.ingresses, _MOST)))
        names = dict.fromkeys(name.lower() for name in hosts if name)
        if self.is_subdomain:
            names = dict.fromkeys(f"*.{name.partition('.')[2]}" for name in names if "." in name)
        return tuple(names)
