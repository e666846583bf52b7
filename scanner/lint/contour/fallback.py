"""The certificate for clients that name no virtual host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import HTTP_PROXY
from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations, unseen
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_FALLBACK: Final = (*TLS, "enableFallbackCertificate")


def check_fallback(subject: Subject) -> Iterator[Flaw]:
    """A virtual host does not answer clients that do not name it.

    ## What it requires

    That no HTTPProxy has `enableFallbackCertificate`; where it must, that Contour has a fallback certificate, and that
    the virtual host has no `jwtProviders`.

    ## Why

    Without it Envoy closes every connection whose server name is none of its hosts. One HTTPProxy with this field is
    enough for the whole listener to answer any name, and none. What comes that way is told apart by the Host header
    alone, is not refused with 421 when it differs from the server name, and keeps to Contour's versions, not to those
    of the virtual host. Before Contour 1.33.5 it was not asked for its JWT either.

    ## What fails

    `enableFallbackCertificate`: medium, with `jwtProviders` high. No fallback certificate in any configuration: high,
    Contour refuses the HTTPProxy.

    ## What is inconclusive

    Whether Contour has a fallback certificate, where its configuration was not given; the field itself is judged.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop, enableFallbackCertificate: true}}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}}
    ```

    ## How to fix

    Leave it out; clients that send no server name are older than 2012.
    """
    if not subject.object.flag(*_FALLBACK):
        return
    tokens = bool(subject.object.at(*VHOST, "jwtProviders"))
    spoilt = ", and Contour before 1.33.5 asks those for no JWT" if tokens else ""
    yield Flaw(
        message=f"clients that send another server name, or none, are answered{spoilt}",
        at=_FALLBACK,
        severity="high" if tokens else None,
        fix=f"{subject.object.reference}: leave it out",
        correction="enableFallbackCertificate: false",
    )
    if not any(each.fallback for each in configurations(subject.declared)):
        missing = unseen(subject.declared)
        what = "whether Contour has a fallback certificate"
        refused = "Contour has no fallback certificate, and calls the HTTPProxy invalid (FallbackNotPresent)"
        yield undecided(missing, _FALLBACK, what) if missing else Flaw(message=refused, at=_FALLBACK, severity="high")


FALLBACK = ObjectRule(
    id="contour-fallback-certificate",
    title="A virtual host does not answer clients that do not name it",
    severity="medium",
    subjects=(HTTP_PROXY,),
    reads=CONFIGURATIONS,
    check=check_fallback,
    references=(
        "projectcontour.io/v1 HTTPProxy spec.virtualhost.tls.enableFallbackCertificate",
        "Contour internal/xdscache/v3/listener.go; 1.33.5 release notes (JWT verification)",
    ),
)
