"""OpenShift's routers: IngressControllers (operator.openshift.io/v1), and the configuration of the cluster that holds
for them (config.openshift.io/v1 Ingress, operator.openshift.io/v1 Console)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from scanner.kube.kinds import INGRESS_CONTROLLER
from scanner.kube.label_selector import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Number, Part, Parts, Present, Text, Value, View

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
