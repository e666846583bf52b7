"""OpenShift's Routes (route.openshift.io/v1): how the API server stores one, and what a router serves of it.

openshift/api ``route/v1``, openshift/library-go ``pkg/route``, openshift/router.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from scanner.kube.conditions import Condition, of_type
from scanner.kube.secrets import KeyHolder
from scanner.kube.view import Part, Parts, Present, Text, Value, View

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
