"""Routes that are served in plain text, beside TLS or without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import ROUTE
from scanner.lint.openshift.routes import TLS, has_tls, terminates
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_POLICY: Final = (*TLS, "insecureEdgeTerminationPolicy")


def check_insecure(subject: Subject) -> Iterator[Flaw]:
    """A Route does not answer in plain text beside TLS.

    ## What it requires

    That `insecureEdgeTerminationPolicy` of an edge or re-encrypt Route is not Allow.

    ## Why

    With Allow the router serves the same content on port 80, in plain text: cookies and passwords of whoever comes by
    an old link are readable on the way, and nobody notices.

    ## What fails

    Allow: medium. None, which is the default, answers 503 on port 80; Redirect sends to https.

    Edge leaves the way from the router to the pod in plain text. Whether that is wrong is for a policy to say that
    manifests do not hold, so nothing is reported.

    ## What is inconclusive

    Nothing.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}
    ```

    ## How to fix

    `insecureEdgeTerminationPolicy: Redirect`.
    """
    if terminates(subject.object) and subject.object.text(*_POLICY) == "Allow":
        yield Flaw(
            message="the router serves the same content in plain text on port 80",
            at=_POLICY,
            expected=("Redirect", "None"),
            observed=("Allow",),
            fix="write insecureEdgeTerminationPolicy: Redirect",
            correction="insecureEdgeTerminationPolicy: Redirect",
        )


def check_without_tls(subject: Subject) -> Iterator[Flaw]:
    """A Route has TLS.

    ## What it requires

    That `spec.tls` is there.

    ## Why

    Without it the Route is served in plain text on port 80 only. On port 443 its host shows the router's default
    certificate and the answer 503.

    ## What fails

    A Route without `spec.tls`: low. Where plain text is meant, as for the redirect of another host, accept it.

    ## What is inconclusive

    Nothing.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
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
    ```

    ## How to fix

    `tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}`, or re-encrypt where the pod speaks TLS.
    """
    if not has_tls(subject.object):
        yield Flaw(
            message="it is served in plain text only",
            at=TLS,
            fix="add spec.tls",
            correction="tls:\n  termination: edge\n  insecureEdgeTerminationPolicy: Redirect",
        )


_TEMPLATE: Final = "openshift/router images/router/haproxy/conf/haproxy-config.template"
_TYPES: Final = "openshift/api route/v1/types.go (TLSConfig)"

INSECURE = ObjectRule(
    id="route-insecure",
    title="A Route does not answer in plain text beside TLS",
    severity="medium",
    subjects=(ROUTE,),
    check=check_insecure,
    references=(_TYPES, _TEMPLATE),
)
WITHOUT_TLS = ObjectRule(
    id="route-without-tls",
    title="A Route has TLS",
    severity="low",
    subjects=(ROUTE,),
    check=check_without_tls,
    references=(_TYPES,),
)
