"""``tlsAdherence``: values that the API takes, and changes that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import API_SERVER, HOSTED_CLUSTER, Kind
from scanner.lint.openshift import gates
from scanner.model.adherence_spelling import LEGACY, SPELLINGS, STRICT
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    API_SERVER: ("spec", "tlsAdherence"),
    HOSTED_CLUSTER: ("spec", "configuration", "apiServer", "tlsAdherence"),
}
_GATE: Final = ("TLSAdherence",)
_API: Final = "openshift/api config/v1/types_apiserver.go (TLSAdherencePolicy)"


def check_value(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` is one of the values that the API takes.

    ## What it requires

    That `spec.tlsAdherence` of an APIServer, or `spec.configuration.apiServer.tlsAdherence` of a HostedCluster, is
    not there, `StrictAllComponents` or `LegacyAdheringComponentsOnly`.

    ## Why

    The schema refuses everything else. Earlier texts had other words for both, and the enhancement's own examples still
    have; a component that meets a value it does not know takes it for strict. Of a cluster's object that has such a
    value, a scan says so by `adherence-unknown`.

    ## What fails

    * An earlier spelling, or an unknown value: medium.
    * Any value where the feature gate TLSAdherence is known to be off: low. The field is pruned without a word, and the
      cluster goes on as under LegacyAdheringComponentsOnly.

    ## What is inconclusive

    Nothing. Of a cluster whose feature gates were not given, they are taken to be on.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {tlsAdherence: LegacyExternalAPIServerComponentsOnly}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {tlsAdherence: StrictAllComponents}
    ```

    ## How to fix

    Write one of the two values.
    """
    at = _FIELDS[subject.object.kind]
    said = subject.object.at(*at)
    if said is not None and subject.object.kind == API_SERVER and gates.is_off(subject.declared, _GATE):
        message = f"the feature gate {_GATE[0]} is off: the field is pruned without a word, which means {LEGACY}"
        yield Flaw(message=message, at=at, severity="low", fix="leave it out, or turn the feature gate on")
    if said is None or said in (STRICT, LEGACY):
        return
    means = SPELLINGS.get(said) if isinstance(said, str) and said else None
    known = f"an earlier spelling of {means}" if means else "none that any release knows: it counts as strict"
    yield Flaw(
        message=f'the API server refuses it: Unsupported value: {shown(said)}: supported values: "{LEGACY}", "{STRICT}"'
        f" ({known})",
        at=at,
        expected=(STRICT, LEGACY),
        observed=(shown(said),),
        fix=f"write {means}" if means else f"write {STRICT} or {LEGACY}",
        correction=f"tlsAdherence: {means or STRICT}",
    )


def check_removed(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` stays once it is set.

    ## What it requires

    Of a manifest for an object that a cluster has (`--cluster`, `--snapshot`): where the cluster's has `tlsAdherence`,
    it has one too.

    ## Why

    The API server refuses to remove the field, so that nobody loosens a cluster by leaving out a line. From strict to
    legacy it may be changed, which binds fewer components, and is said as information.

    ## What fails

    A manifest that removes it: high, with the API server's words. One that has the field as `null`, which does the same
    to whatever cluster has it: medium. One that goes from strict to legacy: informational.

    ## What is inconclusive

    Nothing. Without a cluster there is nothing to compare with, but for null.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {tlsAdherence: null}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {tlsAdherence: LegacyAdheringComponentsOnly}
    ```

    ## How to fix

    Keep the field, with either value.
    """
    at = _FIELDS[subject.object.kind]
    before = subject.before.at(*at) if subject.before is not None else None
    now = subject.object.at(*at)
    holder = subject.object.fields(*at[:-1]).raw
    if now is None and (before is not None or at[-1] in holder):
        keep = before if isinstance(before, str) and before in SPELLINGS and before else LEGACY
        refused = "the API server refuses it: tlsAdherence may not be removed once set"
        yield Flaw(
            message=refused if before is not None else "null removes tlsAdherence, which may not be removed once set",
            at=at if at[-1] in holder else ("spec",),
            severity="high" if before is not None else "medium",
            expected=(shown(before),) if before is not None else (STRICT, LEGACY),
            fix=f"keep tlsAdherence: {keep}" if before is not None else "write a value, or leave the field out",
            correction=f"tlsAdherence: {keep}",
        )
    elif before is not None and _means(before) == STRICT and _means(now) == LEGACY:
        yield Flaw(
            message="it goes from strict to legacy: components that do not follow the profile are no bugs any more",
            at=at,
            severity="info",
            status="informational",
            observed=(shown(before), shown(now)),
        )


def _means(said: object) -> str:
    return SPELLINGS.get(said, STRICT) if isinstance(said, str) else STRICT


VALUE = ObjectRule(
    id="adherence-value",
    title="tlsAdherence is one of the values that the API takes",
    severity="medium",
    subjects=tuple(_FIELDS),
    check=check_value,
    reads=gates.READS,
    references=(
        _API,
        "Enhancement 'Cluster-wide TLS Security Profile Configuration', TLS Adherence Modes",
    ),
)
REMOVED = ObjectRule(
    id="adherence-removed",
    title="tlsAdherence stays once it is set",
    severity="high",
    subjects=tuple(_FIELDS),
    check=check_removed,
    references=(_API,),
)
