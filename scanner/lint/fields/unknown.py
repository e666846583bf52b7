"""Fields that nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from scanner.lint.fields.shapes import SHAPES
from scanner.lint.fields.walk import Unknown, compare
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CUTOFF = 0.75
"""``tlsSecurityProfil`` and ``certificateRef`` are nearer than this to what they should be."""


def check_unknown(subject: Subject) -> Iterator[Flaw]:
    """The TLS parts of an object have no fields that nobody reads.

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
    `tlsSecurityProfil: Modern` is then Intermediate, and `clientValidaton` is no mutual TLS.

    ## What fails

    A field whose name is nearly that of one there is: medium, with the name that was meant. Any other one: low, since a
    later release than those adhere knows may have it. Upper and lower case count.

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

    Rename the field, or remove it. `kubectl apply --dry-run=server --validate=strict` asks the cluster itself.
    """
    for each in compare(subject):
        if isinstance(each, Unknown):
            yield _flaw(subject, each)


def _flaw(subject: Subject, unknown: Unknown) -> Flaw:
    meant = nearest(unknown.name, unknown.known)
    dropped = f"{shown(unknown.name)} is no field here, and is dropped"
    return Flaw(
        message=f"{dropped}: did you mean {meant}?" if meant else dropped,
        at=unknown.at,
        severity=None if meant else "low",
        expected=(meant,) if meant else unknown.known[:20],
        observed=(unknown.name,),
        fix=f"{subject.object.reference}: " + (f"call the field {meant}" if meant else "remove the field"),
        correction=f"{meant}: ..." if meant else None,
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody meant who wrote ``name``."""
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name[:80].lower(), spellings, n=1, cutoff=_CUTOFF)
    return spellings[close[0]] if close else None


UNKNOWN = ObjectRule(
    id="field-unknown",
    title="The TLS parts of an object have no fields that nobody reads",
    severity="medium",
    subjects=tuple(SHAPES),
    check=check_unknown,
    references=(
        "kubernetes.io, API concepts, Field validation",
        "kubernetes.io, Extend the API with CustomResourceDefinitions, Field pruning",
    ),
)
