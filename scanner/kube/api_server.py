"""Configuration of an API server: APIServer (config.openshift.io/v1) or the same inside a HostedCluster,
``tlsAdherence`` with what it means, and the feature gates behind its fields.

What a value of ``tlsAdherence`` means is library-go's ``pkg/crypto/tls_adherence.go``
(``ShouldHonorClusterTLSProfile``). The enhancement's text of January 2026 calls one value
``LegacyExternalAPIServerComponentsOnly`` and its function ``ShouldAllComponentsAdhere``; before that the values were
``Legacy`` and ``Strict``. A gate that is off prunes its field without an error (openshift/api
``features/features.go``), so that the release alone does not say which fields exist: FeatureGate/cluster and the schema
of the CustomResourceDefinition do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from scanner.files.source_positions import shown
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION, FEATURE_GATE, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Parts, Text, Texts, Value, View


class NamedCertificate(View):
    """A certificate that is served for some names."""

    names = Texts()
    any_names = Value("names")
    secret = Text("servingCertificate", "name")


class ApiServerConfig(View):
    """``spec`` of an APIServer."""

    named_certificates = Parts(NamedCertificate, "servingCerts", "namedCertificates")
    client_ca = Text("clientCA", "name")
    adherence = Value("tlsAdherence")


class APIServer(KubeObject):
    """APIServer/cluster."""

    any_profile = Value("spec", "tlsSecurityProfile")


def api_server_config(item: KubeObject) -> ApiServerConfig:
    """What an APIServer, or HyperShift's object, says of its API server."""
    hosted = item.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE)
    steps = ("spec", "configuration", "apiServer") if hosted else ("spec",)
    return ApiServerConfig(item.fields(*steps).raw, steps)


State = Literal["on", "off", "unknown"]
ADHERENCE_GATE: Final = ("TLSAdherence",)
GROUPS_GATE: Final = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The gate's name, and the one that it had before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What FeatureGate/cluster says for the release that runs."""

    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def state(self, names: tuple[str, ...]) -> State:
        """Of a gate, by all names that it ever had."""
        if not self.enabled.isdisjoint(names):
            return "on"
        return "unknown" if self.disabled.isdisjoint(names) else "off"


class _Gate(View):
    name = Text()


class _Release(View):
    version = Text()
    enabled = Parts(_Gate)
    disabled = Parts(_Gate)


class _FeatureGate(KubeObject):
    releases = Parts(_Release, "status", "featureGates")


def feature_gates(snapshot: Snapshot, release: str) -> Gates:
    """``status.featureGates`` has a list for each release in play; the other's is no answer."""
    found = snapshot.get(FEATURE_GATE, "cluster")
    every = _FeatureGate.of(found).releases[:50] if found else ()
    mine = next((each for each in every if each.version == release), every[0] if len(every) == 1 else None)
    if mine is None:
        return Gates()
    enabled, disabled = ({each.name for each in some} for some in (mine.enabled, mine.disabled))
    return Gates(enabled=frozenset(enabled), disabled=frozenset(disabled))


def has_field(snapshot: Snapshot, *field: str) -> bool | None:
    """Whether the schema of ``APIServer.spec`` has this field; None where no schema can be seen."""
    definition = snapshot.get(CUSTOM_RESOURCE_DEFINITION, "apiservers.config.openshift.io")
    for version in definition.each("spec", "versions") if definition else ():
        spec = version.fields("schema", "openAPIV3Schema", "properties", "spec", "properties")
        # A snapshot keeps a part of the schema only: without the profile's it was not kept.
        if version.text("name") == "v1" and spec.has("tlsSecurityProfile"):
            return spec.has(*[step for name in field for step in (name, "properties")][:-1])
    return None


STRICT: Final = "StrictAllComponents"
LEGACY: Final = "LegacyAdheringComponentsOnly"

SPELLINGS: Final[Mapping[str, str]] = {
    STRICT: STRICT,
    LEGACY: LEGACY,
    "LegacyExternalAPIServerComponentsOnly": LEGACY,
    "Strict": STRICT,
    "Legacy": LEGACY,
    "": LEGACY,
}
"""What was ever written, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adherence:
    """What one object says, and what that amounts to."""

    means: str
    """``STRICT`` or ``LEGACY``."""
    source: str
    field: str
    said: str
    beat: str | None = None
    remarks: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Remark that the API server removes the field, where it does."""
    unknown: bool = False
    """Whether it is none of ``SPELLINGS``."""

    @property
    def strict(self) -> bool:
        """Whether every component owes the profile."""
        return self.means == STRICT


def read_adherence(
    value: object, source: str, field: str, *, gate: State = "unknown", pruned: bool = False
) -> Adherence:
    """What ``value`` amounts to. ``gate`` and ``pruned`` say whether the cluster has the field at all."""
    found = _spelt(value, source, field)
    if gate == "off" or pruned:
        return _without(found, value, gate)
    return found


def _spelt(value: object, source: str, field: str) -> Adherence:
    text = "" if value is None else value
    if not isinstance(text, str) or text not in SPELLINGS:
        warning = f"warning: tlsAdherence is {shown(value)}, which adhere does not know: taken as {STRICT}"
        said = f"{shown(value)}, unknown, which means {STRICT}"
        return Adherence(means=STRICT, source=source, field=field, said=said, remarks=(warning,), unknown=True)
    means = SPELLINGS[text]
    if not text:
        return Adherence(means=means, source=source, field=field, said=f"not set, which means {LEGACY}")
    if text == means:
        return Adherence(means=means, source=source, field=field, said=text)
    said = f"{text}, an earlier spelling of {means}"
    return Adherence(means=means, source=source, field=field, said=said)


def _without(found: Adherence, value: object, gate: State) -> Adherence:
    """The field has no effect here: a value in the object is what somebody wrote, not what the components see."""
    why = "the feature gate TLSAdherence is off" if gate == "off" else "this cluster's APIServer has no such field"
    note = f"tlsAdherence: {why}, so the API server removes it without an error, which means {LEGACY}"
    said = f"{why}, which means {LEGACY}"
    beat = None if value is None or value == "" else shown(value).strip("'")
    return replace(
        found, means=LEGACY, said=said, beat=beat, unknown=False, remarks=(*found.remarks, note), removed=(note,)
    )
