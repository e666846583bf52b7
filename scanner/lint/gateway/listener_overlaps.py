"""Listeners that share a port, and names: what a connection of one can reach of the other (GEP-3567)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.objects import KubeObject
from scanner.lint.certificates import chain_of
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import HOLDERS, Listener, conditions, listeners
from scanner.lint.gateway.sharing import READS as SHARING
from scanner.lint.gateway.sharing import pairs_of, uncompared
from scanner.lint.references import READS as SECRETS
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.hostnames import overlap, within
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts

_CONDITION: Final = "OverlappingTLSConfig"
_DEMANDS: Final = ("options", "frontendValidation")
"""What one listener can demand in its own ``tls``; everything else is declared for the port."""


def check_overlap(subject: Subject) -> Iterator[Flaw]:
    """Listeners with TLS on one port share no names.

    ## What it requires

    The hostnames of the listeners on a port that terminate TLS do not overlap: none is empty beside others, and none
    is within another's wildcard. No certificate of one is valid for the hostname of another that has a different
    certificate. These are the cases for which the API has the condition `OverlappingTLSConfig`, with the reasons
    `OverlappingHostnames` and `OverlappingCertificates`.

    ## Why

    A client uses a connection for every name that its certificate covers. With `*.shop.example` on one listener and
    `pay.shop.example` on another, requests for the second arrive on connections of the first: what `tls` of the second
    listener demands was never asked. The validation of client certificates is per port and therefore not affected,
    except in releases before 1.4 (`listeners[].tls.frontendValidation`). Implementations should answer 421 to such
    requests, or disable HTTP/2.

    ## What fails

    An overlap, or a status that says `OverlappingTLSConfig` where the objects show none: info. An overlap of listeners
    whose `tls.options` or `tls.frontendValidation` differ: medium. The finding is at the later listener, and of a
    certificate at the reference to it.

    ## What is inconclusive

    A Secret that was not seen, of a listener that is not alone on its port. More than 256 listeners of one Gateway:
    later ones are not compared. A ListenerSet that was not seen is judged where it is linted.

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

    Use no wildcard that contains another listener's hostname, and issue a certificate for each listener with its own
    names only. Put a listener whose `tls` demands more on another port.
    """
    shown: set[str] = set()
    for first, later in pairs_of(subject):
        if _overlap(first, later):
            shown |= {first.name, later.name}
            if later.holder is subject.object:
                yield _shared_name(subject, first, later)
            continue
        for listener, beside in ((first, later), (later, first)):
            if listener.holder is subject.object and listener.terminates and beside.terminates:
                flaws = list(_certificates(subject, listener, beside))
                shown |= {first.name, later.name} if flaws else set()
                yield from flaws
    yield from _only_reported(subject, shown)
    yield from uncompared(subject)


def _shared_name(subject: Subject, first: Listener, later: Listener) -> Flaw:
    return Flaw(
        message=f"its hostname overlaps with that of {first}: {_CONDITION}",
        at=(*later.steps, "hostname"),
        severity=_severity(first, later),
        observed=(later.hostname or "every name", first.hostname or "every name"),
        evidence=_reported(later),
        fix=f"{subject.object.reference}: a hostname for {later.name} that {first.name} does not include",
    )


def _reported(listener: Listener) -> tuple[str, ...]:
    """Whether the controller, which must set the condition on every listener that overlaps, has done so."""
    said = conditions(listener)
    if not said:
        return ()
    return (f"its status {'says' if said.get(_CONDITION) == 'True' else 'does not say, as it must,'} {_CONDITION}",)


def _only_reported(subject: Subject, shown: set[str]) -> Iterator[Flaw]:
    """What the controller found where the objects show nothing: in another Gateway, or in a certificate. ``shown``:
    names of listeners of which they do."""
    for listener in listeners(subject.declared, subject.object):
        if listener.name not in shown and conditions(listener).get(_CONDITION) == "True":
            yield Flaw(
                message=f"its status says {_CONDITION}: the controller found another listener with the same names",
                at=listener.steps,
                fix=f"{subject.object.reference}: read the condition's message, which names the other listener",
            )


def _overlap(first: Listener, later: Listener) -> bool:
    if not (first.terminates and later.terminates) or first.hostname == later.hostname:  # the same: a conflict
        return False
    return overlap(first.hostname, later.hostname)


def _severity(first: Listener, later: Listener) -> Severity | None:
    demands = [[each.fields.at("tls", name) or None for name in _DEMANDS] for each in (first, later)]
    return "medium" if demands[0] != demands[1] else None


def _certificates(subject: Subject, listener: Listener, beside: Listener) -> Iterator[Flaw]:
    others = [secret for _, secret in secrets_of(subject.declared, beside)]
    theirs = [_leaf(secret) for secret in others]
    for steps, secret in secrets_of(subject.declared, listener) if beside.hostname and theirs else ():
        leaf = _leaf(secret)
        if secret in others:
            continue
        if isinstance(secret, Missing) and secret.gap:
            yield undecided(secret, steps, f"whether its certificate is valid for {beside.hostname} too")
        elif isinstance(secret, Missing) or leaf is None:
            continue  # another rule says so
        elif leaf not in theirs and _says(leaf, beside.hostname):
            yield Flaw(
                message=(
                    f"the certificate in {secret.reference} is valid for {beside.hostname} too, the hostname of "
                    f"{beside}: {_CONDITION}"
                ),
                at=steps,
                severity=_severity(listener, beside),
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


OVERLAP = ObjectRule(
    id="gateway-overlapping-tls-config",
    title="Listeners on one port share no names",
    severity="info",
    subjects=HOLDERS,
    check=check_overlap,
    reads=(*SHARING, *SECRETS),
    references=(
        "Gateway API apis/v1/gateway_types.go (Listener.hostname, ListenerConditionOverlappingTLSConfig)",
        "GEP-3567, Gateway TLS updates for HTTP/2 connection coalescing",
        "RFC 9113, section 9.1.1 (connection reuse)",
    ),
)
