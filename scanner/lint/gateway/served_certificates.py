"""The certificates that listeners serve: for which names, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import NAMESPACE
from scanner.lint.certificates import leaf_flaws
from scanner.lint.gateway.attachment import on_listener
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import HOLDERS, Listener, listeners
from scanner.lint.gateway.names import listener_names, route_names
from scanner.lint.gateway.routes import ROUTES
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import mend
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_names(subject: Subject) -> Iterator[Flaw]:
    """A listener's certificates are valid for every name that leads to it.

    ## What it requires

    Each hostname that a listener with TLS has in common with a route attached to it, or its own where there is none,
    is covered by a subject alternative name of one of its certificates. Of a route whose Gateway is known and not
    judged itself (`--cluster`, `--snapshot`) the same is required at the route.

    ## Why

    A wildcard hostname of the Gateway API stands for one or more labels, a wildcard in a certificate for exactly one
    (RFC 9525). A route for `a.b.shop.example` on a listener `*.shop.example` with a certificate for `*.shop.example`
    is attached and programmed, and every client refuses the connection. Neither looks any client at the common name.

    ## What fails

    A name that no certificate of the listener covers: high.

    ## What is inconclusive

    A Secret that was not seen, or names in a certificate that cannot be read; of a route, its Gateway.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        hostname: "*.shop.example"
        tls: {certificateRefs: [{name: edge-tls}]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: edge-tls, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(*.shop.example)
      tls.key: KEY(*.shop.example)
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge}]
      hostnames: [a.b.shop.example]
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        hostname: "*.shop.example"
        tls: {certificateRefs: [{name: edge-tls}]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: edge-tls, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(*.shop.example)
      tls.key: KEY(*.shop.example)
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge}]
      hostnames: [b.shop.example]
    ```

    ## How to fix

    Issue the certificate with the name, or with a wildcard for its parent (`*.b.shop.example`).
    """
    if subject.object.kind in ROUTES:
        yield from route_names(subject)
        return
    for listener in listeners(subject.declared, subject.object):
        names = _names(subject, listener)
        if names:
            yield from listener_names(subject, listener, names)


def _names(subject: Subject, listener: Listener) -> tuple[str, ...]:
    """What clients ask for; a listener without hostname and routes says nothing."""
    attached = (name for each in on_listener(subject.declared, listener) for name in each.names)
    return tuple(filter(None, dict.fromkeys(attached))) or tuple(filter(None, (listener.hostname,)))


def check_faults(subject: Subject) -> Iterator[Flaw]:
    """The certificates that listeners refer to are good enough to be served.

    ## What it requires

    In `tls.crt` of every Secret that a listener refers to, a leaf and issuers that are valid now, with RSA keys of 2048
    bits or more or curves of 224 bits or more, and signatures over no broken hash. The leaf is no CA, and if it says
    what it is for, `serverAuth` is among it.

    ## Why

    Clients refuse what has ended, is signed with SHA-1 or is not for servers. A leaf that is a CA can sign for every
    other name.

    ## What fails

    A certificate that has ended or has not begun: high. A weak key or signature, a leaf that is a CA or not for
    servers: medium.

    ## What is inconclusive

    A Secret that was not seen, or a field of a certificate that cannot be read.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: edge-tls, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: EXPIRED(shop.example)
      tls.key: KEY(shop.example)
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: edge-tls, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(shop.example)
      tls.key: KEY(shop.example)
    ```

    ## How to fix

    Renew the certificate, with a new key where the old one is too short.
    """
    looked_at: set[str] = set()
    now = subject.declared.known.taken_at
    for listener in listeners(subject.declared, subject.object):
        for steps, found in secrets_of(subject.declared, listener):
            if isinstance(found, Missing):
                if found.gap:
                    yield undecided(found, steps, "whether its certificate is good enough")
            elif str(found.reference) not in looked_at:
                looked_at.add(str(found.reference))
                fix = f"{mend(subject.declared, found.name, found.namespace)}: replace the certificate"
                yield from leaf_flaws(found, steps, now, fix=fix)


NAME = ObjectRule(
    id="gateway-certificate-name",
    title="Listeners' certificates are valid for the names that lead to them",
    severity="high",
    subjects=(*HOLDERS, *ROUTES),
    check=check_names,
    reads=(*HOLDERS, *ROUTES, NAMESPACE, *SECRETS),
    references=(
        "Gateway API apis/v1/shared_types.go (Hostname)",
        "RFC 9525, section 6.3 (wildcards in certificates)",
    ),
)
FAULT = ObjectRule(
    id="gateway-certificate-fault",
    title="Listeners' certificates are valid now and strong",
    severity="high",
    subjects=HOLDERS,
    check=check_faults,
    reads=SECRETS,
    references=("RFC 5280, section 4.1.2.5 and 4.2.1.12", "RFC 9155, section 2", "RFC 9325, section 4.5"),
)
