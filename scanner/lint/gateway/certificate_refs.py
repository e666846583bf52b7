"""The Secrets that listeners serve (Gateway API apis/v1 ``SecretObjectReference``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link, links, of_listener
from scanner.lint.certificates import broken_flaws, chain_of
from scanner.lint.gateway.grants import READS as GRANTS
from scanner.lint.gateway.grants import Crossing, crossing, grant_flaws
from scanner.lint.gateway.listeners import HOLDERS, Listener, conditions, listeners
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import look_up, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_MOST: Final = 64
"""References of one listener (MaxItems)."""


def references(listener: Listener) -> Iterator[Link]:
    """The certificateRefs that are served: those of a listener that terminates."""
    if listener.terminates:
        yield from islice(of_listener(listener.holder, listener.fields, listener.steps), _MOST)


def secret_at(declared: Declared, link: Link) -> KubeObject | Missing:
    """The Secret that a SecretObjectReference names."""
    return look_up(declared, SECRET, link.name, link.namespace)


def secrets_of(declared: Declared, listener: Listener) -> Iterator[tuple[Steps, KubeObject | Missing]]:
    """The Secrets of a listener, and which field names each."""
    for each in references(listener):
        if each.is_secret:
            yield each.steps, secret_at(declared, each)


def check_certificate_refs(subject: Subject) -> Iterator[Flaw]:
    """What a listener refers to is a certificate with its key.

    ## What it requires

    Every `certificateRefs` entry of a listener that terminates TLS names a Secret that exists, is of type
    `kubernetes.io/tls`, has a certificate in PEM in `tls.crt` and in `tls.key` the key that belongs to it.

    ## Why

    The controller sets `ResolvedRefs` to False with the reason `InvalidCertificateRef`, and the listener serves
    nothing; where the Secret goes bad later, many go on with what they had until they are restarted.

    ## What fails

    A reference to another kind, a Secret that does not exist, has another type, lacks either entry, cannot be read, or
    whose key belongs to another certificate; and a status that says `ResolvedRefs` of such a reference, since then
    something else is served: high.

    ## What is inconclusive

    A Secret that was not among the manifests, could not be read, or that cert-manager has yet to make.

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
      tls.crt: CERTIFICATE(shop.example)
      tls.key: KEY(other.example)
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

    Put the certificate with its chain and its key into the Secret, or name another one. Where a cert-manager
    Certificate keeps the Secret, that is the object to edit.
    """
    for listener in listeners(subject.declared, subject.object):
        for each in references(listener):
            steps, found = each.steps, list(_reference_flaws(subject, each))
            yield from found
            if any(flaw.verdict == "fail" for flaw in found) and conditions(listener).get("ResolvedRefs") == "True":
                yield Flaw(
                    message="its status says ResolvedRefs all the same: what it serves is not this",
                    at=steps,
                    evidence=(f"{listener}: condition ResolvedRefs is True",),
                    fix=f"{subject.object.reference}: ask the controller's log what it serves",
                )


def _reference_flaws(subject: Subject, link: Link) -> Iterator[Flaw]:
    steps = link.steps
    if link.is_secret:
        found = secret_at(subject.declared, link)
        yield from secret_flaws(subject.declared, found, steps)
        if not isinstance(found, Missing):
            yield from broken_flaws(found, chain_of(found), steps)
    else:
        named = "/".join(filter(None, (link.group, link.kind)))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a Secret: InvalidCertificateRef",
            at=steps,
            fix=f"{subject.object.reference}: the name of a Secret",
        )


def check_grants(subject: Subject) -> Iterator[Flaw]:
    """Certificates of other namespaces are granted by their owners.

    ## What it requires

    For every `certificateRefs` entry of a listener, every `caCertificateRefs` entry below `spec.tls.frontend` and for
    `spec.tls.backend.clientCertificateRef`, if it names another namespace, a ReferenceGrant in that namespace with a
    `from` that has exactly the group, kind and namespace of the Gateway or ListenerSet, and a `to` for Secrets
    (or ConfigMaps) with this name or without a name. A ListenerSet needs its own: grants to its Gateway are not for it.

    ## Why

    Without the grant the listener gets `ResolvedRefs` False with the reason `RefNotPermitted` and serves nothing. An
    implementation that serves the certificate all the same lets any namespace use any key.

    ## What fails

    No such grant: high. A grant that would allow it but for one field is named with that field.

    ## What is inconclusive

    ReferenceGrants that were not among the manifests or could not be read, unless one of those that were differs in a
    group or in the case of a kind alone.

    ## Example that fails

    ```yaml
    # All that there is in a cluster:
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        tls: {certificateRefs: [{name: wildcard, namespace: certificates}]}
    ---
    apiVersion: gateway.networking.k8s.io/v1beta1
    kind: ReferenceGrant
    metadata: {name: gateways, namespace: certificates}
    spec:
      from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: other}]
      to: [{group: "", kind: Secret, name: wildcard}]
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
        tls: {certificateRefs: [{name: wildcard, namespace: certificates}]}
    ---
    apiVersion: gateway.networking.k8s.io/v1beta1
    kind: ReferenceGrant
    metadata: {name: gateways, namespace: certificates}
    spec:
      from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}]
      to: [{group: "", kind: Secret, name: wildcard}]
    ```

    ## How to fix

    Let who owns the Secret create the ReferenceGrant, with the Secret's name in `to`; or copy the certificate into the
    Gateway's own namespace.
    """
    for crossed in crossings(subject.declared, subject.object):
        yield from grant_flaws(subject.declared, crossed)


def crossings(declared: Declared, holder: KubeObject) -> Iterator[Crossing]:
    """The references of a Gateway or ListenerSet into other namespaces."""
    served = (each for listener in listeners(declared, holder) for each in references(listener))
    others = (each for each in links(holder) if each.role != "certificate")
    return filter(None, map(crossing, chain(served, others)))


def client_reference(gateway: KubeObject) -> Link | None:
    """The certificate with which a Gateway identifies itself to backends, if it has one."""
    return next((each for each in links(gateway) if each.role == "client-certificate"), None)


CERTIFICATE_REF = ObjectRule(
    id="gateway-certificate-ref",
    title="Listeners refer to certificates that can be served",
    severity="high",
    subjects=HOLDERS,
    check=check_certificate_refs,
    reads=SECRETS,
    references=(
        "Gateway API apis/v1/gateway_types.go (ListenerTLSConfig.certificateRefs, ListenerReasonInvalidCertificateRef)",
    ),
)
NOT_GRANTED = ObjectRule(
    id="gateway-certificate-grant",
    title="Certificates of other namespaces are granted",
    severity="high",
    subjects=HOLDERS,
    check=check_grants,
    reads=GRANTS,
    references=(
        "Gateway API apis/v1/referencegrant_types.go (ReferenceGrantSpec)",
        "GEP-1713, ListenerSets: references across namespaces",
    ),
)
