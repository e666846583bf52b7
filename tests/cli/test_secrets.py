"""``--secrets`` and ``--no-secrets``: what is asked for, what is judged of it, and what is said where nothing was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster import load
from scanner.kube.kinds import FEATURE_GATE, NAMESPACE, PKI, SECRET, SERVICE
from tests.certs import Authority
from tests.cli.calling import Call
from tests.cli.test_snapshot import kubeconfig
from tests.cluster.api import Answer, Api, Asked, named, refused, running
from tests.pki.inventories import GATE, PKI_OBJECT
from tests.pki.objects import coded
from tests.serving import serving

pytestmark = pytest.mark.crypto

SIGNER = Authority("openshift-etcd_etcd-signer@1")
"""ECDSA P-256, where the PKI object of these tests wants RSA 4096."""


def secrets() -> list[dict[str, object]]:
    key = SIGNER.leaf(names=("x",)).key_pem  # some key: that it is not the signer's is to be found out
    data = {"tls.crt": coded(SIGNER.pem), "tls.key": coded(key)}
    return [
        {**named("service-account-token", "shop"), "data": {"token": coded(b"hunter2")}},
        {**named("etcd-signer", "openshift-etcd"), "type": "kubernetes.io/tls", "data": data},
    ]


def may_not_list(asked: Asked) -> Answer | None:
    if asked.headers.get("authorization") == "Bearer sesame":
        return None
    if asked.path == "/api/v1/secrets":
        return refused(403, "Forbidden", "secrets is forbidden")
    refused_all = asked.headers.get("authorization") == "Bearer nothing" and "/secrets/" in asked.path
    return refused(403, "Forbidden", "secrets is forbidden") if refused_all else None


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api(script=may_not_list)
    made.add(NAMESPACE, {"metadata": {"name": "openshift-etcd"}})
    made.add(SERVICE)
    made.add(SECRET, *secrets())
    made.add(PKI, PKI_OBJECT, version="v1alpha1")
    made.add(FEATURE_GATE, GATE)

    def start() -> AbstractAsyncContextManager[Api]:
        return running(made)

    with serving(start) as listening:
        yield listening


@pytest.fixture
def asked(api: Api) -> Api:
    api.asked.clear()
    return api


def gap(document: dict[str, Any]) -> dict[str, Any]:
    """What is said of Secrets, in the coverage statement."""
    (found,) = [each for each in document["coverage"]["discovery"]["unreadable"] if each["resource"] == "secrets"]
    return dict(found)


def secret_paths(api: Api) -> list[str]:
    return [path for path in api.paths() if "secrets" in path]


@pytest.mark.parametrize("option", [(), ("--no-secrets",)])
def test_none_is_asked_for_unless_somebody_says_so(
    asked: Api, call: Call, tmp_path: Path, option: tuple[str, ...]
) -> None:
    answer = call("scan", "--kubeconfig", kubeconfig(tmp_path, asked), "--format", "json", *option)
    assert gap(answer.document)["gap"] == "not-asked"
    assert secret_paths(asked) == []
    assert [each for each in answer.document["findings"] if each["rule"] == "pki-key"] == []


def test_with_permission_what_is_stored_is_judged(asked: Api, call: Call, tmp_path: Path) -> None:
    answer = call("scan", "--kubeconfig", kubeconfig(tmp_path, asked), "--secrets", "--format", "json")
    (finding,) = [each for each in answer.document["findings"] if each["rule"] == "pki-key"]
    assert "Secret/openshift-etcd/etcd-signer data[tls.crt]" in finding["about"]
    assert finding["message"].startswith("etcd-signer (signer): its key is ECDSA P256")
    (pair,) = [each for each in answer.document["findings"] if each["rule"] == "pki-key-pair"]
    assert pair["about"] == "Secret/openshift-etcd/etcd-signer"
    assert "secrets" not in json.dumps(answer.document["coverage"]["discovery"]["unreadable"])
    assert "hunter2" not in answer.out
    assert "/api/v1/namespaces/openshift-etcd/secrets/etcd-metric-signer" in secret_paths(asked)


def test_what_may_not_be_listed_is_read_by_name_and_said(asked: Api, call: Call, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, asked, token="by-name")
    answer = call("scan", "--kubeconfig", config, "--secrets", "--format", "json")
    assert [each["rule"] for each in answer.document["findings"]].count("pki-key") == 1
    told = gap(answer.document)
    assert told["gap"] == "not-asked"
    assert told["remedy"] == "use --secrets, and grant the role that adhere rbac --with secrets-list prints"


def test_what_is_forbidden_makes_the_scan_incomplete(asked: Api, call: Call, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, asked, token="nothing")
    answer = call("scan", "--kubeconfig", config, "--secrets", "--format", "json")
    assert gap(answer.document)["gap"] == "forbidden"
    assert answer.document["coverage"]["complete"] is False
    assert [each for each in answer.document["findings"] if each["rule"] == "pki-key"] == []


def test_a_snapshot_has_them_without_keys_and_is_judged_alike(asked: Api, call: Call, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    answer = call("snapshot", "save", saved, "--kubeconfig", kubeconfig(tmp_path, asked), "--secrets")
    assert answer.code == 0
    (secret,) = load(saved, [SECRET]).every(SECRET)
    assert secret.name == "etcd-signer"
    assert secret.at("adhere", "keyMatches") is False
    text = "".join(path.read_text() for path in saved.rglob("*") if path.is_file())
    assert "tls.key" not in text
    replayed = call("scan", "--snapshot", saved, "--format", "json").document
    assert [each["rule"] for each in replayed["findings"]].count("pki-key") == 1
    without = call("scan", "--snapshot", saved, "--no-secrets", "--format", "json").document
    assert [each for each in without["findings"] if each["rule"] == "pki-key"] == []
    assert gap(without)["reason"] == "Secrets are not read (--no-secrets)"


def test_a_snapshot_that_was_taken_without_lacks_them_for_who_wants_them(
    asked: Api, call: Call, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    assert call("snapshot", "save", saved, "--kubeconfig", kubeconfig(tmp_path, asked)).code == 0
    assert gap(call("scan", "--snapshot", saved, "--format", "json").document)["gap"] == "not-asked"
    wanted = call("scan", "--snapshot", saved, "--secrets", "--format", "json")
    told = gap(wanted.document)
    assert (told["gap"], told["reason"]) == ("not-saved", "the snapshot was taken without --secrets")
    assert wanted.document["coverage"]["complete"] is False


def test_manifests_without_secrets_lack_none_unless_they_are_wanted(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "pki.json"
    path.write_text(json.dumps(PKI_OBJECT))
    gaps = [
        gap(call("scan", "--snapshot", tmp_path, *option, "--format", "json").document)["gap"]
        for option in ((), ("--secrets",), ("--no-secrets",))
    ]
    assert gaps == ["not-asked", "not-saved", "not-asked"]
