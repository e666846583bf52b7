"""The install-config beside the PKI object."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.config.certificate_names import load_names
from scanner.files.yaml_values import load
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.model.finding import Finding
from scanner.pki.config import pki_config
from scanner.pki.configuration import Configuration
from scanner.pki.day_one import install_config
from scanner.pki.installation import INSTALLATION
from tests.pki.test_config import pki, snapshot

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
