"""``adhere certs`` judging: by a cluster's PKI object, by a file's, by an install-config, by the policy's minimums."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import yaml

from scanner.kube.kinds import FEATURE_GATE, NAMESPACE, PKI, SECRET
from tests.certs import Authority
from tests.cli.calling import POLICY, Call, Called, assert_refused, valid
from tests.cli.test_snapshot import kubeconfig
from tests.cluster.api import Answer, Api, Asked, named, refused, running
from tests.pki.inventories import GATE, PKI_OBJECT
from tests.pki.objects import coded
from tests.serving import serving

pytestmark = pytest.mark.crypto

SIGNER = Authority("openshift-service-serving-signer@1")
"""ECDSA P-256, of an operator that follows the configuration."""


def pki(size: int, since: str | None = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    metadata = {"name": "cluster"} | ({"creationTimestamp": since} if since else {})
    spec = {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}}
    return {"apiVersion": "config.openshift.io/v1", "kind": "PKI", "metadata": metadata, "spec": spec}


def file(directory: Path, name: str, content: object) -> Path:
    path = directory / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.fixture
def signer(tmp_path: Path) -> Path:
    path = tmp_path / "signer.pem"
    path.write_bytes(SIGNER.pem)
    return path


def only(answer: Called) -> dict[str, Any]:
    (found,) = valid(answer.out, "certs-v1")["certificates"]
    return dict(found)


def test_files_alone_are_recognised_and_nothing_is_required_of_them(call: Call, signer: Path) -> None:
    answer = call("certs", signer, "--format", "json")
    found = only(answer)
    assert (answer.code, found["certificate_names"], found["component"]) == (0, ["service-ca"], "service-ca-operator")
    assert (found["verdict"], found["status"]) == ("not_applicable", "not-required")
    assert "neither a cluster nor a file sets requirements" in json.loads(answer.out)["judged_by"]
    assert call("certs", signer).out.splitlines()[1].split()[-2:] == ["not-required", "service-ca"]


def test_what_cannot_be_read_is_null_in_a_valid_document(call: Call, tmp_path: Path) -> None:
    (tmp_path / "odd.der").write_bytes(SIGNER.der.replace(b"\x06\x03\x55\x1d\x13", b"\x06\x03\x55\x1d\xff"))
    (tmp_path / "no.der").write_bytes(b"\x30\x03\x30\x01\x00")
    answer = call("certs", tmp_path, "--format", "json")
    document = valid(answer.out, "certs-v1")
    assert answer.code == 3
    assert document["problems"]
    assert {each["where"] for each in document["certificates"]} >= {str(tmp_path / "odd.der")}


@pytest.mark.parametrize(
    ("since", "options", "code", "status"),
    [
        ("2020-01-01T00:00:00Z", (), 1, "violation"),
        ("2020-01-01T00:00:00Z", ("--fail-on", "high"), 0, "violation"),
        ("2020-01-01T00:00:00Z", ("--fail-on", "never"), 0, "violation"),
        ("2999-01-01T00:00:00Z", (), 0, "pending-rotation"),
        (None, (), 1, "violation"),  # without a date it counts from the beginning
    ],
)
def test_a_pki_object_in_a_file_judges(
    call: Call, signer: Path, tmp_path: Path, since: str | None, options: tuple[str, ...], code: int, status: str
) -> None:
    configured = file(tmp_path, "pki.yaml", pki(4096, since))
    answer = call("certs", signer, "--pki", configured, "--format", "json", *options)
    assert (answer.code, only(answer)["status"]) == (code, status)
    findings = [each for each in json.loads(answer.out)["findings"] if each["rule"] == "pki-key"]
    assert [each["expected"] for each in findings] == [["RSA 4096"]]


def test_the_text_ends_with_what_is_wrong_and_how_to_mend_it(call: Call, signer: Path, tmp_path: Path) -> None:
    configured = file(tmp_path, "pki.yaml", pki(4096, "2020-01-01T00:00:00Z"))
    answer = call("certs", signer, "--pki", configured)
    assert answer.code == 1
    assert f"judged by   {configured}: defaults RSA 4096" in answer.out
    assert "pki-key: service-ca (signer): its key is ECDSA P256, and RSA 4096 is required" in answer.out
    assert "if Secret openshift-service-ca/signing-key still has this certificate, delete it" in answer.out
    assert answer.out.splitlines()[-1] == "exit 1: 1 finding at or above medium on 1 place (pki-key 1)"


def test_the_text_has_the_gravest_findings_and_counts_the_rest(
    call: Call, signer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanner.cli.commands.certs._MOST", 1)
    other = tmp_path / "other.pem"
    other.write_bytes(Authority("openshift-service-serving-signer@2").pem)
    answer = call("certs", signer, other, "--pki", file(tmp_path, "pki.yaml", pki(4096, "2020-01-01T00:00:00Z")))
    assert answer.out.count("pki-key: ") == 1
    assert answer.out.splitlines()[-3].endswith("more (--format json has all)")


def test_a_pki_object_that_the_api_would_not_take_is_refused_with_its_place(
    call: Call, signer: Path, tmp_path: Path
) -> None:
    assert_refused(
        call("certs", signer, "--pki", file(tmp_path, "pki.yaml", pki(2049))), "pki.yaml:", "Unsupported value: 2049"
    )


def test_microshifts_file_judges_as_it_stands(call: Call, signer: Path, tmp_path: Path) -> None:
    key = {"algorithm": "RSA", "rsa": {"keySize": 4096}}
    configured = file(tmp_path, "config.yaml", {"dns": {"baseDomain": "x"}, "pki": {"defaults": {"key": key}}})
    answer = call("certs", signer, "--pki", configured, "--format", "json")
    assert (answer.code, only(answer)["status"]) == (1, "violation")
    (finding,) = [each for each in json.loads(answer.out)["findings"] if each["rule"] == "pki-key"]
    assert "config.yaml has no date, so it counts as in force from the beginning" in finding["message"]
    assert "RSA 4096" in json.loads(answer.out)["judged_by"]


# --- install-config ---------------------------------------------------------------------------------------------------

DAY_ONE: dict[str, Any] = {
    "apiVersion": "v1",
    "baseDomain": "example.com",
    "featureSet": "TechPreviewNoUpgrade",
    "pki": {"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": 3072}}}},
}


def test_an_install_config_judges_signers_whoever_owns_them_later(call: Call, tmp_path: Path) -> None:
    """And nothing else: the installer's other certificates are of its own choice."""
    (tmp_path / "tls").mkdir()
    signer = Authority("etcd-signer", key="rsa2048")
    (tmp_path / "tls" / "etcd-signer.crt").write_bytes(signer.pem)
    client = signer.leaf(names=("etcd",), common_name="etcd-client", eku=("clientAuth",), key="rsa2048")
    (tmp_path / "tls" / "etcd-client.crt").write_bytes(client.pem)
    day_one = file(tmp_path, "install-config.yaml", DAY_ONE)
    answer = call("certs", tmp_path / "tls", "--install-config", day_one, "--format", "json")
    found = {each["subject"]: each["status"] for each in json.loads(answer.out)["certificates"]}
    assert (answer.code, answer.err) == (1, "")
    assert found == {"CN=etcd-signer": "violation", "CN=etcd-client": "ok"}


def test_an_install_config_that_is_kept_to(call: Call, tmp_path: Path) -> None:
    (tmp_path / "etcd-signer.crt").write_bytes(Authority("etcd-signer", key="rsa3072").pem)
    day_one = file(tmp_path, "install-config.yaml", DAY_ONE)
    answer = call("certs", tmp_path / "etcd-signer.crt", "--install-config", day_one, "--format", "json")
    assert (answer.code, only(answer)["verdict"], only(answer)["status"]) == (0, "pass", "ok")


def test_an_install_config_is_refused_as_the_installer_refuses_it(call: Call, signer: Path, tmp_path: Path) -> None:
    wrong = {**DAY_ONE, "pki": {"signerCertificates": {"key": {"algorithm": "RSA", "ecdsa": {"curve": "P256"}}}}}
    assert_refused(
        call("certs", signer, "--install-config", file(tmp_path, "install-config.yaml", wrong)),
        "ecdsa must not be set when algorithm is RSA",
        "rsa must be specified when algorithm is RSA",
    )


def test_an_install_config_alone_is_checked(call: Call, tmp_path: Path) -> None:
    good = call("certs", "--install-config", file(tmp_path, "install-config.yaml", DAY_ONE))
    assert (good.code, good.out) == (0, "exit 0: no finding at or above medium\n")
    assert "signer RSA 3072: the installer accepts it" in good.err
    gated = {name: value for name, value in DAY_ONE.items() if name != "featureSet"}
    path = file(tmp_path, "install-config.yaml", {**gated, "pki": {**DAY_ONE["pki"], "servingCertificates": {}}})
    answer = call("certs", "--install-config", path, "--format", "json")
    told = {each["message"]: each["severity"] for each in valid(answer.out, "certs-v1")["findings"]}
    assert (answer.code, list(told.values())) == (1, ["medium", "low"])
    assert "with a featureSet only" in str(told)
    assert "unknown field pki.servingCertificates" in str(told)
    wrong = {**DAY_ONE, "pki": {"signerCertificates": {"key": {"algorithm": "DSA"}}}}
    refused = call("certs", "--install-config", file(tmp_path, "install-config.yaml", wrong))
    assert refused.code == 1
    assert 'Unsupported value: "DSA"' in refused.out


def test_an_install_config_without_its_feature_set_is_remarked_on(call: Call, signer: Path, tmp_path: Path) -> None:
    gated = {name: value for name, value in DAY_ONE.items() if name != "featureSet"}
    answer = call("certs", signer, "--install-config", file(tmp_path, "install-config.yaml", gated))
    assert "the installer takes pki with a featureSet only" in answer.err


# --- clusters ---------------------------------------------------------------------------------------------------------


def config_map(namespace: str, name: str, pem: bytes) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca-bundle.crt": pem.decode()}}


def kept(directory: Path, *objects: dict[str, Any]) -> Path:
    """A directory of manifests."""
    place = directory / "cluster"
    place.mkdir()
    for number, each in enumerate(objects):
        (place / f"{number}.yaml").write_text(yaml.safe_dump(each))
    return place


def statuses(answer: Called) -> dict[str, str]:
    """By where each certificate is."""
    return {each["where"].rpartition("/")[2]: each["status"] for each in valid(answer.out, "certs-v1")["certificates"]}


GATES = {"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", **GATE}
BUNDLE = config_map("openshift-service-ca", "signing-cabundle", SIGNER.pem)


def test_what_the_objects_of_a_cluster_hold_is_listed_and_judged(call: Call, tmp_path: Path) -> None:
    place = kept(tmp_path, GATES, BUNDLE, pki(4096))
    answer = call("certs", "--snapshot", place, "--format", "json")
    assert answer.code == 1
    assert statuses(answer) == {"signing-cabundle data[ca-bundle.crt]": "violation"}
    assert json.loads(answer.out)["judged_by"].startswith("PKI/cluster: defaults RSA 4096")


def test_files_beside_a_cluster_are_judged_by_its_object(call: Call, signer: Path, tmp_path: Path) -> None:
    place = kept(tmp_path, GATES, pki(4096))
    answer = call("certs", signer, "--snapshot", place, "--format", "json")
    assert statuses(answer) == {"signer.pem": "violation"}


def test_a_file_takes_the_place_of_the_clusters_object(call: Call, tmp_path: Path) -> None:
    place = kept(tmp_path, GATES, BUNDLE, pki(4096))
    p256 = {**pki(4096), "spec": {"defaults": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P256"}}}}}
    answer = call("certs", "--snapshot", place, "--pki", file(tmp_path, "pki.yaml", p256), "--format", "json")
    assert statuses(answer) == {"signing-cabundle data[ca-bundle.crt]": "ok"}


def test_an_install_config_beside_a_cluster_is_compared_with_it(call: Call, tmp_path: Path) -> None:
    place = kept(tmp_path, GATES, pki(2048))
    day_one = file(tmp_path, "install-config.yaml", DAY_ONE)
    answer = call("certs", "--snapshot", place, "--install-config", day_one, "--format", "json")
    (finding,) = [each for each in json.loads(answer.out)["findings"] if each["rule"] == "pki-install-config"]
    assert "asks for RSA 3072 keys of signers, and PKI/cluster for RSA 2048" in finding["message"]


@pytest.mark.parametrize(
    "marks",
    [
        {"apiVersion": "microshift/v1", "metadata": {"name": "cluster"}},
        {"apiVersion": "v1alpha1"},  # as the enhancement writes it
        {},
    ],
)
def test_microshifts_own_file_in_a_snapshot_governs(call: Call, tmp_path: Path, marks: dict[str, Any]) -> None:
    key = {"algorithm": "RSA", "rsa": {"keySize": 4096}}
    own = {**marks, "kind": "MicroShiftConfig", "pki": {"defaults": {"key": key}}}
    answer = call("certs", "--snapshot", kept(tmp_path, own, BUNDLE), "--format", "json")
    assert json.loads(answer.out)["judged_by"].startswith("/etc/microshift/config.yaml: defaults RSA 4096")
    assert statuses(answer) == {"signing-cabundle data[ca-bundle.crt]": "violation"}


def secret(namespace: str, name: str, *certificates: bytes) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"tls.crt": coded(*certificates)}}


def test_hosted_control_planes_and_guests_are_kept_apart(call: Call, tmp_path: Path) -> None:
    """In the guest's own snapshot the control plane's namespaces are judged by an object that is not there; those of
    its workers' operators by its own."""
    guest = {
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
        "status": {"controlPlaneTopology": "External"},
    }  # fmt: skip
    control = secret(
        "openshift-kube-apiserver-operator", "kube-control-plane-signer", Authority("kube-control-plane-signer").pem
    )
    own = secret("openshift-service-ca", "signing-key", SIGNER.pem)
    answer = call("certs", "--snapshot", kept(tmp_path, GATES, guest, pki(4096), control, own), "--format", "json")
    assert statuses(answer) == {
        "kube-control-plane-signer data[tls.crt]": "not-tested",
        "signing-key data[tls.crt]": "violation",
    }
    (finding,) = [each for each in json.loads(answer.out)["findings"] if each["verdict"] == "inconclusive"]
    assert "the management cluster's PKI governs it" in str(finding["message"])


def test_the_minimums_of_the_policy_judge_what_the_object_does_not_govern(call: Call, tmp_path: Path) -> None:
    place = kept(
        tmp_path,
        GATES,
        pki(2048),
        secret("shop", "web", Authority("Shop CA", key="rsa2048").leaf(names=("a.example",), key="rsa2048").pem),
    )
    policy = file(tmp_path, "policy.yaml", f"{POLICY}certificates: {{minRsaBits: 3072}}\n")
    loose = call("certs", "--snapshot", place, "--format", "json")
    strict = call("certs", "--snapshot", place, "--policy", policy, "--format", "json")
    assert (loose.code, strict.code) == (3, 1)  # manifests never hold everything
    assert loose.err.startswith("adhere: the snapshot has none or only some of these: ")
    (finding,) = [each for each in json.loads(strict.out)["findings"] if each["rule"] == "pki-minimum"]
    assert "Secret/shop/web" in finding["about"]


def forbidding(asked: Asked) -> Answer | None:
    return refused(403, "Forbidden", "pkis is forbidden") if asked.path.endswith("/pkis") and _locked else None


_locked: list[bool] = []


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api(script=forbidding)
    made.add(NAMESPACE, {"metadata": {"name": "openshift-service-ca"}})
    made.add(SECRET, {**named("signing-key", "openshift-service-ca"), "data": {"tls.crt": coded(SIGNER.pem)}})
    made.add(PKI, PKI_OBJECT, version="v1alpha1")
    made.add(FEATURE_GATE, GATE)

    def start() -> AbstractAsyncContextManager[Api]:
        return running(made)

    with serving(start) as listening:
        yield listening


def test_a_living_cluster_is_read_and_its_secrets_only_where_somebody_says_so(
    api: Api, call: Call, tmp_path: Path
) -> None:
    config, before = kubeconfig(tmp_path, api), len(api.asked)
    without = call("certs", "--kubeconfig", config, "--format", "json")
    assert (without.code, json.loads(without.out)["certificates"]) == (4, [])
    asked_for = [each.path for each in api.asked[before:]]
    assert asked_for
    assert not [each for each in asked_for if "secrets" in each]
    asked = call("certs", "--kubeconfig", config, "--secrets", "--format", "json")
    assert asked.code == 1
    assert statuses(asked) == {"signing-key data[tls.crt]": "violation"}


def test_what_may_not_be_read_is_incomplete_and_passes_nothing(
    api: Api, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_locked", [True])
    answer = call("certs", "--kubeconfig", kubeconfig(tmp_path, api), "--secrets", "--format", "json")
    assert answer.code == 3
    assert statuses(answer) == {"signing-key data[tls.crt]": "not-tested"}
    assert "pkis.config.openshift.io: forbidden" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "no path and no cluster"),
        (("a.pem", "--secrets"), "--secrets needs a cluster"),
        (("a.pem", "--previous", "x"), "--previous needs a cluster"),
        (("--cluster", "--snapshot", "x"), "--snapshot cannot be combined with --cluster or --context"),
        (("a.pem", "--pki", "/nonexistent"), "/nonexistent"),
        (("a.pem", "--install-config", "/nonexistent"), "/nonexistent"),
    ],
)
def test_a_mistake_is_told(call: Call, arguments: tuple[str, ...], complaint: str) -> None:
    assert_refused(call("certs", *arguments), complaint)
