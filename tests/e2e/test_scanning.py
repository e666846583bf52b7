"""The listeners of a real etcd and a real API server: asked by name, and found through the API of their own cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scanner.assessment import Viewpoint
from scanner.cli import inputs, scan_cluster
from scanner.cli.shared_options import ClusterAsked
from scanner.kube.tls_profile import Profile
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace
from tests.cli.calling import Call, called
from tests.e2e.control_plane import INTERMEDIATE, SNI_NAME, ControlPlane
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import Writer

GO_EXTRA = {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"}
"""What Go's crypto/tls takes beside Intermediate when nobody tells it otherwise, with an ECDSA key."""


def only(document: dict[str, Any], endpoint: str) -> dict[str, Any]:
    (found,) = (each for each in document["endpoints"] if each["id"] == endpoint)
    return found  # type: ignore[no-any-return]


def suites(endpoint: dict[str, Any], version: str = "TLSv1.2") -> set[str]:
    return set(endpoint["observed"]["versions"][version]["suites"])


def broken_rules(endpoint: dict[str, Any]) -> set[str]:
    return {each["rule"] for each in endpoint["findings"] if each["verdict"] == "fail"}


def asked(*targets: str, ca: Path) -> dict[str, Any]:
    """The report of ``adhere scan TARGET...``."""
    return called("scan", *targets, "--profile", "intermediate", "--ca", ca, "--format", "json").document


def test_etcd_is_judged_although_it_wants_a_client_certificate(plane: ControlPlane) -> None:
    target = f"tls://{plane.etcd.authority}"
    document = called(
        "scan", target, "--profile", "intermediate", "--ca", plane.directory / "etcd-ca.pem", "--format", "json"
    ).document
    etcd = only(document, target)
    assert (etcd["reach"], etcd["verdict"]) == ("client-certificate-required", "fail")
    assert broken_rules(etcd) == {"tls-cipher-suite"}
    ecdsa = {each for each in INTERMEDIATE if "_ECDSA_" in each}
    assert suites(etcd) == ecdsa | GO_EXTRA
    assert suites(etcd, "TLSv1.1") == set()


def test_the_api_server_does_what_its_flags_say(plane: ControlPlane) -> None:
    """It has an RSA certificate, and an ECDSA one for a name, which Go also shows to who sends no name at all."""
    plain, named = f"tls://{plane.api.authority}", f"tls://{plane.api.authority}#{SNI_NAME}"
    document = called(
        "scan", plain, named, "--profile", "intermediate", "--ca", plane.ca_file, "--format", "json"
    ).document
    assert [each["verdict"] for each in document["endpoints"]] == ["pass", "pass"]
    assert suites(only(document, plain)) == set(INTERMEDIATE)
    assert suites(only(document, named)) == {each for each in INTERMEDIATE if "_ECDSA_" in each}


@pytest.fixture
def scan_cluster_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """``adhere scan --cluster``, which here may dial loopback addresses: nowhere but in tests is that allowed."""

    def on_loopback(asked: ClusterAsked, policy: ScanPolicy, default: Profile | None) -> Viewpoint:
        return replace(inputs.viewpoint(asked, policy, default), loopback=True)

    monkeypatch.setattr(scan_cluster, "viewpoint", on_loopback)
    return Call(capsys)


def test_a_cluster_is_found_judged_and_reported(cluster: ControlPlane, scan_cluster_here: Call, tmp_path: Path) -> None:
    """``adhere scan --cluster --kubeconfig``: the same two listeners, with what the APIServer object asks of them."""
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": cluster.tokens["admin"]})
    # Set anew, because on a slow machine the tests before take longer than the 15 minutes of a rollout.
    for type_ in ("Old", "Intermediate"):
        merged = {"spec": {"tlsSecurityProfile": {"type": type_}}}
        path, kind = "/apis/config.openshift.io/v1/apiservers/cluster", {"Content-Type": "application/merge-patch+json"}
        assert cluster.admin.patch(path, content=json.dumps(merged), headers=kind).status_code == 200
    ended = scan_cluster_here("scan", "--cluster", "--kubeconfig", kubeconfig, "--format", "json")
    assert ended.code == 1, ended.err
    document = ended.document
    etcd = only(document, "StaticPod/openshift-etcd/etcd:2379")
    api = only(document, "StaticPod/openshift-kube-apiserver/kube-apiserver:6443#kubernetes.default.svc")
    # A deviation within 15 minutes of a change of the profile is inconclusive.
    assert (etcd["component"], etcd["reach"]) == ("etcd", "client-certificate-required")
    assert (etcd["verdict"], etcd["status"]) == ("inconclusive", "converging")
    assert (api["component"], api["reach"], api["verdict"]) == ("kube-apiserver", "tls", "pass")
    assert suites(etcd) & GO_EXTRA == GO_EXTRA
    for each in (etcd, api):
        assert each["binding"] == "settling"
        assert each["expected"]["profile"] == "openshift/4.22/intermediate"
        because = " ".join(each["expected"]["because"])
        assert "APIServer/cluster" in because
        assert "StrictAllComponents" in because


def test_without_leave_no_loopback_address_is_dialled(cluster: ControlPlane, tmp_path: Path) -> None:
    """An object that names a loopback address would have the scanner attack its own machine."""
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": cluster.tokens["admin"]})
    ended = called("scan", "--cluster", "--kubeconfig", kubeconfig, "--allow-external", "--format", "json")
    assert ended.code == 3, ended.err
    etcd = only(ended.document, "StaticPod/openshift-etcd/etcd:2379")
    assert (etcd["reach"], etcd["verdict"]) == ("unreachable", "inconclusive")
    assert "loopback" in etcd["detail"]


def test_a_saved_cluster_has_no_key_and_reads_as_the_cluster_did(cluster: ControlPlane, tmp_path: Path) -> None:
    """The Route holds a private key in its spec, and the API server gives it to whoever may read Routes."""
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": cluster.tokens["admin"]})
    key = "-----BEGIN PRIVATE KEY-----"
    route = cluster.admin.get("/apis/route.openshift.io/v1/namespaces/shop/routes/shop").json()
    assert key in route["spec"]["tls"]["key"]
    saved = tmp_path / "saved"
    ended = called("snapshot", "save", saved, "--kubeconfig", kubeconfig)
    assert ended.code == 0, ended.err
    text = "".join(path.read_text() for path in saved.rglob("*") if path.is_file())
    assert "shop.apps.e2e.example" in text
    assert "PRIVATE KEY" not in text
    assert cluster.tokens["admin"] not in text
    replayed = called("scan", "--snapshot", saved, "--format", "json").document
    live = called("scan", "--cluster", "--kubeconfig", kubeconfig, "--format", "json").document
    assert [each["id"] for each in replayed["endpoints"]] == [each["id"] for each in live["endpoints"]]
    expected = {each["id"]: each["expected"] for each in live["endpoints"]}
    assert {each["id"]: each["expected"] for each in replayed["endpoints"]} == expected


def test_a_scan_with_the_roles_of_adhere_rbac_misses_nothing_and_touches_no_secret(
    cluster: ControlPlane, writer: Writer, scan_cluster_here: Call, tmp_path: Path
) -> None:
    """What the API server recorded of the whole command under ``--no-secrets``."""
    token = role_of(cluster, writer).token().value
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": token})
    before = len(cluster.audited())
    ended = scan_cluster_here("scan", "--cluster", "--no-secrets", "--kubeconfig", kubeconfig, "--format", "json")
    assert ended.code == 1, ended.err
    unreadable = ended.document["coverage"]["discovery"]["unreadable"]
    assert [each for each in unreadable if "secrets" not in str(each)] == []
    asked = cluster.audited()[before:]
    assert {each["verb"] for each in asked} == {"get", "list"}
    assert {each["responseStatus"]["code"] for each in asked} <= {200, 404}  # type: ignore[index]
    assert [each["requestURI"] for each in asked if "secrets" in str(each["requestURI"])] == []


@pytest.mark.parametrize("option", ["secrets", "secrets,secrets-list"])
def test_a_scan_with_the_secrets_roles_reads_certificates_and_keeps_no_key(
    cluster: ControlPlane, writer: Writer, tmp_path: Path, option: str
) -> None:
    """By name with the first role, by type too with the second; and nothing of that is more than the roles allow."""
    token = role_of(cluster, writer, "--with", option).token().value
    kubeconfig, saved = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": token}), tmp_path / "saved"
    before = len(cluster.audited())
    arguments = ("--cluster", "--secrets", "--allow-loopback", "--kubeconfig", kubeconfig, "--save", saved)
    ended = called("scan", *arguments, "--format", "json")
    asked = cluster.audited()[before:]
    assert {each["verb"] for each in asked} == {"get", "list"}
    on_secrets = [each for each in asked if "/secrets" in str(each["requestURI"])]
    codes = {(each["verb"], each["responseStatus"]["code"]) for each in on_secrets}  # type: ignore[index]
    listing = 200 if "list" in option else 403
    assert ("list", listing) in codes
    assert codes <= {("list", listing), ("get", 200), ("get", 404)}
    refused = [each for each in asked if each["responseStatus"]["code"] == 403]  # type: ignore[index]
    assert all(each in on_secrets for each in refused)
    gaps = ended.document["coverage"]["discovery"]["unreadable"]
    assert [each["remedy"] for each in gaps] == (
        [] if listing == 200 else ["use --secrets, and grant the role that adhere rbac --with secrets-list prints"]
    )
    text = "".join(path.read_text() for path in saved.rglob("*") if path.is_file())
    assert '"name": "web-tls"' in text
    assert "PRIVATE KEY" not in text
    assert "tls.key" not in text


def test_the_certificates_of_the_cluster_are_listed_and_judged_with_the_same_roles(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    """Nothing is dialled, nothing but the list of Secrets is refused, and the Ingress's certificate is its user's."""
    token = role_of(cluster, writer, "--with", "secrets").token().value
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig", {"token": token})
    before = len(cluster.audited())
    ended = called("certs", "--cluster", "--secrets", "--kubeconfig", kubeconfig, "--format", "json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    (web,) = [each for each in document["certificates"] if each["where"] == "Secret/shop/web-tls data[tls.crt]"]
    assert (web["key_matches"], web["governed"]) == (True, False)
    assert web["why"].endswith("Ingress/shop/web spec.tls[0].secretName")
    assert document["judged_by"].startswith("PKI/cluster: defaults")
    asked = cluster.audited()[before:]
    refused = [each["requestURI"] for each in asked if each["responseStatus"]["code"] == 403]  # type: ignore[index]
    assert len(refused) == 1
    assert str(refused[0]).startswith("/api/v1/secrets?")
    assert "PRIVATE" not in ended.out
