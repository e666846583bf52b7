from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.judge import judge
from scanner.kube.maybe import Unknown
from scanner.model.expectation import CertificateExpectation
from scanner.model.finding import Finding
from scanner.tls.certificate import CertificateFacts, parse_certificate
from scanner.values import replace
from tests.certs import Authority, Credential, not_a_certificate, private_key, weakly_signed
from tests.judge.cases import LEAF, NOW, case, finding

pytestmark = pytest.mark.crypto

NAMES = ("a.example",)


@pytest.fixture(scope="module")
def root() -> Authority:
    return Authority("Root", now=NOW)


@pytest.fixture(scope="module")
def intermediate(root: Authority) -> Authority:
    return Authority("Intermediate", now=NOW, issuer=root)


def facts(certificate: x509.Certificate) -> CertificateFacts:
    return parse_certificate(certificate.public_bytes(Encoding.DER))


def judged(anchors: tuple[bytes, ...], *chain: x509.Certificate | CertificateFacts) -> Finding:
    served = tuple(each if isinstance(each, CertificateFacts) else facts(each) for each in chain)
    wanted = CertificateExpectation(anchors=anchors, anchor_source="ca.pem")
    return finding("cert-chain", case(observation={"chain": served}, expectation={"certificate": wanted}))


def test_a_leaf_of_the_anchor_passes(root: Authority) -> None:
    found = judged((root.der,), root.leaf(names=NAMES).certificate)
    assert (found.verdict, found.status, found.evidence) == ("pass", "ok", ())
    assert "ca.pem" in found.message


def test_a_path_over_an_intermediate_passes_in_any_order(root: Authority, intermediate: Authority) -> None:
    leaf = intermediate.leaf(names=NAMES).certificate
    assert judged((root.der,), leaf, intermediate.certificate).verdict == "pass"
    assert judged((root.der,), leaf, root.certificate, intermediate.certificate).verdict == "pass"


def test_an_intermediate_can_be_the_anchor(intermediate: Authority) -> None:
    assert judged((intermediate.der,), intermediate.leaf(names=NAMES).certificate).verdict == "pass"


def test_the_leaf_can_be_the_anchor(root: Authority) -> None:
    leaf = root.leaf(names=NAMES)
    assert judged((leaf.der,), leaf.certificate).verdict == "pass"
    assert judged((root.der,), root.certificate).verdict == "pass"


def test_an_intermediate_that_is_not_sent_fails_by_name(root: Authority, intermediate: Authority) -> None:
    found = judged((root.der,), intermediate.leaf(names=NAMES).certificate)
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert found.observed == ("the issuer is neither sent nor an anchor: CN=Intermediate",)


def test_an_unknown_root_fails_by_name(root: Authority) -> None:
    other = Authority("Other", now=NOW)
    found = judged((root.der,), other.leaf(names=NAMES).certificate, other.certificate)
    assert found.observed == ("the chain ends in a root that is not among the anchors: CN=Other",)


def test_another_key_under_the_anchors_name_fails(root: Authority) -> None:
    found = judged((root.der,), Authority("Root", now=NOW).leaf(names=NAMES).certificate)
    assert found.observed == ("the signature does not verify with the key of this anchor: CN=Root",)


def test_the_fix_of_a_self_signed_leaf_is_no_intermediate(root: Authority, intermediate: Authority) -> None:
    alone = judged((intermediate.der,), root.certificate)
    assert alone.verdict == "fail"
    assert "intermediate" not in (alone.fix or "")


@pytest.mark.parametrize("days", [(-20, -10), (10, 20)])
def test_dates_are_other_rules_business(root: Authority, days: tuple[int, int]) -> None:
    start, end = (NOW + timedelta(days=n) for n in days)
    inside = Authority("Dated", now=start - timedelta(days=1))
    leaf = inside.leaf(names=NAMES, not_before=start, not_after=end)
    assert judged((inside.der,), leaf.certificate).verdict == "pass"


@pytest.mark.parametrize(("since", "verdict"), [(100, "pass"), (5, "fail")])
def test_a_path_is_verified_when_all_of_it_is_valid(since: int, verdict: str) -> None:
    """That an intermediate has expired is another rule's business, unless it had before the leaf was made."""
    then = NOW - timedelta(days=400)
    old = Authority("Old", now=then)
    lower = Authority("Lower", now=then, issuer=old, days=390)
    leaf = lower.leaf(names=NAMES, not_before=NOW - timedelta(days=since), not_after=NOW + timedelta(days=1))
    assert judged((old.der,), leaf.certificate, lower.certificate).verdict == verdict


@pytest.mark.parametrize("name", ["*.example", "192.0.2.1", "b.example"])
def test_names_are_another_rules_business(root: Authority, name: str) -> None:
    found = judged((root.der,), root.leaf(names=(name,)).certificate)
    assert (found.verdict, found.evidence) == ("pass", ())


def test_what_only_a_strict_verifier_objects_to_is_noted_and_passes(root: Authority) -> None:
    found = judged((root.der,), root.leaf(names=NAMES, ca=True).certificate)
    assert (found.verdict, found.status) == ("pass", "informational")
    assert "cA" in found.evidence[0]


def test_a_leaf_without_names_passes_with_a_note(root: Authority) -> None:
    leaf = root.leaf(names=NAMES).certificate
    found = judged((root.der,), replace(facts(leaf), dns_names=()))
    assert (found.verdict, found.status) == ("pass", "informational")


@pytest.mark.parametrize(
    ("usage", "verdict"), [(("clientAuth",), "fail"), (("serverAuth",), "pass"), ((), "pass"), (None, "inconclusive")]
)
def test_a_leaf_that_is_not_for_servers_fails(root: Authority, usage: tuple[str, ...] | None, verdict: str) -> None:
    leaf = replace(facts(root.leaf(names=NAMES).certificate), extended_key_usage=usage)
    assert judged((root.der,), leaf).verdict == verdict


def test_a_leaf_that_is_signed_by_another_leaf_fails_with_the_verifiers_words(root: Authority) -> None:
    """Every signature leads to the anchor, and one of the signers is no CA."""
    signer = root.leaf(names=("signer.example",))
    own = private_key("p256")
    leaf = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(signer.certificate.subject)
        .public_key(own.public_key())
        .serial_number(5)
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAMES[0])]), critical=True)
        .sign(signer.key, hashes.SHA256())
    )
    found = judged((root.der,), leaf, signer.certificate)
    assert (found.verdict, found.status) == ("fail", "violation")
    assert "asicConstraints" in found.message or "asicConstraints" in str(found.evidence) + str(found.observed)


def test_a_broken_signature_algorithm_does_not_lead_to_an_anchor() -> None:
    rsa = Authority("RSA", key="rsa2048", now=NOW)
    weak: Credential = weakly_signed(rsa, names=NAMES, hash_name="md5")
    assert judged((rsa.der,), weak.certificate).verdict == "fail"


def test_without_anchors_the_chain_is_not_judged(root: Authority, intermediate: Authority) -> None:
    leaf = intermediate.leaf(names=NAMES).certificate
    for chain, says in (
        ((leaf,), "last issuer is not sent"),
        ((leaf, intermediate.certificate, root.certificate), "not verified"),
        ((root.certificate,), "self-signed"),
    ):
        found = judged((), *chain)
        assert (found.verdict, found.status, found.severity) == ("not_applicable", "informational", "info")
        assert says in found.message
    assert finding("cert-chain", case(observation={"chain": Unknown("x")})).verdict == "not_applicable"


def test_a_chain_that_is_not_known_is_inconclusive(root: Authority) -> None:
    wanted = {"certificate": CertificateExpectation(anchors=(root.der,))}
    found = finding("cert-chain", case(observation={"chain": Unknown("it broke off")}, expectation=wanted))
    assert found.verdict == "inconclusive"
    assert "it broke off" in found.message
    assert judged((root.der,)).verdict == "inconclusive"


def test_bytes_that_are_no_certificate_are_inconclusive_as_leaf_and_left_out_as_issuer(root: Authority) -> None:
    good = root.leaf(names=NAMES)
    for what, der in not_a_certificate(good.der).items():
        assert judged((root.der,), replace(LEAF, der=der)).verdict == "inconclusive", what
        assert judged((root.der,), facts(good.certificate), replace(LEAF, der=der)).verdict == "pass", what
        assert judged((der,), good.certificate).verdict == "inconclusive", what
        assert judged((der, root.der), good.certificate).verdict == "pass", what


def test_odd_serial_numbers_warn_nobody(root: Authority) -> None:
    der = bytearray(root.leaf(names=NAMES, serial=1).der)
    at = der.index(b"\xa0\x03\x02\x01\x02\x02\x01\x01") + 7
    der[at] = 0xFF  # a serial number of -1: cryptography warns when it reads it
    assert judged((root.der,), replace(LEAF, der=bytes(der))).verdict != "pass"


def test_names_of_any_length_warn_nobody(root: Authority) -> None:
    """OpenShift's operators call their signers so; warnings are errors here."""
    signer = Authority("openshift-kube-apiserver-operator_loadbalancer-serving-signer@1700000000", now=NOW)
    assert judged((signer.der,), signer.leaf(names=NAMES).certificate).verdict == "pass"
    assert "loadbalancer-serving-signer" in judged((root.der,), signer.leaf(names=NAMES).certificate).observed[0]


def test_a_listener_that_sends_too_many_issuers_is_inconclusive(root: Authority) -> None:
    leaf = root.leaf(names=NAMES).certificate
    assert judged((root.der,), leaf, *[root.certificate] * 16).verdict == "pass"
    found = judged((root.der,), leaf, *[root.certificate] * 17)
    assert found.verdict == "inconclusive"
    assert "more than 16 issuers" in found.message


def test_the_endpoint_fails_with_its_chain(root: Authority, intermediate: Authority) -> None:
    wanted = {"certificate": CertificateExpectation(anchors=(root.der,))}
    chain = (facts(intermediate.leaf(names=NAMES).certificate),)
    judgement = judge(case(observation={"chain": chain}, expectation=wanted))
    assert judgement.verdict == "fail"
    assert "cert-chain" in {f.rule for f in judgement.findings if f.verdict == "fail"}
