"""A Route's private key is looked at once, and is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster.key_removal import route_without_key
from scanner.cluster.lint_input import read_manifests
from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import ROUTE
from tests.certs import Authority

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
WEB, OTHER = ROOT.leaf(names=("web.example",)), ROOT.leaf(names=("other.example",))
CERTIFICATE, KEY = WEB.pem.decode(), WEB.key_pem.decode()


def route(**tls: object) -> dict[str, Any]:
    return {
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"host": "web.example", "tls": {"termination": "edge", **tls}},
    }


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        ({"certificate": CERTIFICATE, "key": KEY}, True),
        ({"certificate": CERTIFICATE, "key": OTHER.key_pem.decode()}, False),
        ({"certificate": CERTIFICATE}, "there is no tls.key"),
        ({"certificate": CERTIFICATE + KEY}, True),
        ({"certificate": KEY + CERTIFICATE}, True),
        ({"certificate": "none", "key": KEY}, "tls.crt does not begin with a PEM certificate"),
        ({"certificate": CERTIFICATE, "key": "none"}, "tls.key is no private key in PEM"),
        ({"certificate": CERTIFICATE, "key": "x" * (1 << 21)}, "certificate or key is longer than 1 MiB"),
    ],
)
def test_whether_the_key_is_the_certificates(tls: dict[str, object], said: object) -> None:
    found = route_without_key(route(**tls))
    assert found["adhere"] == {"keyMatches": said}
    assert "PRIVATE KEY---" not in json.dumps(found)
    assert route_without_key(found)["adhere"] == {"keyMatches": said}


def test_nothing_is_said_of_a_route_without_certificates() -> None:
    assert route_without_key(route()) == route()
    assert route_without_key({"spec": 3}) == {"spec": 3}


def test_it_is_so_in_a_snapshot_and_of_a_manifest(tmp_path: Path) -> None:
    raw = route(certificate=CERTIFICATE, key=KEY)
    (tmp_path / "route.json").write_text(json.dumps(raw))
    (given,) = read_manifests([str(tmp_path)], [ROUTE]).objects
    of_cluster = kept(ROUTE, raw, Pruner())
    assert of_cluster is not None
    for found in (given.object, of_cluster):
        assert found.at("adhere", "keyMatches") is True
        assert found.text("spec", "tls", "key") == "[private key removed]"
