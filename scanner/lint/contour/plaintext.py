"""Hosts with TLS that answer without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, VHOST, is_contours
from scanner.model.contour_includes import Include, includes
from scanner.model.declared import Declared, Identity, Missing, identity
from scanner.model.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.objects import Fields, KubeObject

_REDIRECT: Final = "ingress.kubernetes.io/force-ssl-redirect"
_ALLOW: Final = "kubernetes.io/ingress.allow-http"
_SHOWN: Final = 3


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """A host with TLS does not answer without.

    ## What it requires

    That no route of an HTTPProxy with TLS has `permitInsecure`, nor one of those that it includes, unless Contour's
    configuration has `disablePermitInsecure`; and that an Ingress of Contour with `tls` has the annotation
    `ingress.kubernetes.io/force-ssl-redirect: "true"` or `kubernetes.io/ingress.allow-http: "false"`.

    ## Why

    Of an HTTPProxy with TLS, Contour redirects what comes to port 80, but for routes with `permitInsecure`. In whose
    object the route is makes no difference: who is included into another team's host can open a part of it. Of an
    Ingress it redirects nothing: all its hosts answer without TLS as they do with it, until an annotation says
    otherwise.

    ## What fails

    A route with `permitInsecure`, and an Ingress with `tls` and neither annotation: medium. Where only the root is
    looked at and the included object is in the cluster, the root has the finding.

    ## What is inconclusive

    An included object that was not given, and a route with `permitInsecure` in an object that no known root with TLS
    includes, as long as there may be others. Where Contour's configuration was not given, `disablePermitInsecure` is
    taken to be off, which is its default.

    ## Example that fails

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec:
      ingressClassName: contour
      tls: [{hosts: [shop.example.com], secretName: shop}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec:
      virtualhost: {fqdn: blog.example.com, tls: {secretName: blog}}
      routes: [{permitInsecure: true, services: [{name: blog, port: 80}]}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: wiki, namespace: wiki}
    spec:
      virtualhost: {fqdn: wiki.example.com, tls: {secretName: wiki}}
      includes: [{name: pages}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: pages, namespace: wiki}
    spec:
      routes: [{permitInsecure: true, services: [{name: pages, port: 80}]}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata:
      name: shop
      namespace: shop
      annotations: {ingress.kubernetes.io/force-ssl-redirect: "true"}
    spec:
      ingressClassName: contour
      tls: [{hosts: [shop.example.com], secretName: shop}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec:
      virtualhost: {fqdn: blog.example.com, tls: {secretName: blog}}
      routes: [{services: [{name: blog, port: 80}]}]
    ```

    ## How to fix

    Leave `permitInsecure` out; add the annotation.
    """
    yield from _of_ingress(subject) if subject.object.kind == INGRESS else _of_proxy(subject)


def _of_ingress(subject: Subject) -> Iterator[Flaw]:
    annotations = subject.object.annotations
    if not subject.object.at("spec", "tls") or not is_contours(subject.declared, subject.object):
        return
    if annotations.get(_REDIRECT) != "true" and annotations.get(_ALLOW) != "false":
        yield Flaw(
            message="the hosts of this Ingress answer without TLS too: Contour redirects nothing unless it is told to",
            at=("metadata", "annotations"),
            fix=f"{subject.object.reference}: add the annotation {_REDIRECT}",
            correction=f'annotations:\n  {_REDIRECT}: "true"',
        )


def _of_proxy(subject: Subject) -> Iterator[Flaw]:
    configured = configurations(subject.declared)
    if configured and all(each.no_plaintext for each in configured):
        return
    open_routes = [(*steps, "permitInsecure") for steps, route in subject.items("spec", "routes") if _is_open(route)]
    if _has_tls(subject.object):
        yield from (_open(subject, at, "") for at in open_routes)
        yield from _included(subject)
    elif open_routes and not subject.object.has(*VHOST):
        yield from _below_a_root(subject, open_routes)


def _is_open(route: Fields) -> bool:
    return route.flag("permitInsecure")


def _has_tls(proxy: KubeObject) -> bool:
    """Whether it is a root with TLS, so that Contour leads its routes to TLS and those that it includes."""
    return bool(proxy.fields(*TLS).raw)


def _open(subject: Subject, at: Steps, whose: str) -> Flaw:
    return Flaw(
        message=f"this route answers without TLS too{whose}",
        at=at,
        fix=f"{subject.object.reference}: leave permitInsecure out",
        correction="permitInsecure: false",
    )


# --- Below a root -----------------------------------------------------------------------------------------------------


def _below_a_root(subject: Subject, routes: list[Steps]) -> Iterator[Flaw]:
    """Routes of an object that roots include: it is the root that has TLS, or has none."""
    roots = [each for each in _above(subject) if _has_tls(each)]
    gap = subject.declared.gap(HTTP_PROXY)
    if roots:
        names = ", ".join(str(each.reference) for each in roots[:_SHOWN])
        yield from (_open(subject, at, f", on the host of {names}, which has TLS and includes it") for at in routes)
    elif gap:
        unseen = Missing(name=f"an HTTPProxy that includes {subject.object.reference}", gap=gap)
        yield from (undecided(unseen, at, "whether this route answers without TLS beside TLS") for at in routes)


def _above(subject: Subject) -> list[KubeObject]:
    """All that include the object, and what includes those; a root is included by nobody."""
    includers = subject.declared.once(_includers)
    found: dict[Identity, KubeObject] = {}
    waiting = [subject.object]
    while waiting:
        for each in includers.get(identity(waiting.pop()), ()):
            if identity(each) not in found:
                found[identity(each)] = each
                waiting += [] if each.has(*VHOST) else [each]
    return list(found.values())


def _includers(declared: Declared) -> Mapping[Identity, list[KubeObject]]:
    found: dict[Identity, list[KubeObject]] = {}
    for proxy in declared.every(HTTP_PROXY):
        for each in includes(proxy):
            found.setdefault((HTTP_PROXY, each.namespace, each.name), []).append(proxy)
    return found


def _included(subject: Subject) -> Iterator[Flaw]:
    """What a root brings onto its host that is not looked at itself."""
    given = subject.declared.once(_given)
    for first in includes(subject.object):
        at = ("spec", "includes", first.index)
        for each in _below(subject, first):
            if isinstance(each, Missing) and each.gap:
                yield undecided(each, at, "whether the routes that are included answer without TLS")
            elif not isinstance(each, Missing) and identity(each) not in given and any(map(_is_open, _routes(each))):
                yield Flaw(
                    message=f"{each.reference}, which is included, has a route that answers without TLS too",
                    at=at,
                    fix=f"{each.reference}: leave permitInsecure out",
                )


def _given(declared: Declared) -> frozenset[Identity]:
    return frozenset(identity(each.object) for each in declared.given if each.object.kind == HTTP_PROXY)


def _routes(proxy: KubeObject) -> Iterator[Fields]:
    return proxy.each("spec", "routes")


def _below(subject: Subject, first: Include) -> Iterator[KubeObject | Missing]:
    """The included object and what it includes, each once; a root among them is not served there."""
    waiting, seen = [first], set()
    while waiting:
        each = waiting.pop()
        if (each.namespace, each.name) in seen:
            continue
        seen.add((each.namespace, each.name))
        found = subject.declared.find(HTTP_PROXY, each.name, each.namespace)
        if isinstance(found, Missing) or not found.has(*VHOST):
            yield found
            waiting += [] if isinstance(found, Missing) else includes(found)


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    title="A host with TLS does not answer without",
    severity="medium",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(HTTP_PROXY, *CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
    references=(
        "projectcontour.io/v1 HTTPProxy spec.routes.permitInsecure, spec.includes",
        "Contour internal/dag/httpproxy_processor.go (computeRoutes, routeEnforceTLS)",
        "Contour site/content/docs/main/config/annotations.md (force-ssl-redirect, allow-http)",
    ),
)
