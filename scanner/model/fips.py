"""FIPS mode: whether a cluster is in it, and what it takes away."""

from __future__ import annotations

from typing import Final

from scanner.errors import InputError
from scanner.kube.kinds import CONFIG_MAP
from scanner.kube.snapshot import Snapshot
from scanner.model import located
from scanner.model.known import Known, Unknown

CHACHA20: Final = frozenset({0x1303, *(0xCCA8 + offset for offset in range(7))})
"""RFC 8446 and RFC 7905: not approved by FIPS 140."""
NOT_FIPS_GROUPS: Final = frozenset({0x001D, 0x001E, 0x11EB, 0x11EC, 0x11ED, 0x6399})
"""X25519, X448, and the hybrids with ML-KEM, which the modules of these releases are not validated for."""
FIPS_TLS13: Final = frozenset({0x1301, 0x1302})
"""What the ingress operator keeps of TLS 1.3 (its ``fipsApprovedTLS13Ciphers``)."""


def in_fips_mode(snapshot: Snapshot) -> Known[bool]:
    """``fips`` of install-config, in ConfigMap kube-system/cluster-config-v1. A cluster without it was not made by the
    installer, and is taken to be in none."""
    found = snapshot.get(CONFIG_MAP, "cluster-config-v1", "kube-system")
    if found is None:
        gap = snapshot.missing(CONFIG_MAP, "cluster-config-v1", "kube-system")
        return Unknown(f"whether the cluster is in FIPS mode is not known: {gap}") if gap else False
    text = found.text("data", "install-config").encode("utf-8", "replace")
    try:
        return located.load(text, "install-config").get(("fips",)) is True
    except InputError as error:
        return Unknown(f"whether the cluster is in FIPS mode is not known: {error.message}")
