"""Routes that answer in plaintext what they answer over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.lint.gateway.attachment import Attached, of_route
from scanner.lint.gateway.listeners import HOLDERS
from scanner.model.hostnames import overlap
from scanner.model.kinds import GRPC_ROUTE, HTTP_ROUTE, NAMESPACE
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.objects import Fields

_NAMES: Final = 200
"""Hostnames per listener that are compared: each with each."""
_RULES: Final = 64


def check_twin(subject: Subject) -> Iterator[Flaw]:
    """What a route serves over HTTPS it does not serve in plaintext too.

    ## What it requires

    No route is attached to an `HTTP` and an `HTTPS` listener under the same hostname, unless each of its rules
    redirects to https.

    ## Why

    A route without `sectionName` is attached to every listener of the Gateway that takes it. Clients who type the name
    without a scheme then get the content, and send their cookies, in plaintext, where a redirect was meant.

    ## What fails

    Such a route: medium.

    ## What is inconclusive

    A Gateway that was not seen.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge}]
      hostnames: [web.shop.example]
      rules: [{backendRefs: [{name: web, port: 8080}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge, sectionName: https}]
      hostnames: [web.shop.example]
      rules: [{backendRefs: [{name: web, port: 8080}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: to-https, namespace: shop}
    spec:
      parentRefs: [{name: edge, sectionName: http}]
      rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
    ```

    ## How to fix

    Name the HTTPS listener in `sectionName`, and give the HTTP listener a route that only redirects.
    """
    every = of_route(subject.declared, subject.object)
    for each in every:
        if each.missing is not None and each.missing.gap:
            yield undecided(each.missing, each.parent.steps, "whether the route answers in plaintext too")
    attached = [one for each in every for one in each.attached]
    if all(map(_redirects, islice(subject.object.each("spec", "rules"), _RULES))) and subject.object.at(
        "spec", "rules"
    ):
        return
    encrypted = [one for one in attached if one.listener.protocol == "HTTPS"]
    for attachment in every:
        plain = [one for one in attachment.attached if one.listener.protocol == "HTTP"]
        twin = next((one for one in plain for other in encrypted if _same_names(one, other)), None)
        if twin is not None:
            yield Flaw(
                message=f"answers on {twin.listener} in plaintext what it answers over HTTPS",
                at=attachment.parent.steps,
                fix=f"{subject.object.reference}: sectionName of the HTTPS listener",
                correction="parentRefs:\n- name: GATEWAY\n  sectionName: HTTPS-LISTENER",
            )


def _redirects(rule: Fields) -> bool:
    return any(each.text("requestRedirect", "scheme") == "https" for each in rule.each("filters"))


def _same_names(one: Attached, other: Attached) -> bool:
    names = set(one.names)
    if names & set(other.names):
        return True
    wild = [each for each in other.names[:_NAMES] if not each or each.startswith("*")]
    mine = [each for each in one.names[:_NAMES] if not each or each.startswith("*")]
    return any(overlap(a, b) for a in wild for b in one.names[:_NAMES]) or any(
        overlap(a, b) for a in mine for b in other.names[:_NAMES]
    )


TWIN = ObjectRule(
    id="gateway-plaintext-twin",
    title="What is served over HTTPS is not served in plaintext too",
    severity="medium",
    subjects=(HTTP_ROUTE, GRPC_ROUTE),
    check=check_twin,
    reads=(*HOLDERS, NAMESPACE),
    references=(
        "Gateway API apis/v1/httproute_types.go (HTTPRequestRedirectFilter.scheme)",
        "Gateway API guide, HTTP path redirects and rewrites: HTTP to HTTPS",
    ),
)
