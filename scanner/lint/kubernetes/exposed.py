"""Private keys that stand where everybody reads them. None is printed, nor kept: objects lose them when they are read
(``scanner/cluster/scrub.py``), and what is left in their place is looked for here."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, POD, ROUTE, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.model.finding import Severity
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.removed import CONTAINER, REMOVED

_MARSHAL: Final = 2
"""Texts are written as they are, in UTF-8."""
_MARKS: Final = (REMOVED.encode(), CONTAINER.encode())
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OF_SECRETS: Final[Mapping[str, tuple[Steps, Severity | None, str]]] = {
    "tls.crt": (("data", "tls.crt"), None, "which is for certificates, and is handed to who may not see the key"),
    "ca.crt": (("data", "ca.crt"), None, "which is for certificates, and is handed to who may not see the key"),
    "last-applied": (
        ("metadata", "annotations", _LAST_APPLIED),
        "low",
        "which kubectl apply left, and which what shows no data of Secrets may show",
    ),
}
"""What was found when the Secret was read (``scanner/cluster/misplaced.py``)."""
_ELSEWHERE: Final = (ROUTE, ("spec", "tls", "key"))
"""``route-inline-key`` says so."""


def check_exposed(subject: Subject) -> Iterator[Flaw]:
    """No private key stands where it can be read.

    ## What it requires

    That a private key stands in the data of a Secret and nowhere else: in no ConfigMap, no annotation, no argument or
    environment variable of a pod, no `caBundle`, no field of a Route or another object; and in a Secret not in
    `tls.crt` or `ca.crt`. A Route's `key` is `route-inline-key`'s.

    ## Why

    Objects other than Secrets are read by everybody who may look at a namespace, are kept unencrypted, and are printed
    and logged. Whoever has the key can pass for the server, and of `tls.crt` and `ca.crt` copies are given to clients.
    Such a key is lost: taking it away is not enough, a new one has to be made.

    ## What fails

    A private key, in PEM, DER, base64 of them, as JWK or in a PKCS #12 container: high. The copy of a Secret that
    `kubectl apply` keeps in an annotation: low. No key is quoted, nor kept by adhere.

    ## What is inconclusive

    A PKCS #12 container without a key in sight: informational, since those of trusted certificates look the same. Of
    pods in a cluster only the arguments and the variables about TLS are looked at, and of other objects there not the
    copy that `kubectl apply` keeps; nothing else of them is kept.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: shop, namespace: shop}
    data: {tls.crt: PEM(shop.example.com), tls.key: PEM_KEY(shop.example.com)}
    ```

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers:
          - name: shop
            env: [{name: TLS_KEY, value: PEM_KEY(shop.example.com)}]
    ```

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data:
      tls.crt: CERTIFICATE(shop.example.com)
      tls.key: KEY(shop.example.com)
      ca.crt: KEY(shop.example.com)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: CERTIFICATE(shop.example.com), tls.key: KEY(shop.example.com)}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: clients, namespace: shop}
    data: {ca.crt: CA(clients)}
    ```

    ## How to fix

    Make a new key and a certificate for it, put both into a Secret, and have the pods mount it. Then take the old one
    out, also of the repository's history, and revoke its certificate.
    """
    if subject.object.kind == SECRET:
        yield from _of_secret(subject)
    if _is_marked(subject.object):
        for steps, mark in _marks(subject.object.raw, ()):
            if steps[:1] != ("adhere",) and (subject.object.kind, steps) != _ELSEWHERE:
                yield _flaw(subject, steps, mark)


def _flaw(subject: Subject, steps: Steps, mark: str) -> Flaw:
    if mark == CONTAINER:
        message = (
            "a PKCS #12 container stands here, and whether a private key is in it cannot be told without its password"
        )
        return Flaw(message=message, at=steps, verdict="inconclusive", severity="info")
    readers = f"who may read {subject.object.kind.plural}" if subject.object.kind != SECRET else "whoever is shown it"
    return Flaw(
        message=f"a private key stands here, where {readers} can take it",
        at=steps,
        fix=f"{subject.object.reference}: put a new key into a Secret, and take this one out",
    )


def _of_secret(subject: Subject) -> Iterator[Flaw]:
    for name in subject.object.texts("adhere", "exposed"):
        if name in _OF_SECRETS:
            steps, severity, what = _OF_SECRETS[name]
            yield Flaw(
                message=f"a private key stands in {steps[-1]}, {what}",
                at=steps,
                severity=severity,
                fix=f"{subject.object.reference}: keep the key in tls.key alone",
            )


def _is_marked(item: KubeObject) -> bool:
    """Without walking through it: nearly no object is."""
    whole: Any = item.raw
    try:
        written = marshal.dumps(whole, _MARSHAL)
    except ValueError:
        return True
    return any(mark in written for mark in _MARKS)


def _marks(value: object, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """Where a mark stands, and which. Nesting is bounded when an object is read."""
    if isinstance(value, str):
        if mark := next((each for each in (REMOVED, CONTAINER) if each in value), None):
            yield steps, mark
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marks(item, (*steps, index))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _marks(name, steps)
            yield from _marks(item, (*steps, str(name)))


_SUBJECTS: Final[tuple[Kind, ...]] = (
    SECRET,
    CONFIG_MAP,
    ROUTE,
    POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.SERVICE,
    kinds.INGRESS,
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.BACKEND_TLS_POLICY,
    kinds.HTTP_ROUTE,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
    kinds.VALIDATING_WEBHOOK,
    kinds.MUTATING_WEBHOOK,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.API_SERVICE,
    kinds.SERVICE_MONITOR,
    kinds.POD_MONITOR,
    kinds.PROBE,
    kinds.CERTIFICATE,
)

EXPOSED = ObjectRule(
    id="private-key-exposed",
    title="No private key stands where it can be read",
    severity="high",
    subjects=_SUBJECTS,
    check=check_exposed,
    references=("kubernetes.io, Good practices for Kubernetes Secrets", "core/v1 Secret"),
)
