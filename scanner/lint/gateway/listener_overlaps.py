"""Listeners that share a port, and names: what a connection of one can reach of the other (GEP-3567)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.objects import KubeObject
from scanner.lint.certificates import chain_of
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import HOLDERS, Listener, conditions
from scanner.lint.gateway.sharing import READS as SHARING
from scanner.lint.gateway.sharing import pairs_of, uncompared
from scanner.lint.references import READS as SECRETS
from scanner.model.declared import Missing
from scanner.model.hostnames import overlap, within
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts

_TOLD = "OverlappingTLSConfig"


def check_overlap(subject: Subject) -> Iterator[Flaw]:
    """No listeners with TLS on one port have names in common.

    ## What it requires

    The hostnames of the HTTPS listeners on a port, and those of the TLS listeners that terminate, do not overlap: none
    is empty beside others, and none is within another's wildcard.

    ## Why

    A client goes on using a connection for every name that its certificate covers. With `*.shop.example` on one
    listener and `pay.shop.example` on another, requests for the second arrive on connections of the first, whose
    handshake was the first's: what the second demands of its clients was never asked. The implementation must set
    `OverlappingTLSConfig`, and should answer 421 to such requests; several do not.

    ## What fails

    Overlapping hostnames: medium. The finding is at the later listener, and says whether its status admits it.

    ## What is inconclusive

    More than 256 listeners of one Gateway: later ones are not compared. A ListenerSet that is not there to be seen is
    judged where it is linted.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: all, port: 443, protocol: HTTPS, hostname: "*.shop.example", tls: {certificateRefs: [{name: all}]}}
      - {name: pay, port: 443, protocol: HTTPS, hostname: pay.shop.example, tls: {certificateRefs: [{name: pay}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: web, port: 443, protocol: HTTPS, hostname: web.shop.example, tls: {certificateRefs: [{name: web}]}}
      - {name: pay, port: 443, protocol: HTTPS, hostname: pay.shop.example, tls: {certificateRefs: [{name: pay}]}}
    ```

    ## How to fix

    Give the listener that demands more a port of its own, or none of them a wildcard that contains another.
    """
    for first, later in pairs_of(subject):
        if later.holder is subject.object and _overlap(first, later):
            yield Flaw(
                message=f"its hostname overlaps with that of {first}",
                at=(*later.steps, "hostname"),
                observed=(later.hostname or "every name", first.hostname or "every name"),
                evidence=_told(later),
                fix=f"{subject.object.reference}: a port of its own for the listener that demands more",
            )
    yield from uncompared(subject)


def _told(listener: Listener) -> tuple[str, ...]:
    """Whether the controller, which must set the condition on every listener that overlaps, has done so."""
    said = conditions(listener)
    if not said:
        return ()
    return (f"its status {'says' if said.get(_TOLD) == 'True' else 'does not say, as it must,'} {_TOLD}",)


def _overlap(first: Listener, later: Listener) -> bool:
    if not (first.terminates and later.terminates) or first.hostname == later.hostname:  # the same: a conflict
        return False
    return overlap(first.hostname, later.hostname)


def check_certificate_overlap(subject: Subject) -> Iterator[Flaw]:
    """No certificate of one listener is valid for the hostname of another on the same port.

    ## What it requires

    Among the listeners on a port that terminate TLS, none has a certificate with a name that is the hostname of
    another, or within its wildcard, which has a different certificate.

    ## Why

    What a client may send over a connection is decided by the certificate that it was shown. One with more names than
    its listener lets a client of HTTP/2 go on to the other listener without a new handshake. The implementation may
    set `OverlappingTLSConfig` with the reason `OverlappingCertificates`.

    ## What fails

    Such a certificate: low. The finding is at the reference to it.

    ## What is inconclusive

    A Secret that was not seen, of a listener that is not alone on its port. More than 256 listeners of one Gateway.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: web, port: 443, protocol: HTTPS, hostname: web.example, tls: {certificateRefs: [{name: web}]}}
      - {name: pay, port: 443, protocol: HTTPS, hostname: pay.example, tls: {certificateRefs: [{name: pay}]}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(web.example, pay.example)
      tls.key: KEY(web.example, pay.example)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: pay, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(pay.example)
      tls.key: KEY(pay.example)
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: web, port: 443, protocol: HTTPS, hostname: web.example, tls: {certificateRefs: [{name: web}]}}
      - {name: pay, port: 443, protocol: HTTPS, hostname: pay.example, tls: {certificateRefs: [{name: pay}]}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(web.example)
      tls.key: KEY(web.example)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: pay, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(pay.example)
      tls.key: KEY(pay.example)
    ```

    ## How to fix

    Issue a certificate for each listener with its own names only.
    """
    for one, other in pairs_of(subject):
        for listener, beside in ((one, other), (other, one)):
            if listener.holder is subject.object and listener.terminates and beside.terminates:
                yield from _certificates(subject, listener, beside)
    yield from uncompared(subject)


def _certificates(subject: Subject, listener: Listener, beside: Listener) -> Iterator[Flaw]:
    theirs = [_leaf(secret) for _, secret in secrets_of(subject.declared, beside)]
    for steps, secret in secrets_of(subject.declared, listener) if beside.hostname and theirs else ():
        leaf = _leaf(secret)
        if isinstance(secret, Missing) and secret.gap:
            yield undecided(secret, steps, f"whether its certificate is valid for {beside.hostname} too")
        elif isinstance(secret, Missing) or leaf is None:
            continue  # another rule says so
        elif leaf not in theirs and _says(leaf, beside.hostname):
            yield Flaw(
                message=f"the certificate in {secret.reference} is valid for {beside.hostname} too, which {beside} has",
                at=steps,
                fix=f"{subject.object.reference}: a certificate for {listener.hostname or 'its own names'} only",
            )


def _leaf(secret: KubeObject | Missing) -> CertificateFacts | None:
    return None if isinstance(secret, Missing) else next(iter(chain_of(secret)), None)


def _says(leaf: CertificateFacts, hostname: str) -> bool:
    """Whether a name of the certificate is one that the hostname stands for. A wildcard of a certificate is one label,
    one of a hostname any number."""
    names = set(map(str.lower, leaf.dns_names or ()))
    if hostname.startswith("*."):
        return any(within(name, hostname) for name in names)
    return hostname in names or f"*.{hostname.partition('.')[2]}" in names


_REFERENCES = ("Gateway API apis/v1/gateway_types.go (Listener.hostname, ListenerConditionOverlappingTLSConfig)",)
OVERLAP = ObjectRule(
    id="gateway-hostname-overlap",
    title="Listeners with TLS on one port have no names in common",
    severity="medium",
    subjects=HOLDERS,
    check=check_overlap,
    reads=SHARING,
    references=(*_REFERENCES, "GEP-3567, Gateway TLS updates for HTTP/2 connection coalescing"),
)
CERTIFICATE_OVERLAP = ObjectRule(
    id="gateway-certificate-overlap",
    title="No listener's certificate is valid for the hostname of another on its port",
    severity="low",
    subjects=HOLDERS,
    check=check_certificate_overlap,
    reads=(*SHARING, *SECRETS),
    references=(*_REFERENCES, "RFC 9113, section 9.1.1 (connection reuse)"),
)
