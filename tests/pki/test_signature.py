"""Signatures: hashes that hold, and keys that can have made them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scanner.pki.signature import SIGNATURE, can_sign, signs
from scanner.tls.certificate import CertificateFacts
from scanner.tls.oids import KEY_ALGORITHMS, SIGNATURES
from tests.pki.subjects import LEAF, SECRET, SERVED, classified, subject

SIGNER = replace(LEAF, subject="CN=etcd-signer", issuer="CN=etcd-signer", is_ca=True, sha256="cd" * 32)
RSA_SIGNER = replace(SIGNER, key_algorithm="RSA", key_size=2048, curve=None)
SHA1 = replace(LEAF, signature="sha1WithRSAEncryption", signature_hash="SHA1")


@pytest.mark.parametrize("signature", sorted({name for name, _ in SIGNATURES.values()}))
def test_every_signature_has_a_key_that_can_make_it(signature: str) -> None:
    assert signs(signature) in set(KEY_ALGORITHMS.values())
    able = {key for key in KEY_ALGORITHMS.values() if can_sign(key, signature)}
    assert able == ({"RSA", "RSA-PSS"} if signature == "id-RSASSA-PSS" else {signs(signature)})


@pytest.mark.parametrize(("key", "signature"), [("1.2.3", "ecdsa-with-SHA256"), ("RSA", "1.2.3.4")])
def test_what_is_not_known_is_not_decided(key: str, signature: str) -> None:
    assert can_sign(key, signature) is None


@pytest.mark.parametrize(
    ("facts", "chain"),
    [
        (LEAF, ()),
        (LEAF, (SIGNER,)),
        (replace(LEAF, signature="sha256WithRSAEncryption"), (RSA_SIGNER,)),
        (replace(LEAF, signature="id-RSASSA-PSS"), (RSA_SIGNER,)),
        (replace(SIGNER, signature_hash="SHA1", signature="ecdsa-with-SHA1"), ()),  # on itself it proves nothing
        (LEAF, (replace(SIGNER, key_algorithm=None),)),
    ],
)
def test_signatures_without_fault(facts: CertificateFacts, chain: tuple[CertificateFacts, ...]) -> None:
    assert list(SIGNATURE.check(SIGNATURE, subject(facts, chain=chain))) == []


@pytest.mark.parametrize(
    ("facts", "chain", "words"),
    [
        (SHA1, (), "it is signed with sha1WithRSAEncryption"),
        (replace(SHA1, signature="md5WithRSAEncryption", signature_hash="MD5"), (), "md5WithRSAEncryption"),
        (LEAF, (RSA_SIGNER,), "signed with ecdsa-with-SHA256, and its signer has a key of RSA"),
        (replace(RSA_SIGNER, signature="Ed25519", signature_hash=None), (), "signed with Ed25519, and its signer has"),
    ],
)
def test_signatures_that_fail(facts: CertificateFacts, chain: tuple[CertificateFacts, ...], words: str) -> None:
    for told in (classified(), classified(governed=False)):
        (finding,) = SIGNATURE.check(SIGNATURE, subject(facts, chain=chain, told=told))
        assert (finding.verdict, finding.severity) == ("fail", "medium")
        assert words in finding.message


def test_a_served_one_is_left_to_cert_signature_and_a_trusted_one_alone() -> None:
    assert list(SIGNATURE.check(SIGNATURE, subject(SHA1, place=SERVED))) == []
    assert list(SIGNATURE.check(SIGNATURE, subject(SHA1, place=replace(SECRET, role="trusted")))) == []
    (finding,) = SIGNATURE.check(SIGNATURE, subject(LEAF, place=SERVED, chain=(RSA_SIGNER,)))
    assert finding.verdict == "fail"


@pytest.mark.parametrize("field", ["signature", "signature_hash"])
def test_what_cannot_be_read_is_never_a_pass(field: str) -> None:
    odd = replace(LEAF, unreadable={field: "odd"}, **{field: None})  # type: ignore[arg-type] # a field that may be None
    (finding,) = SIGNATURE.check(SIGNATURE, subject(odd))
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert "odd" in finding.message


@pytest.mark.parametrize("name", ["ML-DSA-65", "SLH-DSA-SHA2-128s"])
def test_what_no_quantum_computer_breaks_is_named(name: str) -> None:
    facts = replace(LEAF, signature=name, signature_hash=None)
    (finding,) = SIGNATURE.check(SIGNATURE, subject(facts, chain=(replace(SIGNER, key_algorithm=name),)))
    assert (finding.verdict, finding.status) == ("pass", "informational")
    assert name in finding.message
