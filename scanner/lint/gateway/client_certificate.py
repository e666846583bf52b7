"""The certificate by which a Gateway identifies itself to backends (Gateway API apis/v1 ``GatewayBackendTLS``)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY, NAMESPACE
from scanner.lint.certificates import leaf_flaws
from scanner.lint.gateway.attachment import on_listener
from scanner.lint.gateway.certificate_refs import client_reference, secret_at
from scanner.lint.gateway.listeners import HOLDERS, SETS, merged
from scanner.lint.gateway.policies import READS as POLICIES
from scanner.lint.gateway.policies import policies
from scanner.lint.gateway.routes import ROUTES, backends
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import mend, secret_flaws
from scanner.model.declared import Missing
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A Gateway's client certificate is one with its key, for clients.

    ## What it requires

    `spec.tls.backend.clientCertificateRef` names a Secret of type `kubernetes.io/tls` with a certificate that is valid
    now, and its key. If the certificate says what it is for, `clientAuth` is among it.

    ## Why

    Without it every backend that asks for a client certificate refuses the Gateway. The Gateway stays accepted
    (`ResolvedRefs` is False with the reason `InvalidClientCertificateRef`), so nobody notices before the first request.
    The serving certificate of a listener, taken here too, is refused by backends that look at the usage.

    ## What fails

    A reference to another kind or to nothing, a Secret without certificate or key, one whose key is another's, a
    certificate that has ended: high. A weak key or signature, a CA: medium. One that is not for clients: medium.

    ## What is inconclusive

    A Secret that was not seen.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
      tls: {backend: {clientCertificateRef: {name: identity}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: identity, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(shop.example)
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
      - {name: http, port: 80, protocol: HTTP}
      tls: {backend: {clientCertificateRef: {name: identity}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: identity, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CLIENT(gateway.shop.example)
      tls.key: CLIENT_KEY(gateway.shop.example)
    ```

    ## How to fix

    Issue a certificate with the usage `clientAuth` by the CA that the backends trust.
    """
    link = client_reference(subject.object)
    if link is None:
        return
    if not link.is_secret:
        named = "/".join(filter(None, (link.group, link.kind)))
        message = f"refers to {shown(named)}, not to a Secret: InvalidClientCertificateRef"
        yield Flaw(message=message, at=link.steps, fix=f"{subject.object.reference}: the name of a Secret")
        return
    found = secret_at(subject.declared, link)
    yield from secret_flaws(subject.declared, found, link.steps)
    if not isinstance(found, Missing):
        fix = f"{mend(subject.declared, found.name, found.namespace)}: a certificate for clients"
        now = subject.declared.known.taken_at
        yield from leaf_flaws(found, link.steps, now, usage="clientAuth", fix=fix)


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A Gateway with a client certificate speaks TLS to some backend.

    ## What it requires

    Where `spec.tls.backend.clientCertificateRef` is set, a BackendTLSPolicy is for one of the Services behind the
    Gateway's routes.

    ## Why

    The field alone makes the Gateway encrypt nothing: it says only who the Gateway is where a BackendTLSPolicy makes
    it speak TLS. Without one the traffic is in plaintext, and the Gateway reads as if it had mutual TLS.

    ## What fails

    A client certificate that nothing uses: low.

    ## What is inconclusive

    Routes, BackendTLSPolicies, or the ListenerSets of a Gateway that admits some, if they were not seen.

    ## Example that fails

    ```yaml
    # All that there is in a cluster:
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
      tls: {backend: {clientCertificateRef: {name: identity}}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge}]
      rules: [{backendRefs: [{name: web, port: 8443}]}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
      tls: {backend: {clientCertificateRef: {name: identity}}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge}]
      rules: [{backendRefs: [{name: web, port: 8443}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation: {hostname: web.shop.example, wellKnownCACertificates: System}
    ```

    ## How to fix

    Add a BackendTLSPolicy for the Services that ask for a client certificate, or remove the field.
    """
    link = client_reference(subject.object)
    if link is None or _is_used(subject):
        return
    gaps = [gap for kind in (*ROUTES, *SETS, BACKEND_TLS_POLICY) if (gap := subject.declared.gap(kind))]
    if gaps:
        missing = Missing(name="a BackendTLSPolicy behind its routes", gap=gaps[0])
        yield undecided(missing, link.steps, "whether the client certificate is ever shown")
    else:
        message = "no BackendTLSPolicy is for a Service behind this Gateway: the certificate is never shown"
        yield Flaw(
            message=message, at=link.steps, fix="a BackendTLSPolicy for each Service that asks for a certificate"
        )


def _is_used(subject: Subject) -> bool:
    known = subject.declared.once(policies)
    for listener in merged(subject.declared, subject.object):
        for attached in on_listener(subject.declared, listener) if listener.mode != "Passthrough" else ():
            every = backends(attached.route, subject.declared)
            if any((each.namespace, each.name) in known for each in every):
                return True
    return False


_REFERENCES = (
    "Gateway API apis/v1/gateway_types.go (GatewayBackendTLS.clientCertificateRef)",
    "GEP-3155, complete backend mTLS configuration",
)
CERTIFICATE = ObjectRule(
    id="gateway-client-certificate",
    title="A Gateway's client certificate can be used",
    severity="high",
    subjects=(GATEWAY,),
    check=check_certificate,
    reads=SECRETS,
    references=(*_REFERENCES, "RFC 5280, section 4.2.1.12"),
)
UNUSED = ObjectRule(
    id="gateway-client-certificate-unused",
    title="A Gateway with a client certificate speaks TLS to some backend",
    severity="low",
    subjects=(GATEWAY,),
    check=check_unused,
    reads=(*HOLDERS, *ROUTES, *POLICIES, NAMESPACE),
    references=_REFERENCES,
)
