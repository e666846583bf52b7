from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import CertificateExpectation
from scanner.model.finding import Finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.judge.cases import ISSUER, LEAF, ROOT, case, finding, findings

NAMED = {"certificate": CertificateExpectation(names=("a.example",))}
RULES = ("cert-name", "cert-key-size", "cert-signature", "cert-ca-as-leaf")


def judged(rule: str, *chain: CertificateFacts, min_rsa_bits: int = 2048) -> Finding:
    policy = {"min_rsa_bits": min_rsa_bits}
    return finding(rule, case(observation={"chain": chain}, expectation=NAMED, policy=policy))


@pytest.mark.parametrize("rule", RULES)
def test_a_certificate_without_fault_passes(rule: str) -> None:
    assert judged(rule, LEAF, ISSUER, ROOT).verdict == "pass"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chain", [Unknown("the handshake broke off"), ()])
def test_a_chain_that_is_not_known_is_inconclusive(rule: str, chain: Known[tuple[CertificateFacts, ...]]) -> None:
    assert finding(rule, case(observation={"chain": chain}, expectation=NAMED)).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ("cert-name", "dns_names"),
        ("cert-key-size", "key_algorithm"),
        ("cert-key-size", "key_size"),
        ("cert-signature", "signature"),
        ("cert-ca-as-leaf", "is_ca"),
    ],
)
def test_a_field_that_cannot_be_read_is_inconclusive_and_named(rule: str, field: str) -> None:
    changes: dict[str, Any] = {field: None, "unreadable": {field: "garbage"}}
    if field == "signature":
        changes["signature_hash"] = None
    found = judged(rule, replace(LEAF, **changes))
    assert found.verdict == "inconclusive"
    assert f"{field} cannot be read (garbage)" in found.message


def test_without_expected_names_none_are_judged() -> None:
    assert findings("cert-name", case()) == []


def test_a_name_that_is_not_covered_fails_and_lists_those_that_are() -> None:
    found = judged("cert-name", replace(LEAF, dns_names=("b.example", "*.c.example"), ip_addresses=("192.0.2.1",)))
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert "a.example" in found.message
    assert found.expected == ("a.example",)
    assert found.observed == ("DNS:b.example", "DNS:*.c.example", "IP:192.0.2.1")


def test_a_certificate_without_names_says_so() -> None:
    assert judged("cert-name", replace(LEAF, dns_names=())).observed == ("no subject alternative name",)


def test_every_expected_name_must_be_covered() -> None:
    both = {"certificate": CertificateExpectation(names=("a.example", "192.0.2.1"))}
    found = finding("cert-name", case(expectation=both))
    assert found.verdict == "fail"
    assert "192.0.2.1" in found.message
    assert found.expected == ("a.example", "192.0.2.1")


def test_thousands_of_names_are_cut_off() -> None:
    found = judged("cert-name", replace(LEAF, dns_names=tuple(f"{n}.example" for n in range(5000))))
    assert len(found.observed) == 51
    assert found.observed[-1] == "and 4950 more"


@pytest.mark.parametrize(
    ("key", "verdict", "says"),
    [
        ({"key_algorithm": "RSA", "key_size": 1024, "curve": None}, "fail", "RSA with 1024 bits"),
        ({"key_algorithm": "RSA", "key_size": 2047, "curve": None}, "fail", "2047"),
        ({"key_algorithm": "RSA", "key_size": 2048, "curve": None}, "pass", ""),
        ({"key_algorithm": "ECDSA", "key_size": 192, "curve": "P-192"}, "fail", "ECDSA P-192 with 192 bits"),
        ({"key_algorithm": "ECDSA", "key_size": None, "curve": "1.3.132.0.6"}, "inconclusive", "1.3.132.0.6"),
        ({"key_algorithm": "ECDSA", "key_size": None, "curve": None}, "inconclusive", "key_size"),
        ({"key_algorithm": "RSA-PSS", "key_size": 1024, "curve": None}, "fail", "RSA-PSS with 1024 bits"),
        ({"key_algorithm": "ECDSA", "key_size": 224, "curve": "P-224"}, "pass", ""),
        ({"key_algorithm": "ECDSA", "key_size": 256, "curve": "brainpoolP256r1"}, "pass", ""),
        ({"key_algorithm": "DSA", "key_size": 3072, "curve": None}, "fail", "DSA"),
        ({"key_algorithm": "Ed25519", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "Ed448", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "ML-DSA-65", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "1.2.3.4", "key_size": None, "curve": None}, "inconclusive", "1.2.3.4"),
    ],
)
def test_key_size(key: dict[str, Any], verdict: str, says: str) -> None:
    found = judged("cert-key-size", replace(LEAF, **key))
    assert found.verdict == verdict
    assert says in " ".join((found.message, *found.observed))


def test_the_policy_sets_the_least_rsa_size() -> None:
    rsa = replace(LEAF, key_algorithm="RSA", key_size=2048, curve=None)
    assert judged("cert-key-size", rsa, min_rsa_bits=3072).verdict == "fail"


def test_the_key_of_every_certificate_that_is_sent_counts() -> None:
    weak = {"key_algorithm": "RSA", "key_size": 1024, "curve": None}
    found = judged("cert-key-size", LEAF, replace(ISSUER, **weak), replace(ROOT, **weak))  # type: ignore[arg-type]
    assert found.observed == ("issuer CN=Some CA: RSA with 1024 bits", "issuer CN=Root: RSA with 1024 bits")


@pytest.mark.parametrize(
    ("signature", "digest", "verdict"),
    [
        ("sha1WithRSAEncryption", "SHA1", "fail"),
        ("md5WithRSAEncryption", "MD5", "fail"),
        ("ecdsa-with-SHA1", "SHA-1", "fail"),
        ("sha384WithRSAEncryption", "SHA384", "pass"),
        ("ed25519", None, "pass"),
        ("Ed448", None, "pass"),
        ("id-ml-dsa-65", None, "pass"),
        ("ML-DSA-65", None, "pass"),
        ("1.2.3.4", None, "inconclusive"),
    ],
)
def test_signature(signature: str, digest: str | None, verdict: str) -> None:
    assert judged("cert-signature", replace(LEAF, signature=signature, signature_hash=digest)).verdict == verdict


def test_a_roots_own_signature_is_not_looked_at_and_an_intermediates_is() -> None:
    weak = {"signature": "sha1WithRSAEncryption", "signature_hash": "SHA1"}
    assert judged("cert-signature", LEAF, ISSUER, replace(ROOT, **weak)).verdict == "pass"  # type: ignore[arg-type]
    found = judged("cert-signature", LEAF, replace(ISSUER, **weak))  # type: ignore[arg-type]
    assert found.observed == ("issuer CN=Some CA: signed with sha1WithRSAEncryption",)


def test_an_authoritys_certificate_as_leaf_fails() -> None:
    found = judged("cert-ca-as-leaf", replace(LEAF, is_ca=True), ISSUER)
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert found.observed == ("leaf CN=a.example: CA:TRUE",)


@pytest.mark.parametrize(
    ("host", "addresses", "verdict"),
    [
        ("10.0.0.7", ("10.0.0.7",), "pass"),
        ("2001:db8::7", ("2001:db8:0::7",), "pass"),
        ("10.0.0.7", ("10.0.0.8",), "not_applicable"),
        ("10.0.0.7", (), "not_applicable"),
        ("10.0.0.7", None, "not_applicable"),
    ],
)
def test_a_target_that_is_an_address_fails_for_no_name_and_it_is_said(
    host: str, addresses: tuple[str, ...] | None, verdict: str
) -> None:
    leaf = replace(LEAF, ip_addresses=addresses)
    found = finding("cert-name", case(observation={"chain": (leaf,)}, endpoint={"host": host}))
    assert (found.verdict, found.severity, found.status) == (verdict, "info", "informational")
    assert ("address:port#name" in found.message) == (verdict == "not_applicable")
    assert addresses is None or "DNS:" in found.observed[0]
