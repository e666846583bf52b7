"""FIPS mode: whether a cluster is in it, and what it takes away."""

from __future__ import annotations

from typing import Final

from scanner.kube.cluster_facts import document
from scanner.kube.maybe import Known, Unknown
from scanner.kube.snapshot import Snapshot

CHACHA20: Final = frozenset({0x1303, *(0xCCA8 + offset for offset in range(7))})
"""RFC 8446 and RFC 7905: not approved by FIPS 140."""
NOT_FIPS_GROUPS: Final = frozenset({0x001D, 0x001E, 0x11EB, 0x11EC, 0x11ED, 0x6399})
"""X25519, X448, and the hybrids with ML-KEM, which the modules of these releases are not validated for."""
FIPS_TLS13: Final = frozenset({0x1301, 0x1302})
"""What the ingress operator keeps of TLS 1.3 (its ``fipsApprovedTLS13Ciphers``)."""


def in_fips_mode(snapshot: Snapshot) -> Known[bool]:
    """``fips`` of install-config, in ConfigMap kube-system/cluster-config-v1. A cluster without it was not made by the
    installer, and is taken to be in none."""
    found = document(snapshot, "cluster-config-v1", "install-config")
    if isinstance(found, Unknown):
        return Unknown(f"whether the cluster is in FIPS mode is not known: {found.reason}")
    return found is not None and found.flag("fips")
