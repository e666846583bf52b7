"""TLS settings that nobody reads: former and never shipped APIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import (
    HEPTIO_DELEGATION,
    HTTP_PROXY,
    INGRESS_ROUTE,
    TLS_CERTIFICATE_DELEGATION,
    VMWARE_DELEGATION,
    Kind,
)
from scanner.lint.contour.uses import TLS
from scanner.model.object_rule import Flaw, ObjectRule, Subject

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
