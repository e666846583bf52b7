"""A ``tlsAdherence`` that nobody knows: strict to whoever reads it, and hardly what its author meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.model.adherence_use import UnknownAdherence
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def adherence_findings(values: Iterable[UnknownAdherence]) -> Iterator[Finding]:
    """A finding for each of them."""
    for each in values:
        yield from UNKNOWN_ADHERENCE.check(UNKNOWN_ADHERENCE, each)


def check_unknown_adherence(rule: ScanRule, value: UnknownAdherence) -> Iterator[Finding]:
    """`tlsAdherence` has a value that the API knows.

    ## What it requires

    That `spec.tlsAdherence` of the APIServer object `cluster`, or `spec.configuration.apiServer.tlsAdherence` of a
    HostedCluster, is empty, `StrictAllComponents`, `LegacyAdheringComponentsOnly`, or one of their earlier spellings.

    ## Why

    Components take every value that they do not know for strict, so that a later release may add values without
    weakening a cluster. A value that is merely misspelt therefore binds everything, and whoever meant legacy finds out
    when components change what they speak. adhere judges as the components do: strictly.

    ## What fails

    Any other value: low. The listeners are judged as under `StrictAllComponents`.

    ## What is inconclusive

    Nothing. With the feature gate TLSAdherence off, or without the field in the CRD, a value has no effect and is no
    finding; `adhere explain` says so.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsAdherence: StrictAllComponent
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsAdherence: StrictAllComponents
    ```

    ## How to fix

    Write one of the two values. Once set, the field can be changed and not removed.
    """
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"{value.source} has a {value.field.rpartition('.')[2]} that no release knows: it counts as strict",
        expected=tuple(value.known),
        observed=(f"{value.source} {value.field}: {value.said}",),
        fix=f"set {value.source} {value.field} to {' or '.join(value.known)}",
        about=f"{value.source} {value.field}",
    )


UNKNOWN_ADHERENCE = ScanRule(
    id="adherence-unknown",
    title="tlsAdherence has a value that the API knows",
    severity="low",
    check=check_unknown_adherence,
    references=(
        "openshift/api config/v1/types_apiserver.go (TLSAdherencePolicy)",
        "openshift/library-go pkg/crypto/tls_adherence.go (ShouldHonorClusterTLSProfile)",
        "Enhancement 'Cluster-wide TLS Security Profile Configuration', API Extensions",
    ),
)
