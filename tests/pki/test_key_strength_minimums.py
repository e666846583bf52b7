"""The policy file's minimums, for what no PKI object governs."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.model.finding import Finding
from scanner.model.scan_policy import CertificateMinimums, Policy, ScanPolicy
from scanner.pki.key_strength import MINIMUM
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.pki.subjects import DAY, LEAF, NAME, NOW, SECRET, SILENT, classified, subject

pytestmark = pytest.mark.crypto

GIVEN = classified(governed=False, why="APIServer/cluster spec.servingCerts.namedCertificates[0]")
RSA = replace(LEAF, key_algorithm="RSA", key_size=3072, curve=None, not_before=NOW, not_after=NOW + 90 * DAY)
EC = replace(RSA, key_algorithm="ECDSA", key_size=384, curve="P-384")
ASKED = CertificateMinimums(rsa_bits=3072, curves=("P256", "P384"), signatures=("ecdsa-with-SHA256",), longest_days=398)


def said(facts: CertificateFacts, asked: CertificateMinimums = ASKED, **others: Any) -> list[Finding]:  # noqa: ANN401 - as subject
    about = subject(facts, **{"told": GIVEN, "policy": ScanPolicy(certificates=asked), **others})
    return list(MINIMUM.check(MINIMUM, about))


@pytest.mark.parametrize("facts", [RSA, EC, replace(EC, curve="P-256"), replace(RSA, not_after=NOW + 398 * DAY)])
def test_what_is_as_asked_passes_and_says_why_it_is_outside(facts: CertificateFacts) -> None:
    (finding,) = said(facts)
    assert (finding.verdict, finding.status) == ("pass", "ok")
    assert "outside of the PKI object: APIServer/cluster spec.servingCerts" in finding.message
    assert finding.expected == expected_of(facts)


def expected_of(facts: CertificateFacts) -> tuple[str, ...]:
    keys = {"RSA": "RSA keys of 3072 bits or more", "ECDSA": "ECDSA keys on P256, P384"}
    return (keys[facts.key_algorithm or ""], "signed with ecdsa-with-SHA256", "valid for 398 days or less")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (replace(RSA, key_size=2048), "its key is RSA 2048"),
        (replace(EC, curve="P-521"), "its key is ECDSA P521"),
        (replace(EC, curve="brainpoolP256r1"), "its key is ECDSA brainpoolP256r1"),
        (replace(RSA, signature="sha1WithRSAEncryption"), "it is signed with sha1WithRSAEncryption"),
        (replace(RSA, not_after=NOW + 399 * DAY), "it is valid for 399 days"),
    ],
)
def test_what_is_not_fails(facts: CertificateFacts, words: str) -> None:
    (finding,) = said(facts)
    assert (finding.verdict, finding.status, finding.severity) == ("fail", "violation", "medium")
    assert words in finding.message
    assert "outside of the PKI object" in finding.message
    assert (finding.expected, bool(finding.fix)) == (expected_of(facts), True)


PSS = replace(RSA, key_algorithm="RSA-PSS")
P224 = replace(EC, curve="P-224", key_size=224)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (replace(RSA, key_algorithm="DSA", key_size=3072), "its key is weak: a DSA key"),
        (replace(EC, curve="P-192", key_size=192), "its key is weak: ECDSA P-192 with 192 bits"),
        (replace(PSS, key_size=1024), "its key is RSA-PSS 1024"),
    ],
)
def test_keys_that_no_policy_need_name_are_weak_all_the_same(facts: CertificateFacts, words: str) -> None:
    (finding,) = said(facts, CertificateMinimums())
    assert (finding.verdict, finding.severity) == ("fail", "medium")
    assert words in finding.message


@pytest.mark.parametrize(
    ("facts", "count"), [(P224, 0), (replace(EC, key_algorithm="Ed25519", curve=None), 0), (PSS, 1)]
)
def test_keys_that_hold_are_at_most_as_asked(facts: CertificateFacts, count: int) -> None:
    assert [each.verdict for each in said(facts, CertificateMinimums())] == ["pass"] * count


@pytest.mark.parametrize(
    "facts",
    [replace(EC, curve="1.2.3.4", key_size=None), replace(EC, key_algorithm="1.2.3"), replace(PSS, key_size=None)],
)
def test_a_key_of_which_nobody_knows_whether_it_holds_is_no_pass(facts: CertificateFacts) -> None:
    (finding,) = said(facts, CertificateMinimums())
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")


def test_everything_that_is_wrong_is_one_finding() -> None:
    (finding,) = said(replace(RSA, key_size=1024, not_after=NOW + 4000 * DAY))
    assert "its key is RSA 1024; it is valid for 4000 days" in finding.message
    assert len(finding.expected) == 3


@pytest.mark.parametrize(
    "facts",
    [
        replace(RSA, key_size=None),
        replace(RSA, key_algorithm=None, key_size=None),
        replace(EC, curve=None),
        replace(RSA, signature=None),
        replace(RSA, not_after=None),
    ],
)
def test_what_cannot_be_read_is_never_a_pass(facts: CertificateFacts) -> None:
    (finding,) = said(facts)
    assert (finding.verdict, finding.status, bool(finding.expected)) == ("inconclusive", "not-tested", True)


def test_a_failure_is_not_lost_for_what_cannot_be_read() -> None:
    (finding,) = said(replace(RSA, key_size=1024, signature=None, unreadable={"signature": "odd"}))
    assert finding.verdict == "fail"
    assert any("odd" in each for each in finding.evidence)


def test_without_a_word_in_the_file_the_thresholds_hold_for_rsa() -> None:
    (finding,) = said(replace(RSA, key_size=1024), CertificateMinimums())
    assert "RSA keys of 2048 bits or more" in finding.expected[0]
    policy = ScanPolicy(thresholds=Policy(min_rsa_bits=1024))
    (other,) = said(replace(RSA, key_size=1024), policy=policy)
    assert other.verdict == "pass"
    assert said(EC, CertificateMinimums()) == []


def test_other_algorithms_have_no_minimum() -> None:
    (finding,) = said(replace(RSA, key_algorithm="Ed25519", key_size=None))
    assert finding.expected == ("signed with ecdsa-with-SHA256", "valid for 398 days or less")


def test_a_root_and_a_ca_are_asked_what_makes_sense() -> None:
    root = replace(RSA, is_ca=True, subject="CN=x", issuer="CN=x", signature="md5WithRSAEncryption")
    (finding,) = said(replace(root, not_after=NOW + 4000 * DAY))
    assert finding.verdict == "pass"
    assert said(root, place=replace(SECRET, role="trusted")) == []


def test_what_the_pki_object_governs_is_its_own() -> None:
    assert said(replace(RSA, key_size=1024), told=classified(NAME)) == []


def test_where_the_pki_object_asks_for_nothing_the_policy_does() -> None:
    (finding,) = said(replace(RSA, key_size=1024), told=classified(NAME), config=SILENT)
    assert finding.verdict == "fail"
    assert "The PKI object has no requirement: the feature gate is off" in finding.message


def test_what_nobody_can_attribute_is_judged_too() -> None:
    (finding,) = said(replace(RSA, key_size=1024), told=classified(governed=None, why="nothing says who made it"))
    assert finding.verdict == "fail"
    assert "nothing says who made it" in finding.message


def test_a_key_of_an_algorithm_without_a_minimum_fails_where_it_is_weak() -> None:
    """Whatever curves are asked for: those are of ECDSA alone."""
    (finding,) = said(replace(RSA, key_algorithm="DSA", key_size=1024))
    assert finding.verdict == "fail"
    assert "its key is weak" in finding.message
