"""By which CAs a Gateway validates its clients (Gateway API apis/v1 ``FrontendTLSValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import CONFIG_MAP, GATEWAY
from scanner.kube.objects import Fields
from scanner.lint.gateway.authorities import reference_flaws
from scanner.lint.gateway.frontend_validation import configurations
from scanner.lint.references import READS as SECRETS
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_MOST: Final = 16
"""References of one validation (MaxItems)."""


def ca_references(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Every caCertificateRefs entry, of the default and of each port."""
    for steps, each in configurations(subject):
        every = each.at("validation", "caCertificateRefs")
        for index, one in enumerate(every[:_MOST] if isinstance(every, list) else ()):
            if isinstance(one, dict):
                yield (*steps, "validation", "caCertificateRefs", index), Fields(one)


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs by which a Gateway validates clients are there.

    ## What it requires

    Each `validation` below `spec.tls.frontend` names one ConfigMap with CA certificates in PEM in `ca.crt`, and nothing
    else: no leaf, and none that has ended.

    ## Why

    Without a valid CA the listeners of the port are not accepted (`NoValidCACertificate`), which is what must happen:
    a Gateway that goes on without validation lets everybody in. A leaf in the bundle makes some implementations accept
    that one certificate, and others nothing. More than one reference, or a Secret, works with some implementations
    only.

    ## What fails

    No reference, one to another kind, one to nothing, no `ca.crt`, no certificate in it, one that is no CA or has
    ended: high. More than one reference, or a Secret: low.

    ## What is inconclusive

    A ConfigMap or Secret that was not seen. A ClusterTrustBundle, which only some implementations take.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: clients, namespace: shop}
    data:
      ca-bundle.crt: CA(clients)
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
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: clients, namespace: shop}
    data:
      ca.crt: CA(clients)
    ```

    ## How to fix

    Put the CA's certificate, in PEM, under the key `ca.crt` of one ConfigMap.
    """
    for steps, each in configurations(subject):
        if each.has("validation"):
            yield from _number(
                subject, each.at("validation", "caCertificateRefs"), (*steps, "validation", "caCertificateRefs")
            )
    for steps, each in ca_references(subject):
        namespace = each.text("namespace") or subject.object.namespace
        yield from reference_flaws(
            subject,
            steps,
            each,
            namespace,
            other_kind="InvalidCACertificateKind",
            question="whether there is a CA to validate clients by",
        )


def _number(subject: Subject, references: object, at: Steps) -> Iterator[Flaw]:
    count = len(references) if isinstance(references, list) else 0
    if not count:
        yield Flaw(
            message="clients are to be validated, and by no CA",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap with the CA",
        )
    elif count > 1:
        message = "more than one reference: only a single ConfigMap works with every implementation"
        yield Flaw(message=message, at=at, severity="low")


CLIENT_CA = ObjectRule(
    id="gateway-client-ca",
    title="The CAs by which a Gateway validates clients are there",
    severity="high",
    subjects=(GATEWAY,),
    check=check_client_ca,
    reads=(CONFIG_MAP, *SECRETS),
    references=(
        "Gateway API apis/v1/gateway_types.go (FrontendTLSValidation)",
        "GEP-91, Client Certificate Validation for TLS terminating at the Gateway",
    ),
)
