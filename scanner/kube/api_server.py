"""The configuration of an API server: APIServer (config.openshift.io/v1) or the same fields of a HostedCluster,
``tlsAdherence``, and the feature gates of its fields.

The values of ``tlsAdherence`` are those of library-go ``pkg/crypto/tls_adherence.go``
(``ShouldHonorClusterTLSProfile``). The enhancement's text of January 2026 has ``LegacyExternalAPIServerComponentsOnly``
for one value and ``ShouldAllComponentsAdhere`` for the function; before that the values were ``Legacy`` and ``Strict``.
If a gate is off, the API server prunes its field without an error (openshift/api ``features/features.go``). So the
release alone does not show which fields exist; FeatureGate/cluster and the schema of the CustomResourceDefinition do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from scanner.files.source_positions import shown
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION, FEATURE_GATE, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Parts, Text, Texts, Value, View
from scanner.values import replace


class NamedCertificate(View):
    """A serving certificate for certain names."""

    names = Texts()
    raw_names = Value("names")
    secret = Text("servingCertificate", "name")


class ApiServerConfig(View):
    """``spec`` of an APIServer."""

    named_certificates = Parts(NamedCertificate, "servingCerts", "namedCertificates")
    client_ca = Text("clientCA", "name")
    adherence = Value("tlsAdherence")


class APIServer(KubeObject):
    raw_profile = Value("spec", "tlsSecurityProfile")


def api_server_config(item: KubeObject) -> ApiServerConfig:
    """Read the API server's configuration from an APIServer, HostedCluster or HostedControlPlane."""
    hosted = item.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE)
    steps = ("spec", "configuration", "apiServer") if hosted else ("spec",)
    return ApiServerConfig(item.fields(*steps).raw, steps)


State = Literal["on", "off", "unknown"]
ADHERENCE_GATE: Final = ("TLSAdherence",)
GROUPS_GATE: Final = ("TLSGroupPreferences", "TLSCurvePreferences")
"""The gate's name, and its former name."""


class Gates(Struct, frozen=True, kw_only=True):
    """Feature gates of one release, from FeatureGate/cluster."""

    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def state(self, names: tuple[str, ...]) -> State:
        """The state of a gate, by its current and former names."""
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
    """Read the gates of ``release``. ``status.featureGates`` has several releases during an update."""
    found = snapshot.get(FEATURE_GATE, "cluster")
    every = _FeatureGate.of(found).releases[:50] if found else ()
    mine = next((each for each in every if each.version == release), every[0] if len(every) == 1 else None)
    if mine is None:
        return Gates()
    enabled, disabled = ({each.name for each in some} for some in (mine.enabled, mine.disabled))
    return Gates(enabled=frozenset(enabled), disabled=frozenset(disabled))


def has_field(snapshot: Snapshot, *field: str) -> bool | None:
    """True if the schema of ``APIServer.spec`` has this field; None if the schema was not read."""
    definition = snapshot.get(CUSTOM_RESOURCE_DEFINITION, "apiservers.config.openshift.io")
    for version in definition.each("spec", "versions") if definition else ():
        spec = version.fields("schema", "openAPIV3Schema", "properties", "spec", "properties")
        # A snapshot keeps only a part of the schema: without the profile's field, this part was not kept.
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
"""Every spelling of a value, and its current name."""


class Adherence(Struct, frozen=True, kw_only=True):
    """``tlsAdherence`` of one object, and its effect."""

    means: str
    """``STRICT`` or ``LEGACY``."""
    source: str
    field: str
    said: str
    beat: str | None = None
    remarks: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Remark that the API server removes the field, if it does."""
    unknown: bool = False
    """True if the value is none of ``SPELLINGS``."""

    @property
    def strict(self) -> bool:
        """True if every component must follow the profile."""
        return self.means == STRICT


def read_adherence(
    value: object, source: str, field: str, *, gate: State = "unknown", pruned: bool = False
) -> Adherence:
    """Interpret ``value``. ``gate`` and ``pruned``: whether the cluster has the field."""
    found = _spelt(value, source, field)
    return _pruned(found, value, gate) if gate == "off" or pruned else found


def _spelt(value: object, source: str, field: str) -> Adherence:
    text = "" if value is None else value
    if not isinstance(text, str) or text not in SPELLINGS:
        warning = f"warning: unknown tlsAdherence {shown(value)}: treated as {STRICT}"
        meaning = f"{shown(value)}, unknown, which means {STRICT}"
        return Adherence(means=STRICT, source=source, field=field, said=meaning, remarks=(warning,), unknown=True)
    means = SPELLINGS[text]
    meaning = text if text == means else f"{text}, an earlier spelling of {means}"
    if not text:
        meaning = f"not set, which means {LEGACY}"
    return Adherence(means=means, source=source, field=field, said=meaning)


def _pruned(found: Adherence, value: object, gate: State) -> Adherence:
    """The field has no effect: the object has the value that its author wrote, and components do not see it."""
    why = "the feature gate TLSAdherence is off" if gate == "off" else "this cluster's APIServer has no such field"
    note = f"tlsAdherence: {why}, so the API server removes it without an error, which means {LEGACY}"
    meaning = f"{why}, which means {LEGACY}"
    beat = None if value is None or value == "" else shown(value).strip("'")
    return replace(
        found, means=LEGACY, said=meaning, beat=beat, unknown=False, remarks=(*found.remarks, note), removed=(note,)
    )
