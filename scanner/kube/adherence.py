"""Every value that ``tlsAdherence`` ever had (openshift/api ``config/v1/types_apiserver.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
