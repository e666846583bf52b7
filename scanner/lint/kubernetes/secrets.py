"""Secrets that hold a certificate, and that nothing refers to: what is wrong with them shows nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import named
from scanner.lint import references
from scanner.lint.certificates import (
    Fault,
    broken_flaws,
    chain_of,
    ended,
    entry,
    flaws,
    is_a_ca,
    not_begun,
    strong,
)
from scanner.lint.references import TLS, mend, secret_flaws
from scanner.model.certificate_faults import weak_signature
from scanner.model.declared import Declared
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_USERS: Final[tuple[Kind, ...]] = (
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.ROUTE,
    kinds.INGRESS,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
)
"""Kinds whose own rules look at the Secrets that they refer to."""
_TYPES: Final = (TLS, "Opaque")
_AT: Final = ("data", "tls.crt")


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A certificate in a Secret is one that can be served.

    ## What it requires

    That a Secret of type `kubernetes.io/tls`, or one of another type with `tls.crt` and `tls.key`, has a certificate in
    PEM and the key that belongs to it, and that the certificates are valid now and strong. Secrets to which a Gateway,
    a Route, an Ingress or an HTTPProxy refers are judged there, with the names that they are for.

    ## Why

    The API server wants the two names in a `kubernetes.io/tls` Secret, and looks at nothing that is in them; what does
    not belong together is worth a warning to it. Pods that mount the Secret find out when they are started next.

    ## What fails

    No certificate, one that cannot be read, no key or another one's, and a certificate that has ended or not begun:
    high. A short key or a broken signature: medium. A CA is informational: an issuer's Secret has one, and a server's
    should not.

    ## What is inconclusive

    A Secret of which nobody told whether the key belongs to it, and a certificate of which one of these cannot be read.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(pay.example.com)"}
    ```

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "EXPIRED(shop.example.com)", tls.key: "KEY(shop.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    stringData: {ca.crt: CA(clients)}
    ```

    ## How to fix

    Put the certificate with its chain into `tls.crt` and its key into `tls.key`: `kubectl create secret tls` looks
    whether they belong together. Where a cert-manager Certificate keeps the Secret, that is the object to edit.
    """
    secret = subject.object
    if not _is_pair(secret) or (secret.namespace or "", secret.name) in subject.declared.once(_referred):
        return
    keeper, now = mend(subject.declared, secret.name, secret.namespace), subject.declared.known.taken_at
    fix = f"{keeper}: replace the certificate"
    yield from secret_flaws(subject.declared, secret, _AT, types=(secret.text("type") or "Opaque",))
    found = chain_of(secret)
    yield from broken_flaws(secret, found, _AT, fix=fix)
    faults: tuple[tuple[Severity | None, Fault], ...] = (
        ("high", ended(now)),
        ("high", not_begun(now)),
        ("medium", strong),
        ("medium", weak_signature),
    )
    for place, each in enumerate(found):
        of_leaf: tuple[tuple[Severity | None, Fault], ...] = (("info", is_a_ca),) if place == 0 else ()
        yield from flaws(secret, each, _AT, (*faults, *of_leaf), fix=fix)


def _is_pair(secret: KubeObject) -> bool:
    if secret.text("type") == TLS:
        return True
    keyed = secret.at("adhere", "keyMatches") not in ("there is no tls.key", "tls.key is empty")
    return secret.text("type") in ("", *_TYPES) and entry(secret, "tls.crt") is not None and keyed


def _referred(declared: Declared) -> frozenset[tuple[str, str]]:
    """Namespace and name."""
    return frozenset(named(chain.from_iterable(map(declared.every, _USERS)), SECRET))


SECRET_CERTIFICATE = ObjectRule(
    id="secret-certificate",
    title="A certificate in a Secret is one that can be served",
    severity="high",
    subjects=(SECRET,),
    reads=(*references.READS, *_USERS),
    check=check_secret,
    references=("core/v1 Secret, type kubernetes.io/tls", "RFC 5280 section 4.1.2.5"),
)
