"""Keys that do not suit, as configured and as they are."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.config.certificate_names import load_names
from scanner.model.finding import Finding
from scanner.model.pki_config import RSA_2048, Key, Rule
from scanner.pki.config import RECOMMENDED, pki_config
from scanner.pki.key_strength import CONFIGURED, STRENGTH, signers_of
from scanner.pki.object_rules import Configuration
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.pki.pki_cases import ECDSA, RSA
from tests.pki.pki_objects import pki, snapshot
from tests.pki.subjects import CONFIG, DAY, LEAF, NAME, NOW, SILENT, classified, subject

pytestmark = pytest.mark.crypto

NAMES = load_names()
SMALL = {"algorithm": "RSA", "rsa": {"keySize": 2048}}


def configured(defaults: object, signers: object = None, **others: Any) -> list[Finding]:  # noqa: ANN401 - JSON
    categories = [{"category": "SignerCertificate", "certificate": {"key": signers}}] if signers else []
    found = snapshot(pki({"defaults": {"key": defaults}, "categories": categories, **others}), gate="on")
    return list(CONFIGURED.check(CONFIGURED, Configuration(config=pki_config(found), snapshot=found, names=NAMES)))


@pytest.mark.parametrize(("defaults", "signers"), [(RSA, None), (SMALL, RSA), (ECDSA, None), (RSA, ECDSA)])
def test_keys_that_suit_say_nothing(defaults: object, signers: object) -> None:
    assert configured(defaults, signers) == []


def test_rsa_2048_for_ten_years_is_named_with_its_signers() -> None:
    (finding,) = configured(SMALL)
    assert (finding.severity, finding.verdict, finding.about) == ("low", "fail", "PKI/cluster")
    assert "RSA 2048 is configured for signers that are valid for years" in finding.message
    assert "kube-apiserver-lb-signer" in finding.message
    assert "aggregator-signer" not in finding.message  # it lives for 30 days


def test_a_key_that_outdoes_its_signers_is_named_with_both() -> None:
    weak, stronger = configured(ECDSA, SMALL)
    assert "RSA 2048" in weak.message
    assert "kube-apiserver-lb-server (ECDSA P384) under kube-apiserver-lb-signer (RSA 2048)" in stronger.message


def test_an_override_of_one_signer_counts() -> None:
    override = {"certificateName": "kube-apiserver-lb-signer", "certificate": {"key": ECDSA}}
    _, stronger = configured(ECDSA, SMALL, overrides=[override])
    assert "kube-apiserver-lb-server" not in stronger.message
    assert "kube-apiserver-localhost-server" in stronger.message


def test_nothing_configured_is_nothing_to_warn_of() -> None:
    for each in (snapshot(gate="off"), snapshot(pki({"defaults": {"key": SMALL}}), gate="off")):
        about = Configuration(config=pki_config(each), snapshot=each, names=NAMES)
        assert list(CONFIGURED.check(CONFIGURED, about)) == []
    # What it says is kept for the reader, also where the platform has a minimum of its own.
    ignored = replace(ASKED, reason="unmanaged", platform=RECOMMENDED)
    about = Configuration(config=ignored, snapshot=snapshot(gate="off"), names=NAMES)
    assert list(CONFIGURED.check(CONFIGURED, about)) == []


@pytest.mark.parametrize(
    ("name", "signer"), [("etcd-server", "etcd-signer"), ("service-ca.service-serving", "service-ca")]
)
def test_signers_are_found_by_their_subjects_and_patterns(name: str, signer: str) -> None:
    leaf = NAMES.by_name(name)
    assert leaf is not None
    assert [each.name for each in signers_of(leaf, NAMES)] == [signer]


MADE = NOW - 100 * DAY
RSA_YEARS = replace(LEAF, key_algorithm="RSA", key_size=2048, curve=None, not_before=MADE)
ASKED = replace(CONFIG, defaults=Rule(key=RSA_2048, field="spec.defaults.key"))


@pytest.mark.parametrize(
    "facts",
    [
        LEAF,
        replace(RSA_YEARS, key_size=3072),
        replace(RSA_YEARS, not_after=MADE + 732 * DAY),
        replace(RSA_YEARS, not_after=None),
        replace(RSA_YEARS, key_size=None),
        replace(RSA_YEARS, key_algorithm="Ed25519"),
    ],
)
def test_what_is_strong_or_short_says_nothing(facts: CertificateFacts) -> None:
    assert list(STRENGTH.check(STRENGTH, subject(facts, config=ASKED))) == []


def test_rsa_2048_for_years_is_low_where_it_was_asked_for_and_noted_elsewhere() -> None:
    (asked,) = STRENGTH.check(STRENGTH, subject(RSA_YEARS, config=ASKED))
    assert (asked.severity, asked.verdict, asked.status) == ("low", "fail", "violation")
    assert "RSA 2048, and it is valid for 3 years" in asked.message
    assert asked.fix == "configure a stronger key in PKI/cluster"
    short = replace(RSA_YEARS, not_after=MADE + 733 * DAY)
    (found,) = STRENGTH.check(STRENGTH, subject(short, config=ASKED))
    assert "valid for 2 years" in found.message
    for config in (SILENT, CONFIG):
        (noted,) = STRENGTH.check(STRENGTH, subject(RSA_YEARS, config=config))
        assert (noted.severity, noted.verdict, noted.status) == ("info", "pass", "informational")
    assert list(STRENGTH.check(STRENGTH, subject(RSA_YEARS, told=classified(governed=False)))) == []


def test_bits_of_security_are_compared_not_numbers() -> None:
    assert (Key(algorithm="RSA", size=4096).strength or 0) < (Key(algorithm="ECDSA", curve="P384").strength or 0)
    assert NAME.name == "etcd-server"
