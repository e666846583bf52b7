"""Hosts: who else has the name, and whether the router's default certificate covers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER, ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.openshift.controllers import uncovered
from scanner.lint.openshift.route_policy import controllers, shared_between_namespaces
from scanner.lint.openshift.routes import TLS, external, has_tls, hosts, inline, terminates, termination
from scanner.model.declared import Declared, Missing
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_HOST: Final = ("spec", "host")
_OTHERS: Final = 50
"""Routes of one host that are looked at."""


def check_same_host(subject: Subject) -> Iterator[Flaw]:
    """Routes of one host agree.

    ## What it requires

    Routes with the same `spec.host` are in one namespace, with different paths; all of them end TLS in the same way,
    and bring the same certificate or none.

    ## Why

    There is one certificate for each server name. Of several, the router takes the one whose file comes first, which
    nobody has decided. A Route that is passed through takes the name from all others, because the router looks at the
    server name before it decrypts. And of two namespaces the older Route has the host; the other one is rejected, with
    the reason HostAlreadyClaimed.

    ## What fails

    * Another Route of the host is passed through where this one is not, or the other way round: medium.
    * Another one brings another certificate: medium.
    * Another one is in another namespace, or has the same path: medium. Where `spec.routeAdmission.namespaceOwnership`
      of the IngressControllers is InterNamespaceAllowed, only the path counts.

    ## What is inconclusive

    Nothing. Of manifests, those that were given are compared; a cluster may have more.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge}
    ---
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: admin, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: admin}
      tls: {termination: passthrough}
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge}
    ---
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: admin, namespace: shop}
    spec:
      host: web.shop.example
      path: /admin
      to: {kind: Service, name: admin}
      tls: {termination: edge}
    ```

    ## How to fix

    Give each Route a host of its own, or the same certificate and termination.
    """
    route = subject.object
    host = route.text(*_HOST).lower()
    others = subject.declared.once(_by_host).get(host, ()) if host else ()
    shared = len(others) > 1 and shared_between_namespaces(subject.declared, route)
    said: set[str] = set()
    for other in islice((each for each in others if each is not route and _name(each) != _name(route)), _OTHERS):
        message = _differs(route, other, shared=shared)
        if message and message not in said:
            said.add(message)
            fix = "give each Route a host of its own, or make them agree"
            yield Flaw(message=f"{other.reference} has the host too, and {message}", at=_HOST, fix=fix)


def _name(route: KubeObject) -> tuple[str | None, str]:
    return route.namespace, route.name


def _by_host(declared: Declared) -> Mapping[str, list[KubeObject]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(ROUTE):
        found.setdefault(each.text(*_HOST).lower(), []).append(each)
    return found


def _differs(route: KubeObject, other: KubeObject, *, shared: bool) -> str | None:
    if route.namespace != other.namespace and not shared:
        return "is in another namespace: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if (route.text("spec", "path") or "/") == (other.text("spec", "path") or "/"):
        return "the same path: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if not (has_tls(route) and has_tls(other)):
        return None
    if (termination(route) == "passthrough") != (termination(other) == "passthrough"):
        return "only one of them is passed through: that one takes the name from the other"
    ours, theirs = _certificate(route), _certificate(other)
    return "brings another certificate: which one is served nobody has decided" if ours != theirs else None


def _certificate(route: KubeObject) -> str:
    return f"Secret {external(route)}" if external(route) else route.text(*TLS, "certificate")


def check_default(subject: Subject) -> Iterator[Flaw]:
    """A Route without a certificate has a host that the router's default one covers.

    ## What it requires

    Of an edge or re-encrypt Route without a certificate of its own: `spec.host` is empty, for then the API server makes
    one in the routers' domain; or an IngressController's certificate covers it. That is the Secret of
    `spec.defaultCertificate`, else a wildcard for its domain: `status.domain`, `spec.domain`, or `spec.domain` of the
    Ingress configuration `cluster`.

    ## Why

    The router serves its default certificate for the host, and clients refuse it for the name.

    ## What fails

    A host that the certificate of no IngressController covers: medium.

    ## What is inconclusive

    IngressControllers, the Ingress configuration or the Secret of a default certificate, where they could not be read
    and would decide it; as information where they are not among manifests, since they come with the cluster. Of a
    Route with a status, those IngressControllers count that have looked at it.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec: {domain: apps.cluster.example}
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web-shop.apps.cluster.example
      to: {kind: Service, name: web}
      tls: {termination: edge}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec: {domain: apps.cluster.example}
    ```

    ## How to fix

    Bring a certificate for the host, in `externalCertificate`, or use a host of the routers' domain.
    """
    route, declared = subject.object, subject.declared
    if not terminates(route) or external(route) or inline(route) is not None or not route.text(*_HOST):
        return
    known = controllers(declared, route)
    bare: list[str] = []
    unseen: Missing | None = None
    for each in known:
        found = uncovered(declared, each, hosts(route))
        if isinstance(found, Missing):
            unseen = found
        elif not found:
            return
        else:
            bare = list(found)
    if not known:
        gap = declared.gap(INGRESS_CONTROLLER) or "none is there that looks at this Route"
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        flaw = undecided(unseen, _HOST, "whether the router's default certificate covers the host")
        # IngressControllers come with the cluster, and no repository of Routes has them.
        yield replace(flaw, severity="info", unseen=None) if unseen.gap == NOT_GIVEN else flaw
    elif bare:
        yield Flaw(
            message=f"the router's default certificate does not cover {', '.join(bare[:5])}",
            at=_HOST,
            fix="name a Secret with a certificate for the host in externalCertificate",
            correction="tls:\n  termination: edge\n  externalCertificate:\n    name: NAME",
        )


SAME_HOST = ObjectRule(
    id="route-same-host",
    title="Routes of one host agree",
    severity="medium",
    subjects=(ROUTE,),
    check=check_same_host,
    reads=(INGRESS_CONTROLLER,),
    references=(
        "openshift/router images/router/haproxy/conf/haproxy-config.template",
        "openshift/router pkg/router/controller (HostAlreadyClaimed)",
    ),
)
DEFAULT = ObjectRule(
    id="route-default-certificate",
    title="A Route without a certificate has a host that the default one covers",
    severity="medium",
    subjects=(ROUTE,),
    check=check_default,
    reads=(INGRESS_CONTROLLER, INGRESS_CONFIG, *references.READS),
    references=(
        "openshift/api operator/v1/types_ingress.go (defaultCertificate, domain)",
        "openshift/cluster-ingress-operator pkg/operator/controller/certificate",
    ),
)
