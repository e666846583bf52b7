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
"""Annotation of an Ingress (since Contour 1.20): the namespace of the Secrets of all its ``tls`` entries."""
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_CONTOURS_CLASS: Final = "projectcontour.io/ingress.class"
_CONTOURS: Final = ("projectcontour.io/", "contour.heptio.com/")
"""Prefixes of the annotations that only Contour reads."""
_OTHERS: Final = frozenset(
    {"nginx", "haproxy", "traefik", "kong", "istio", "cilium", "alb", "gce", "gce-internal", "openshift-default"}
)
"""Classes of other controllers, as their own documentation names them."""


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
    """An Ingress."""

    class_name = Text("spec", "ingressClassName")
    tls = Parts(IngressTLS, "spec", "tls")
    has_tls = Present("spec", "tls")
    rules = Parts(Rule, "spec", "rules")
    has_default_backend = Present("spec", "defaultBackend")


class IngressClass(KubeObject):
    """An IngressClass."""

    controller = Text("spec", "controller")


def ingress_class(item: KubeObject) -> str:
    """The class that an Ingress or HTTPProxy names, or "". Annotations come before the field (Contour
    ``internal/ingressclass``)."""
    annotations = item.annotations
    named = (annotations.get(_CONTOURS_CLASS), annotations.get(CLASS_ANNOTATION), Ingress.of(item).class_name)
    return next(filter(None, named), "")


def is_contours(ingress: KubeObject, snapshot: Snapshot) -> bool | None:
    """Whether Contour serves an Ingress; None where nothing says so. An Ingress belongs to the class that it names,
    whatever other annotations it has."""
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
"""The only one in which the operator looks for IngressControllers."""
ROUTER_NAMESPACE: Final = "openshift-ingress"
"""Where routers run, with the Secrets of their certificates."""
CONFIG_NAMESPACE: Final = "openshift-config"
"""Where the Secrets and ConfigMaps are that the cluster's configuration names."""
ROUTER_LABEL: Final = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
"""On the router's pods; its value is the IngressController's name."""

_ASKS: Final[Mapping[str, Literal["required", "requested"]]] = {"Required": "required", "Optional": "requested"}


class ClientTLS(View):
    """``spec.clientTLS``: how a router verifies its clients."""

    policy = Text("clientCertificatePolicy")
    authority = Text("clientCA", "name")
    patterns = Value("allowedSubjectPatterns")

    @property
    def asks(self) -> Literal["required", "requested"] | None:
        """Whether clients are asked for a certificate, where the router ends TLS."""
        return _ASKS.get(self.policy)


class IngressController(KubeObject):
    """An IngressController, which is one set of routers."""

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
    any_profile = Value("spec", "tlsSecurityProfile")
    wildcard_policy = Text("spec", "routeAdmission", "wildcardPolicy")
    namespace_ownership = Text("spec", "routeAdmission", "namespaceOwnership")
    https_port = Value("status", "endpointPublishingStrategy", "hostNetwork", "httpsPort")
    status_profile = Part(View, "status", "tlsProfile")
    stats_port = Number("status", "endpointPublishingStrategy", "hostNetwork", "statsPort")

    @property
    def domain(self) -> str:
        """That of its status, else its own, or "": then the cluster's holds (``setDefaultDomain``)."""
        return self.status_domain or self.own_domain

    @property
    def certificate(self) -> str:
        """The Secret in ``openshift-ingress`` with its default certificate: the one that it names, else the operator's
        own."""
        return self.default_secret or f"router-certs-{self.name}"


def ingress_controller(snapshot: Snapshot, name: str) -> IngressController | None:
    """The IngressController of that name."""
    found = snapshot.get(INGRESS_CONTROLLER, name, OPERATOR_NAMESPACE)
    return None if found is None else IngressController.of(found)


class ComponentRoute(View):
    """One of the platform's own Routes, with a host and certificate by the administrator."""

    hostname = Text()
    secret = Text("servingCertKeyPairSecret", "name")


class IngressConfig(KubeObject):
    """Ingress/cluster."""

    domain = Text("spec", "domain")
    apps_domain = Text("spec", "appsDomain")
    component_routes = Parts(ComponentRoute, "spec", "componentRoutes")


class Console(KubeObject):
    """Console/cluster: its host and certificate, since before there were ``componentRoutes``."""

    hostname = Text("spec", "route", "hostname")
    secret = Text("spec", "route", "secret", "name")


_DEFAULTED: Final[Mapping[str, str]] = {"Edge": "edge", "Passthrough": "passthrough", "Reencrypt": "reencrypt"}
"""Spellings that admission turns into the API's own (``pkg/route/defaulting``); it changes no others."""
_MOST: Final = 16
"""Routers of one Route that are looked at."""


class RouteTLS(View):
    """``spec.tls``, as it is written."""

    termination = Text()
    certificate = Text()
    key = Text()
    ca_certificate = Text("caCertificate")
    destination_ca = Text("destinationCACertificate")
    has_destination_ca = Present("destinationCACertificate")
    has_external = Present("externalCertificate")
    external = Text("externalCertificate", "name")
    insecure_policy = Text("insecureEdgeTerminationPolicy")
    any_termination = Value("termination")
    any_insecure_policy = Value("insecureEdgeTerminationPolicy")


class RouteBackend(View):
    """Where requests go."""

    kind = Text()
    name = Text()
    weight = Value()

    @property
    def service(self) -> str:
        """The name of the Service, or ""; the API knows no other kind."""
        return self.name if self.kind in ("", "Service") else ""


class RouteIngress(View):
    """What one router reports of the Route."""

    host = Text()
    router_name = Text()
    router_canonical_hostname = Text()
    wildcard_policy = Text()
    conditions = Parts(Condition)

    @property
    def admitted(self) -> Condition | None:
        """Its condition ``Admitted``: the first, as the router's own ``findCondition`` has it."""
        return of_type(self.conditions, "Admitted")

    @property
    def is_admitted(self) -> bool:
        """Whether the router says that it serves the Route."""
        return (found := self.admitted) is not None and found.holds


class Route(KeyHolder):
    """A Route."""

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
        """``spec.tls.termination`` as the API server stores it: ``edge``, ``reencrypt``, ``passthrough``; anything
        else, and "" with a CA for the backend, it refuses (``pkg/route/validation``)."""
        tls = self.tls
        said = tls.termination
        return "edge" if not said and not tls.destination_ca else _DEFAULTED.get(said, said)

    @property
    def is_terminated(self) -> bool:
        """Whether the router answers the handshake: edge and re-encrypt."""
        return self.has_tls and self.termination in ("edge", "reencrypt")

    @property
    def external_secret(self) -> str:
        """The Secret of its namespace that the router takes the certificate from, or "". A reference without a name is
        none."""
        return self.tls.external if self.is_terminated else ""

    @property
    def inline_certificate(self) -> str:
        """The certificate in the Route that the router serves, in PEM, or ""."""
        return self.tls.certificate if self.is_terminated and not self.tls.external else ""

    @property
    def backends(self) -> tuple[RouteBackend, ...]:
        """``to``, and what ``alternateBackends`` has."""
        return self.to, *self.alternate_backends

    @property
    def is_subdomain(self) -> bool:
        """Whether it takes every name of the domain in which its host is."""
        return self.wildcard_policy == "Subdomain"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which clients reach it, also those that routers admitted; of a wildcard the subdomain."""
        said = (self.host, *(each.host for each in islice(self.ingresses, _MOST)))
        names = dict.fromkeys(name.lower() for name in said if name)
        if self.is_subdomain:
            names = dict.fromkeys(f"*.{name.partition('.')[2]}" for name in names if "." in name)
        return tuple(names)
