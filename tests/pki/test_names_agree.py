"""What several parts know of the well-known certificates is the same."""

from __future__ import annotations

from scanner.config.certificate_names import load_names
from scanner.kube.kinds import CONFIG_MAP
from scanner.model.well_known import Index, fits
from scanner.pki import config_schemas


def test_overrides_may_name_what_is_known() -> None:
    names = load_names()
    assert names.overridable == tuple(config_schemas.WELL_KNOWN)
    assert {each.name: each.category for each in names.all if each.overridable} == dict(config_schemas.WELL_KNOWN)


def test_every_bundle_that_tells_a_name_and_has_one_itself_is_read() -> None:
    named = {f"{namespace}/{name}" for namespace, name in CONFIG_MAP.named}
    told = {path for each in load_names().all for path in each.recognition.config_maps if "*" not in path}
    assert told - named == set()


def test_an_index_finds_what_the_patterns_mean() -> None:
    names = load_names().all
    pairs = [(each, each.recognition.secrets) for each in names]
    for path in (
        "openshift-etcd/etcd-serving-metrics-a",
        "openshift-etcd/etcd-signer",
        "clusters-x/y",
        "shop/etcd-signer",
    ):
        found = {each.name for _, each in Index(pairs).find(path)}
        assert found == {each.name for each, patterns in pairs if fits(path, patterns)}
