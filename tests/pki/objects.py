"""Small clusters for the PKI stage, written as YAML or as Python values."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from scanner.kube.kinds import INGRESS, INGRESS_CONFIG, KINDS, NAMESPACE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.pki import certificate_sources
from scanner.pki.secret_references import TO_SECRETS
from tests.yaml_documents import documents

_KIND = {**{each.name: each for each in KINDS}, "Ingress": INGRESS}


def snapshot(text: str = "", *others: dict[str, Any], without_namespaces: bool = False) -> Snapshot:
    """The objects of a YAML text of several documents, and others."""
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in (*certificate_sources.READS, *TO_SECRETS)}
    for raw in (*documents(text), *others):
        kind = INGRESS_CONFIG if raw.get("apiVersion") == "config.openshift.io/v1" else _KIND[raw["kind"]]
        objects[kind].append(KubeObject(raw, kind))
    gap = Unreadable(kind=NAMESPACE, gap="forbidden", reason="403 Forbidden")
    return Snapshot(
        taken_at=datetime(2026, 11, 21, tzinfo=UTC),
        origin=Origin(name="test"),
        objects={kind: tuple(found) for kind, found in objects.items()},
        unreadable={NAMESPACE: gap} if without_namespaces else {},
    )


def coded(*pems: bytes) -> str:
    """As fields of type ``[]byte`` are written."""
    return base64.b64encode(b"".join(pems)).decode()


def secret(
    namespace: str,
    name: str,
    certificates: Iterable[bytes],
    *,
    annotations: dict[str, str] | None = None,
    data: dict[str, str] | None = None,
    key_matches: object = None,
) -> dict[str, Any]:
    """A Secret as it is kept: without its key."""
    return {
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "data": {"tls.crt": coded(*certificates), **(data or {})},
        "adhere": {"keyMatches": key_matches},
    }
