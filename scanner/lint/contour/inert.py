"""TLS settings that nobody reads: former and never shipped APIs, and objects that are no root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.declared import Declared
from scanner.model.kinds import (
    HEPTIO_DELEGATION,
    HTTP_PROXY,
    INGRESS_ROUTE,
    TLS_CERTIFICATE_DELEGATION,
    VMWARE_DELEGATION,
    Kind,
)
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import Fields, KubeObject

_REPLACED: Final[Mapping[Kind, tuple[str, Kind]]] = {
    VMWARE_DELEGATION: (
        "contour.vmware.com/v1 stands in the design document alone and was never shipped: no Contour reads it",
        TLS_CERTIFICATE_DELEGATION,
    ),
    HEPTIO_DELEGATION: ("no Contour since 1.7 reads contour.heptio.com/v1beta1", TLS_CERTIFICATE_DELEGATION),
    INGRESS_ROUTE: ("no Contour since 1.7 reads contour.heptio.com/v1beta1", HTTP_PROXY),
}


def check_former_api(subject: Subject) -> Iterator[Flaw]:
    """Objects are of an API that Contour reads.

    ## What it requires

    That TLSCertificateDelegations are of `projectcontour.io/v1`, and virtual hosts HTTPProxies of the same.

    ## Why

    `contour.vmware.com/v1` is the group in the design document of delegations; it was in no release. The objects of
    `contour.heptio.com/v1beta1` (IngressRoute and TLSCertificateDelegation) were replaced with 1.0, and their support
    ended with 1.7. Such an object lies in the cluster, looks like a permission or like TLS, and does nothing.

    ## What fails

    A TLSCertificateDelegation of one of the two groups: medium. An IngressRoute: medium, with `virtualhost.tls` high:
    its host is not served, or is served by something else.

    ## What is inconclusive

    Nothing: the group stands in the object. Whether a Contour before 1.7 runs is not asked; it has had no fixes since
    2020.

    ## Example that fails

    ```yaml
    apiVersion: contour.vmware.com/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: contour.heptio.com/v1beta1
    kind: IngressRoute
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost: {fqdn: shop.example.com, tls: {secretName: certificates/wildcard}}
      routes: [{match: /, services: [{name: shop, port: 80}]}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost: {fqdn: shop.example.com, tls: {secretName: certificates/wildcard}}
      routes: [{services: [{name: shop, port: 80}]}]
    ```

    ## How to fix

    Write it as `projectcontour.io/v1` (`ir2proxy` converts IngressRoutes), and remove the old object.
    """
    found = _REPLACED.get(subject.object.kind)
    if found:
        reason, successor = found
        yield Flaw(
            message=f"this {subject.object.kind.name} has no effect: {reason}",
            at=("apiVersion",),
            severity="high" if subject.object.fields(*TLS).raw else None,
            expected=(f"projectcontour.io/v1 {successor.name}",),
            observed=(f"{subject.object.text('apiVersion') or subject.object.kind.group} {subject.object.kind.name}",),
            fix=f"{subject.object.reference}: write it as {successor.name} of projectcontour.io/v1",
            correction=f"apiVersion: projectcontour.io/v1\nkind: {successor.name}",
        )


FORMER_API = ObjectRule(
    id="contour-former-api",
    title="Objects are of an API that Contour reads",
    severity="medium",
    subjects=(*_REPLACED, TLS_CERTIFICATE_DELEGATION, HTTP_PROXY),
    check=check_former_api,
    references=(
        "Contour design/tls-certificate-delegation.md",
        "Contour 1.6.0 examples/contour/01-crds.yaml and 1.7.0 release notes (IngressRoute removed)",
    ),
)


def check_root(subject: Subject) -> Iterator[Flaw]:
    """TLS is configured on a root.

    ## What it requires

    That an HTTPProxy or IngressRoute with TLS settings is the root of a virtual host: that it has `virtualhost.fqdn`,
    that no other one includes it, and that it is in a namespace where Contour takes roots (`rootNamespaces`). That
    `tls` stands below `virtualhost`.

    ## Why

    Only a root has a virtual host, and only the virtual host has TLS. What an included object says about TLS is read
    by nobody; with a virtual host of its own, including it makes the including root invalid. Settings anywhere else
    in the object are pruned when it is stored.

    ## What fails

    TLS settings that do nothing: medium.

    ## What is inconclusive

    Nothing. Where Contour's configuration was not given, roots are taken to be allowed everywhere, as by default.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}
      includes: [{name: cart, namespace: cart}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: cart, namespace: cart}
    spec:
      virtualhost: {fqdn: cart.example.com, tls: {secretName: cart}}
      routes: [{services: [{name: cart, port: 80}]}]
    ```

    ## Example that passes

    ```yaml
    # All that there is in a cluster:
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}
      includes: [{name: cart, namespace: cart}]
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: cart, namespace: cart}
    spec:
      routes: [{services: [{name: cart, port: 80}]}]
    ```

    ## How to fix

    Configure TLS in the root that includes the object, and leave it out here.
    """
    tls = subject.object.fields(*TLS)
    if subject.object.has("spec", "tls"):
        yield _inert(subject, ("spec", "tls"), "tls stands beside virtualhost, not below it, and is pruned when stored")
    if not tls.raw:
        return
    if not subject.object.text(*VHOST, "fqdn"):
        yield _inert(subject, TLS, "a virtual host without fqdn is no root")
    includer = subject.declared.once(_included).get((subject.object.namespace, subject.object.name))
    if includer is not None:
        why = f"{includer.reference} includes this object, which makes it no root and that one invalid"
        yield _inert(subject, TLS, why)
    yield from _namespace(subject)


def _inert(subject: Subject, at: tuple[str | int, ...], why: str) -> Flaw:
    return Flaw(
        message=f"these TLS settings have no effect: {why}",
        at=at,
        fix=f"{subject.object.reference}: configure TLS below spec.virtualhost of the root",
    )


def _namespace(subject: Subject) -> Iterator[Flaw]:
    found = configurations(subject.declared)
    wrong = [each for each in found if each.root_namespaces and subject.object.namespace not in each.root_namespaces]
    if subject.object.kind == HTTP_PROXY and wrong and len(wrong) == len(found) and subject.object.namespace:
        where = ", ".join(wrong[0].root_namespaces[:10])
        why = f"{wrong[0].holder.reference} takes roots in {where} alone (RootProxyNotAllowedInNamespace)"
        yield _inert(subject, TLS, why)


def _included(declared: Declared) -> Mapping[tuple[str | None, str], KubeObject]:
    """By namespace and name, who includes or delegates to it."""
    found: dict[tuple[str | None, str], KubeObject] = {}
    for kind in (HTTP_PROXY, INGRESS_ROUTE):
        for each in declared.every(kind):
            for child in _children(each):
                found.setdefault((child.text("namespace") or each.namespace, child.text("name")), each)
    return found


def _children(proxy: KubeObject) -> Iterator[Fields]:
    yield from proxy.each("spec", "includes")
    yield from (each for name in ("include", "includes") if (each := proxy.fields("spec", "tcpproxy", name)).raw)
    for route in proxy.each("spec", "routes"):
        delegate = route.fields("delegate")
        if delegate.raw:
            yield delegate


ROOT = ObjectRule(
    id="contour-root",
    title="TLS is configured on a root",
    severity="medium",
    subjects=(HTTP_PROXY, INGRESS_ROUTE),
    reads=CONFIGURATIONS,
    check=check_root,
    references=(
        "projectcontour.io/v1 HTTPProxy spec.virtualhost, spec.includes",
        "Contour internal/dag/httpproxy_processor.go (RootIncludesRoot, RootProxyNotAllowedInNamespace)",
    ),
)
