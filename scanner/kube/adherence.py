"""``tlsAdherence``: which components a cluster holds to its profile.

The field is openshift/api ``config/v1/types_apiserver.go``; what a value means is library-go's
``pkg/crypto/tls_adherence.go`` (``ShouldHonorClusterTLSProfile``). The enhancement's text of January 2026 calls one
value ``LegacyExternalAPIServerComponentsOnly`` and its function ``ShouldAllComponentsAdhere``; before that the values
were ``Legacy`` and ``Strict``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.feature_gates import State

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
    unknown: bool = False
    """Whether it is none of ``SPELLINGS``."""

    @property
    def strict(self) -> bool:
        """Whether every component owes the profile."""
        return self.means == STRICT


def read(value: object, source: str, field: str, *, gate: State = "unknown", pruned: bool = False) -> Adherence:
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
    note = f"tlsAdherence: {why}, so it is pruned without a word, which means {LEGACY}"
    said = f"{why}, which means {LEGACY}"
    beat = None if value is None or value == "" else shown(value).strip("'")
    return replace(found, means=LEGACY, said=said, beat=beat, unknown=False, remarks=(*found.remarks, note))
