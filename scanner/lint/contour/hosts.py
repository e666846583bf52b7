"""Hosts that two objects claim, and hosts that answer without TLS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, VHOST, is_contours
from scanner.model.declared import Declared
from scanner.model.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import KubeObject

_CLASSES: Final = ("projectcontour.io/ingress.class", "kubernetes.io/ingress.class")
_REDIRECT: Final = "ingress.kubernetes.io/force-ssl-redirect"
_ALLOW: Final = "kubernetes.io/ingress.allow-http"
_SHOWN: Final = 3


def _class(found: KubeObject) -> str:
    """Two Contours may serve one host each; without a class it is the usual one's."""
    annotations = found.annotations
    named = found.text("spec", "ingressClassName") or next(filter(None, map(annotations.get, _CLASSES)), "")
    return named or "contour"


def _host(proxy: KubeObject) -> str:
    return proxy.text(*VHOST, "fqdn").lower()


def check_fqdn(subject: Subject) -> Iterator[Flaw]:
    """A host is claimed by one HTTPProxy.

    ## What it requires

    That no two HTTPProxies of the same class have the same `virtualhost.fqdn`, in whatever namespaces, and that no
    Ingress of Contour has a rule for it.

    ## Why

    Contour calls all HTTPProxies with the same name invalid: whoever may create one in any namespace can take a host
    off the network. With an Ingress both are merged, and which certificate and which versions hold is nobody's
    decision.

    ## What fails

    The same name in two HTTPProxies: high. In an Ingress: medium.

    ## What is inconclusive

    Nothing. It is told among the objects that are known.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com}}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: mine, namespace: blog}
    spec: {virtualhost: {fqdn: shop.example.com}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com}}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec: {virtualhost: {fqdn: blog.example.com}}
    ```

    ## How to fix

    Remove one of the two, or include one in the other.
    """
    key = (_host(subject.object), _class(subject.object))
    if not key[0]:
        return
    at = (*VHOST, "fqdn")
    proxies = subject.declared.once(_proxies).get(key, ())
    if len(proxies) > 1:
        others = (each for each in proxies if each is not subject.object)
        claim = _for(len(proxies) - 1, "claims", "claim")
        yield Flaw(
            message=f"{_listed(others, len(proxies) - 1)} also {claim} {key[0]}: "
            "Contour calls all of them invalid (DuplicateVhost)",
            at=at,
            fix=f"{subject.object.reference}: keep one of them",
        )
    ingresses = subject.declared.once(_ingresses).get(key[0], ())
    if ingresses:
        have = _for(len(ingresses), "has", "have")
        yield Flaw(
            message=f"{_listed(ingresses, len(ingresses))} also {have} rules for {key[0]}: "
            "whose TLS settings hold is left to chance",
            at=at,
            severity="medium",
            fix=f"{subject.object.reference}: keep one of them",
        )


def _for(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _listed(found: Iterable[KubeObject], count: int) -> str:
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    return ", ".join(str(each.reference) for each in islice(found, _SHOWN)) + more


def _proxies(declared: Declared) -> Mapping[tuple[str, str], tuple[KubeObject, ...]]:
    found: dict[tuple[str, str], list[KubeObject]] = {}
    for each in declared.every(HTTP_PROXY):
        found.setdefault((_host(each), _class(each)), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _ingresses(declared: Declared) -> Mapping[str, tuple[KubeObject, ...]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(INGRESS):
        if is_contours(declared, each):
            for host in {rule.text("host").lower() for rule in each.each("spec", "rules")}:
                found.setdefault(host, []).append(each)
    return {key: tuple(each) for key, each in found.items()}


FQDN = ObjectRule(
    id="contour-fqdn",
    title="A host is claimed by one HTTPProxy",
    severity="high",
    subjects=(HTTP_PROXY,),
    reads=(INGRESS, INGRESS_CLASS),
    check=check_fqdn,
    references=("Contour internal/dag/httpproxy_processor.go (DuplicateVhost)",),
)


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """A host with TLS does not answer without.

    ## What it requires

    That no route of an HTTPProxy has `permitInsecure`, unless Contour's configuration has `disablePermitInsecure`; and
    that an Ingress of Contour with `tls` has the annotation `ingress.kubernetes.io/force-ssl-redirect: "true"` or
    `kubernetes.io/ingress.allow-http: "false"`.

    ## Why

    Of an HTTPProxy with TLS, Contour redirects what comes to port 80, but for routes with `permitInsecure`. Of an
    Ingress it redirects nothing: all its hosts answer without TLS as they do with it, until an annotation says
    otherwise.

    ## What fails

    A route with `permitInsecure`, and an Ingress with `tls` and neither annotation: medium.

    ## What is inconclusive

    Nothing. Where Contour's configuration was not given, `disablePermitInsecure` is taken to be off, which is its
    default.

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
    virtual = subject.object.has(*VHOST) and not subject.object.fields(*TLS).raw
    configured = configurations(subject.declared)
    if virtual or (configured and all(each.no_plaintext for each in configured)):
        return
    for steps, route in subject.items("spec", "routes"):
        if route.flag("permitInsecure"):
            yield Flaw(
                message="this route answers without TLS too",
                at=(*steps, "permitInsecure"),
                fix=f"{subject.object.reference}: leave permitInsecure out",
                correction="permitInsecure: false",
            )


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    title="A host with TLS does not answer without",
    severity="medium",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(*CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
    references=(
        "projectcontour.io/v1 HTTPProxy spec.routes.permitInsecure",
        "Contour site/content/docs/main/config/annotations.md (force-ssl-redirect, allow-http)",
    ),
)


def check_slash(subject: Subject) -> Iterator[Flaw]:
    """An Ingress names a Secret without a namespace.

    ## What it requires

    That no `secretName` of an Ingress has a slash.

    ## Why

    The design of Contour's delegations writes `namespace/secret` there. The API server takes that for no name of a
    Secret (it must be a DNS subdomain), and refuses the Ingress; it only leaves alone what was stored before it looked.
    Other controllers look for a Secret that is called so.

    ## What fails

    A slash in `secretName`: high.

    ## What is inconclusive

    Nothing: the name stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec:
      ingressClassName: contour
      tls: [{hosts: [shop.example.com], secretName: certificates/wildcard}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata:
      name: shop
      namespace: shop
      annotations: {projectcontour.io/tls-cert-namespace: certificates}
    spec:
      ingressClassName: contour
      tls: [{hosts: [shop.example.com], secretName: wildcard}]
    ```

    ## How to fix

    Give the namespace in the annotation `projectcontour.io/tls-cert-namespace` (Contour 1.20 and newer), which holds
    for all `tls` entries of the Ingress, or write an HTTPProxy.
    """
    for steps, each in subject.items("spec", "tls"):
        namespace, slash, name = each.text("secretName").partition("/")
        if slash:
            yield Flaw(
                message="the API server refuses a secretName with a slash: it must be the name of a Secret",
                at=(*steps, "secretName"),
                observed=(each.text("secretName"),),
                fix=f"{subject.object.reference}: give the namespace in projectcontour.io/tls-cert-namespace",
                correction=f"metadata:\n  annotations:\n    projectcontour.io/tls-cert-namespace: {namespace}\n"
                f"spec:\n  tls:\n  - secretName: {name}",
            )


SLASH = ObjectRule(
    id="contour-ingress-slash",
    title="An Ingress names a Secret without a namespace",
    severity="high",
    subjects=(INGRESS,),
    check=check_slash,
    references=(
        "Kubernetes pkg/apis/networking/validation/validation.go (ValidateIngressTLS)",
        "Contour design/tls-certificate-delegation.md",
    ),
)
