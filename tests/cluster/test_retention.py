"""Reading any object never fails, is idempotent, and keeps no key."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cluster.decoding import decoded
from scanner.cluster.retention import LAST_APPLIED, Pruner
from scanner.cluster.snapshot_objects import config_map, kept
from scanner.files import yaml_values
from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP, GATEWAY, KINDS, PKI, ROUTE, Kind
from scanner.kube.objects import KubeObject
from scanner.model.pem import Parser
from tests.certs import Authority
from tests.cluster.odd_values import JSON, OBJECTS

pytestmark = pytest.mark.crypto


@given(st.sampled_from(KINDS), OBJECTS)
def test_any_object_is_kept_the_same_way_twice_and_without_keys(kind: Kind, raw: dict[str, object]) -> None:
    pruner = Pruner()
    once = kept(kind, raw, pruner, "v1")
    assert isinstance(once, KubeObject)
    written = json.dumps(once.raw)
    written.encode("ascii")
    assert "KEYMATERIAL" not in written
    assert b64encode(b"-----BEGIN EC PRIVATE KEY")[:24].decode() not in written
    twice = kept(kind, json.loads(written), pruner, "v1")
    assert twice is not None
    assert twice.raw == once.raw


@given(st.sampled_from(KINDS), JSON)
def test_whatever_is_no_object_is_left_out_or_kept(kind: Kind, raw: object) -> None:
    found = kept(kind, raw, Pruner())
    assert found is None or found.name


@given(JSON)
def test_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    data = json.dumps(value).encode()
    assert decoded(data) == json.loads(data)


def test_of_a_pki_object_it_is_kept_who_changed_the_spec_and_when() -> None:
    fields: dict[str, object] = {"f:spec": {"f:defaults": {}}, "f:metadata": {"f:labels": {}}, "f:status": {}}
    entry = {"manager": "kubectl", "operation": "Update", "time": "2026-03-01T00:00:00Z", "fieldsV1": fields}
    raw = {"metadata": {"name": "cluster", "managedFields": [{**entry, "apiVersion": "v1"}]}, "spec": {"defaults": {}}}
    found = kept(PKI, raw, Pruner())
    assert found is not None
    assert found.at("metadata", "managedFields") == [
        {**entry, "fieldsV1": {"f:spec": {"f:defaults": {}}, "f:metadata": {"f:labels": {}}}}
    ]
    assert found.at("spec") == {"defaults": {}}


@pytest.mark.parametrize(("kind", "is_kept"), [(GATEWAY, True), (BACKEND_TLS_POLICY, True), (ROUTE, False)])
def test_of_gateways_it_is_kept_what_was_applied(kind: Kind, is_kept: bool) -> None:
    raw = {"metadata": {"name": "a", "managedFields": [], "annotations": {LAST_APPLIED: "{}"}}}
    found = kept(kind, raw, Pruner())
    assert found is not None
    assert bool(found.annotations) == is_kept
    assert not found.has("metadata", "managedFields")


def test_certificates_of_an_install_config_are_found_in_what_is_kept_of_it() -> None:
    pem = Authority("Corporate CA").pem.decode()
    block = "".join(f"  {line}\n" for line in pem.splitlines())
    text = f"additionalTrustBundle: |\n{block}fips: true\nnetworking: {{serviceNetwork: [10.0.0.0/8]}}\npullSecret: x\n"
    raw = {"metadata": {"name": "cluster-config-v1", "namespace": "kube-system"}, "data": {"install-config": text}}
    once = config_map(KubeObject(raw, CONFIG_MAP))
    less = once.text("data", "install-config")
    assert yaml_values.load(less.encode(), "").value == {
        "additionalTrustBundle": pem,
        "fips": True,
        "networking": {"serviceNetwork": ["10.0.0.0/8"]},
    }
    assert [each.subject for each in Parser().of_text(less, 10)] == ["CN=Corporate CA"]
    assert config_map(once) == once
