"""``pki`` of an install-config, checked as the installer does it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.certificate_names import load_names
from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.finding import Finding
from scanner.model.pki_config import Key
from scanner.pki.config import pki_config
from scanner.pki.install_config import INSTALLATION, install_config, install_config_of_cluster
from scanner.pki.object_rules import Configuration
from scanner.pki.resolution import required
from tests.pki.pki_objects import pki, snapshot

RSA, ECDSA = ({"algorithm": "RSA", "rsa": {"keySize": 4096}}, {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}})
KEY = "pki.signerCertificates.key"


def written(pki: object, **more: object) -> bytes:
    return json.dumps({"baseDomain": "shop.example", "pki": pki, **more}, indent=1).encode()


def key(said: object) -> bytes:
    return written({"signerCertificates": {"key": said}})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (RSA, Key(algorithm="RSA", size=4096)),
        *(({"algorithm": "RSA", "rsa": {"keySize": n}}, Key(algorithm="RSA", size=n)) for n in (2048, 3072, 8192)),
        (ECDSA, Key(algorithm="ECDSA", curve="P384")),
        ({**ECDSA, "rsa": None}, Key(algorithm="ECDSA", curve="P384")),
    ],
)
def test_signers_are_configured_and_nothing_else(said: object, expected: Key) -> None:
    config = install_config(load(key(said), "install-config.yaml"))
    found = required(config, "signer", ("root-ca",))
    assert (found.key, found.exact) == (expected, True)
    assert (found.because[-1].source, found.because[-1].field) == ("install-config.yaml", KEY)
    assert required(config, "serving").fit(Key(algorithm="RSA", size=1024)) == "unrequired"


@pytest.mark.parametrize(
    ("pki", "path", "message"),
    [
        ({}, KEY, "Required value: signerCertificates.key is required when pki is specified"),
        ({"signerCertificates": {}}, KEY, "Required value: signerCertificates.key is required when pki is specified"),
        ({"signerCertificates": {"key": {"rsa": {"keySize": 4096}}}}, KEY, "Required value"),
        ({"signerCertificates": {"key": {"algorithm": "DSA"}}}, f"{KEY}.algorithm", 'Unsupported value: "DSA"'),
        (
            {"signerCertificates": {"key": {"algorithm": "RSA"}}},
            f"{KEY}.rsa",
            "Required value: rsa must be specified when algorithm is RSA",
        ),
        (
            {"signerCertificates": {"key": {**ECDSA, **RSA}}},
            f"{KEY}.ecdsa",
            "Forbidden: ecdsa must not be set when algorithm is RSA",
        ),
        (
            {"signerCertificates": {"key": {**RSA, **ECDSA}}},
            f"{KEY}.rsa",
            "Forbidden: rsa must not be set when algorithm is ECDSA",
        ),
        (
            {"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {}}}},
            f"{KEY}.rsa.keySize",
            "Invalid value: must be a multiple of 1024 from 2048 to 8192",
        ),
        *(
            (
                {"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}},
                f"{KEY}.rsa.keySize",
                "Invalid value: must be a multiple of 1024 from 2048 to 8192",
            )
            for size in (1024, 2500, 9216)
        ),
        (
            {"signerCertificates": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P-256"}}}},
            f"{KEY}.ecdsa.curve",
            "Invalid value: must be P256, P384, or P521",
        ),
        (
            {"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": "4096"}}}},
            f"{KEY}.rsa.keySize",
            "must be of type integer",
        ),
        ([], "pki", "must be of type object"),
    ],
)
def test_what_the_installer_would_not_take(pki: object, path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        install_config(load(written(pki), "install-config.yaml"))
    assert f": {path}: {message}" in caught.value.message
    assert all(line.startswith("install-config.yaml:") for line in caught.value.message.splitlines())


@pytest.mark.parametrize("pki", [None, "absent"])
def test_no_pki_is_the_installers_own_choice(pki: object) -> None:
    text = b"baseDomain: shop.example" if pki == "absent" else written(pki)
    config = install_config(load(text, "install-config.yaml"))
    assert config.reason == "empty"
    assert required(config, "signer").fit(Key(algorithm="RSA", size=2048)) == "unrequired"


def test_unknown_fields_and_the_feature_gate_are_remarks() -> None:
    pki = {"signerCertificates": {"key": RSA, "lifetime": "1y"}}
    config = install_config(load(written(pki), "install-config.yaml"))
    assert config.unknown_fields == ("pki.signerCertificates.lifetime",)
    assert "ConfigurablePKI" in config.remarks[0]
    gated = written(pki, featureSet="TechPreviewNoUpgrade")
    assert install_config(load(gated, "install-config.yaml")).remarks == ()


def test_no_install_config() -> None:
    with pytest.raises(InputError, match="no install-config"):
        install_config(load(b"[]", "install-config.yaml"))


# --- In the cluster ---------------------------------------------------------------------------------------------------


def cluster(text: str | None) -> Snapshot:
    metadata = {"name": "cluster-config-v1", "namespace": "kube-system"}
    raw = {"metadata": metadata, "data": {"install-config": text} if text is not None else {}}
    objects = {CONFIG_MAP: (KubeObject(raw, CONFIG_MAP),)}
    return Snapshot(taken_at=datetime(2026, 11, 21, tzinfo=UTC), origin=Origin(name="test"), objects=objects)


def test_the_clusters_own() -> None:
    config = install_config_of_cluster(cluster(key(ECDSA).decode()))
    assert config is not None
    assert config.source == "ConfigMap/kube-system/cluster-config-v1 data[install-config]"
    assert required(config, "signer").key == Key(algorithm="ECDSA", curve="P384")
    assert install_config_of_cluster(cluster(None)) is None


def test_the_clusters_own_is_read_leniently() -> None:
    config = install_config_of_cluster(cluster(key({"algorithm": "RSA"}).decode()))
    assert config is not None
    assert isinstance(config.categories["signer"].key, Unknown)
    assert required(config, "signer").unknown
    broken = install_config_of_cluster(cluster("pki: [\n"))
    assert broken is not None
    assert (broken.reason, required(broken, "signer").fit(Key(algorithm="RSA", size=8192))) == ("unreadable", "unknown")


@given(st.text(max_size=60) | st.binary(max_size=20).map(repr) | st.just("pki: {signerCertificates: {key: 1}}"))
def test_no_text_crashes(text: str) -> None:
    config = install_config_of_cluster(cluster(text))
    assert config is None or required(config, "signer").because


NAMES = load_names()
ASKED = "featureSet: TechPreviewNoUpgrade\npki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}\n"
SIGNERS = {"category": "SignerCertificate", "certificate": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}}


def kept(text: str) -> tuple[Kind, dict[str, Any]]:
    metadata = {"name": "cluster-config-v1", "namespace": "kube-system"}
    return kinds.CONFIG_MAP, {"metadata": metadata, "data": {"install-config": text}}


def judged(*objects: tuple[Kind, Any], given: str | None = None) -> list[Finding]:
    found = snapshot(*objects, gate="on")
    day_one = None if given is None else install_config(load(given.encode(), "install-config.yaml"))
    about = Configuration(config=pki_config(found), snapshot=found, names=NAMES, day_one=day_one)
    return list(INSTALLATION.check(INSTALLATION, about))


def test_the_same_signers_are_no_finding() -> None:
    assert judged(kept(ASKED), pki({"categories": [SIGNERS]})) == []
    assert judged(pki({"categories": [SIGNERS]}), given=ASKED) == []


@pytest.mark.parametrize("text", ["baseDomain: x\n", "platform: {}\n"])
def test_an_install_config_that_asks_for_nothing_is_no_finding(text: str) -> None:
    assert judged(kept(text), pki({"categories": [SIGNERS]})) == []
    assert judged(pki({"categories": [SIGNERS]})) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"defaults": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}}}, "and PKI/cluster for ECDSA P384"),
        ({"categories": [{**SIGNERS, "category": "ClientCertificate"}]}, "for nothing, which leaves RSA 2048"),
        ({}, "and PKI/cluster for nothing"),
    ],
)
def test_other_signers_are_a_finding_with_both(spec: dict[str, Any], said: str) -> None:
    (finding,) = judged(kept(ASKED), pki(spec))
    assert (finding.verdict, finding.severity) == ("fail", "low")
    assert finding.about == "ConfigMap/kube-system/cluster-config-v1 data[install-config]"
    assert "pki.signerCertificates.key asks for RSA 4096 keys of signers" in finding.message
    assert said in finding.message


def test_a_file_counts_before_what_the_cluster_keeps() -> None:
    assert judged(kept(ASKED.replace("4096", "8192")), pki({"categories": [SIGNERS]}), given=ASKED) == []
    (finding,) = judged(kept(ASKED), pki({"categories": [SIGNERS]}), given=ASKED.replace("4096", "8192"))
    assert finding.about == "install-config.yaml"


def test_what_the_installer_would_refuse_is_said() -> None:
    (finding,) = judged(kept(ASKED.replace("4096", "4000")), pki({"categories": [SIGNERS]}))
    assert finding.message.endswith(
        "the installer refuses pki.signerCertificates.key.rsa.keySize: Invalid value: "
        "must be a multiple of 1024 from 2048 to 8192"
    )


def test_a_pki_object_that_nobody_can_read_passes_nothing() -> None:
    (finding,) = judged(kept(ASKED), pki({"defaults": {"key": {"algorithm": "DSA"}}}))
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
