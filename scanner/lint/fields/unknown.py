"""Fields that an object's kind does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.lint.fields.misplaced import belongs
from scanner.lint.fields.shapes import SHAPES
from scanner.lint.fields.walk import Unknown, compare
from scanner.model.located import dotted, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CUTOFF = 0.75
"""``tlsSecurityProfil`` and ``certificateRef`` are nearer than this to what they should be."""


def check_unknown(subject: Subject) -> Iterator[Flaw]:
    """The TLS parts of an object have only fields that their kind has.

    ## What it requires

    That every field around and in the TLS parts of an object is one of its kind: of Gateways, their routes,
    ListenerSets, XBackends and BackendTLSPolicies; of the APIServer, OAuth and Ingress configuration, of the Console,
    IngressControllers, KubeletConfigs, Routes and HostedClusters; of HTTPProxies, TLSCertificateDelegations,
    ExtensionServices and Contour's configuration; of monitors; of Ingresses, Services, webhooks' `clientConfig`,
    APIServices and ConfigMaps; of roles and their bindings; of containers' probes and ports in pods and what makes
    them; of conversions in CustomResourceDefinitions. And that their metadata has the fields that all objects have.

    ## Why

    An API server drops a field that its schema does not know. `kubectl apply` refuses it since Kubernetes 1.27; what
    other clients and earlier releases apply loses the field without an error, and the listener keeps what it had.
    `tlsSecurityProfil: Modern` is then Intermediate, and `clientValidaton` is no mutual TLS. A Route with
    `externalCertificate` beside `tls` serves the router's default certificate.

    ## What fails

    A security setting at a level where the kind does not have it, such as `spec.externalCertificate` of a Route or
    `spec.tls.frontendValidation` of a Gateway: high, with the field where it belongs. A field whose name is nearly that
    of one there is: medium, with the name that was meant. Any other one: low, since a later release than those adhere
    knows may have it. Upper and lower case count.

    ## What is inconclusive

    Nothing. Fields of earlier releases that were given up have rules of their own.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfil:
        type: Modern
        modern: {}
    ```

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      externalCertificate: {name: web-tls}
      tls: {termination: edge}
    ```

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontendValidation:
          caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile:
        type: Modern
        modern: {}
    ```

    ## How to fix

    Rename the field, move it to where the finding says, or remove it.
    `kubectl apply --dry-run=server --validate=strict` asks the cluster itself.
    """
    for each in compare(subject):
        if isinstance(each, Unknown):
            yield _flaw(subject, each)


def _flaw(subject: Subject, unknown: Unknown) -> Flaw:
    message = f"unknown field {shown(unknown.name)}, removed by the API server"
    field = belongs(subject, unknown.at)
    if field:
        return Flaw(
            message=f"{message}: this security setting belongs in {field}",
            at=unknown.at,
            severity="high",
            expected=(field,),
            observed=(dotted(unknown.at),),
            fix=f"{subject.object.reference}: move {unknown.name} to {field}",
        )
    meant = nearest(unknown.name, unknown.known)
    return Flaw(
        message=f"{message}; did you mean {meant}?" if meant else message,
        at=unknown.at,
        severity=None if meant else "low",
        expected=(meant,) if meant else unknown.known[:20],
        observed=(unknown.name,),
        fix=f"{subject.object.reference}: " + (f"rename the field to {meant}" if meant else "remove the field"),
        correction=f"{meant}: ..." if meant else None,
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be."""
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name[:80].lower(), spellings, n=1, cutoff=_CUTOFF)
    return spellings[close[0]] if close else None


UNKNOWN = ObjectRule(
    id="field-unknown",
    title="TLS parts of objects have only known fields",
    severity="medium",
    subjects=tuple(SHAPES),
    check=check_unknown,
    reads=(CUSTOM_RESOURCE_DEFINITION,),
    references=(
        "kubernetes.io, API concepts, Field validation",
        "kubernetes.io, Extend the API with CustomResourceDefinitions, Field pruning",
    ),
)
