"""PKI objects, and snapshots that have one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.pki.config import READS

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RELEASE = "4.22.0"
P256 = {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P256"}}}
NAMED = {"metadata": {"name": "cluster"}}


def snapshot(
    *objects: tuple[Kind, Mapping[str, Any]], gate: str = "", absent: frozenset[Kind] = frozenset()
) -> Snapshot:
    """A cluster with these objects; ``gate`` is ``on`` or ``off``."""
    held: dict[Kind, tuple[KubeObject, ...]] = dict.fromkeys((*READS, kinds.CONFIG_MAP), ())
    for kind, raw in (*objects, *_gated(gate)):
        held[kind] = (*held[kind], KubeObject(raw, kind))
    return Snapshot(taken_at=AT, origin=Origin(name="test"), objects=held, absent=absent)


def _gated(gate: str) -> list[tuple[Kind, Mapping[str, Any]]]:
    if not gate:
        return []
    list_ = {"on": "enabled", "off": "disabled"}[gate]
    gates = [{"version": RELEASE, list_: [{"name": "ConfigurablePKI"}]}, {"version": "4.21.0"}]
    return [
        (kinds.FEATURE_GATE, {**NAMED, "status": {"featureGates": gates}}),
        (kinds.CLUSTER_VERSION, {"metadata": {"name": "version"}, "status": {"desired": {"version": RELEASE}}}),
    ]


def pki(spec: object = None, **metadata: object) -> tuple[Kind, Mapping[str, Any]]:
    """A PKI object."""
    return kinds.PKI, {"metadata": {"name": "cluster", **metadata}, **({} if spec is None else {"spec": spec})}
