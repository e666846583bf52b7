"""Content in the wrong field of a Secret; a second reading has the same result."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest

from scanner.cluster.key_removal import APPLIED
from scanner.cluster.retention import LAST_APPLIED, Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from tests.certs import Authority

pytestmark = pytest.mark.crypto

LEAF = Authority("Root").leaf(names=("a.example",))
PEM, KEY = LEAF.pem, LEAF.key_pem


def read(data: Mapping[str, object], annotation: str | None = None) -> KubeObject:
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop"}
    if annotation is not None:
        metadata["annotations"] = {LAST_APPLIED: annotation}
    found = kept(SECRET, {"metadata": metadata, "data": dict(data)}, Pruner())
    assert found is not None
    return found


def coded(content: bytes) -> str:
    return b64encode(content).decode()


PAIR = {"tls.crt": coded(PEM), "tls.key": coded(KEY)}


@pytest.mark.parametrize(
    ("found", "forms", "exposed"),
    [
        (read(PAIR), {}, ()),
        (read({"tls.crt": coded(KEY)}), {"tls.crt": "a private key"}, ("tls.crt",)),
        (read({"tls.crt": coded(PEM + KEY)}), {}, ("tls.crt",)),
        (read({"tls.crt": coded(PEM), "ca.crt": coded(PEM + KEY)}), {}, ("ca.crt",)),
        (read({"tls.crt": coded(b"")}), {"tls.crt": "empty"}, ()),
        (read({"tls.crt": "%", "tls.key": "%"}), {"tls.crt": "not base64", "tls.key": "not base64"}, ()),
        (read(PAIR, json.dumps({"data": PAIR})), {}, (APPLIED,)),
        (read(PAIR, json.dumps({"data": {"tls.crt": coded(PEM)}})), {}, ()),
    ],
)
def test_what_is_said(found: KubeObject, forms: dict[str, str], exposed: tuple[str, ...]) -> None:
    assert found.words("adhere", "forms") == forms
    assert found.texts("adhere", "exposed") == exposed
    assert "PRIVATE" not in json.dumps(found.raw)
    again = kept(SECRET, dict(found.raw), Pruner())
    assert again == found


def test_whoever_writes_a_snapshot_says_nothing_else() -> None:
    said = {"forms": {"other": "x", "tls.crt": "y" * 1000, "ca.crt": 7}, "exposed": ["other", 7]}
    raw = {"metadata": {"name": "web", "namespace": "shop"}, "adhere": said}
    found = kept(SECRET, raw, Pruner())
    assert found is not None
    assert found.words("adhere", "forms") == {"tls.crt": "y" * 100}
    assert not found.has("adhere", "exposed")
