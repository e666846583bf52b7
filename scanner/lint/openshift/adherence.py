"""``tlsAdherence``: values that the API takes, and changes that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.api_server import ADHERENCE_GATE, LEGACY, SPELLINGS, STRICT, api_server_config, feature_gates
from scanner.kube.kinds import API_SERVER, CLUSTER_VERSION, FEATURE_GATE, HOSTED_CLUSTER, Kind
from scanner.kube.openshift import ClusterVersion
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    API_SERVER: ("spec", "tlsAdherence"),
    HOSTED_CLUSTER: ("spec", "configuration", "apiServer", "tlsAdherence"),
}
GATE_READS: Final = (CLUSTER_VERSION, FEATURE_GATE)


def is_off(declared: Declared, names: tuple[str, ...]) -> bool:
    """Whether a gate, by all names that it ever had, is known to be off in the release that runs: then a field that was
    written is not kept."""
    version = declared.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(version, Missing) else ClusterVersion.of(version).desired
    return feature_gates(declared.known, release).state(names) == "off"


def check_value(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` is one of the values that the API takes."""
    at = _FIELDS[subject.object.kind]
    said = api_server_config(subject.object).adherence
    if said is not None and subject.object.kind == API_SERVER and is_off(subject.declared, ADHERENCE_GATE):
        message = (
            f"the feature gate {ADHERENCE_GATE[0]} is off: the API server removes the field without an error, which "
            f"means {LEGACY}"
        )
        yield Flaw(message=message, at=at, severity="low", fix="leave it out, or turn the feature gate on")
    if said is None or said in (STRICT, LEGACY):
        return
    means = SPELLINGS.get(said) if isinstance(said, str) and said else None
    known = f"an earlier spelling of {means}" if means else "unknown to every release: components treat it as strict"
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
    """`tlsAdherence` stays once it is set."""
    at = _FIELDS[subject.object.kind]
    before = api_server_config(subject.before).adherence if subject.before is not None else None
    config = api_server_config(subject.object)
    now, holder = config.adherence, config.raw
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


VALUE = ObjectRule(id="adherence-value", subjects=tuple(_FIELDS), check=check_value, reads=GATE_READS)
REMOVED = ObjectRule(id="adherence-removed", subjects=tuple(_FIELDS), check=check_removed)
