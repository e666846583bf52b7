"""Hosts that two objects claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.references import ingress_class
from scanner.lint.contour.uses import VHOST, is_contours
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_SHOWN: Final = 3


def _class(found: KubeObject) -> str:
    """Two Contours may serve one host each; without a class it is the usual one's."""
    return ingress_class(found) or "contour"


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
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec: {virtualhost: {fqdn: blog.example.com, tls: {secretName: blog}}}
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

    Where Contour serves the Ingress, give the namespace in the annotation `projectcontour.io/tls-cert-namespace`
    (Contour 1.20 and newer), which holds for all `tls` entries of the Ingress, or write an HTTPProxy. Other controllers
    take Secrets of the Ingress's own namespace alone.
    """
    of_contour = is_contours(subject.declared, subject.object)
    for steps, each in subject.items("spec", "tls"):
        namespace, slash, name = each.text("secretName").partition("/")
        if slash:
            yield Flaw(
                message="the API server refuses a secretName with a slash: it must be the name of a Secret",
                at=(*steps, "secretName"),
                observed=(each.text("secretName"),),
                fix=f"{subject.object.reference}: "
                + (
                    "give the namespace in projectcontour.io/tls-cert-namespace"
                    if of_contour
                    else f"name a Secret in {subject.object.namespace}"
                ),
                correction=f"metadata:\n  annotations:\n    projectcontour.io/tls-cert-namespace: {namespace}\n"
                f"spec:\n  tls:\n  - secretName: {name}"
                if of_contour
                else f"spec:\n  tls:\n  - secretName: {name}",
            )


SLASH = ObjectRule(
    id="contour-ingress-slash",
    title="An Ingress names a Secret without a namespace",
    severity="high",
    subjects=(INGRESS,),
    reads=(INGRESS_CLASS,),
    check=check_slash,
    references=(
        "Kubernetes pkg/apis/networking/validation/validation.go (ValidateIngressTLS)",
        "Contour design/tls-certificate-delegation.md",
    ),
)
