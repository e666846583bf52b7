"""Certificates, good and odd: whatever can be read is read, and nothing raises."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls import certificate as module
from scanner.tls.certificate import (
    MOST_CERTIFICATES,
    CertificateFacts,
    CertificateMessage,
    parse_certificate,
    parsed_once,
)
from scanner.tls.oids import CURVES
from scanner.tls.wire import Malformed
from tests.certs import HOSTILE_NAMES, Authority, hostile, not_a_certificate, weakly_signed

pytestmark = pytest.mark.crypto

AUTHORITY = Authority("Facts CA", key="p384")
LEAF = AUTHORITY.leaf(names=("a.example", "*.b.example", "127.0.0.1", "::1"), eku=("serverAuth", "clientAuth"))

P256_OID = bytes.fromhex("06082a8648ce3d030107")
P192_OID = bytes.fromhex("06082a8648ce3d030101")


def replaced(old: bytes, new: bytes, der: bytes = LEAF.der) -> CertificateFacts:
    """Facts of the leaf with some of its bytes replaced by as many others; the signature no longer fits."""
    assert old in der
    assert len(old) == len(new)
    return parse_certificate(der.replace(old, new))


def build(*extensions: x509.ExtensionType, key: ec.EllipticCurvePrivateKey | None = None) -> CertificateFacts:
    """Facts of a self-signed certificate with these extensions alone."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, now, now + timedelta(days=1))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return parse_certificate(builder.sign(key, hashes.SHA512()).public_bytes(Encoding.DER))


def test_a_certificate_without_fault() -> None:
    facts = parse_certificate(LEAF.der)
    assert facts == CertificateFacts(
        der=LEAF.der,
        sha256=sha256(LEAF.der).hexdigest(),
        subject=LEAF.certificate.subject.rfc4514_string(),
        issuer=LEAF.certificate.issuer.rfc4514_string(),
        serial=LEAF.certificate.serial_number,
        dns_names=("a.example", "*.b.example"),
        ip_addresses=("127.0.0.1", "::1"),
        other_names=(),
        not_before=LEAF.certificate.not_valid_before_utc,
        not_after=LEAF.certificate.not_valid_after_utc,
        key_algorithm="ECDSA",
        key_size=256,
        curve="P-256",
        key_sha256=sha256(
            LEAF.certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).hexdigest(),
        signature="ecdsa-with-SHA256",
        signature_hash="SHA256",
        is_ca=False,
        extended_key_usage=("serverAuth", "clientAuth"),
    )
    assert facts.not_after is not None
    assert facts.not_after.tzinfo is UTC


def test_an_authority_is_one() -> None:
    facts = parse_certificate(AUTHORITY.der)
    assert (facts.is_ca, facts.self_issued, facts.curve, facts.key_size) == (True, True, "P-384", 384)


@pytest.mark.parametrize(
    ("key", "algorithm", "size", "curve"),
    [
        ("rsa2048", "RSA", 2048, None),
        ("p521", "ECDSA", 521, "P-521"),
        ("ed25519", "Ed25519", None, None),
    ],
)
def test_kinds_of_keys(key: str, algorithm: str, size: int | None, curve: str | None) -> None:
    facts = parse_certificate(AUTHORITY.leaf(names=("a.example",), key=key).der)  # type: ignore[arg-type]
    assert (facts.key_algorithm, facts.key_size, facts.curve) == (algorithm, size, curve)
    assert facts.unreadable == {}


@pytest.mark.parametrize(
    ("weak", "name", "digest"), [("sha1", "sha1WithRSAEncryption", "SHA1"), ("md5", "md5WithRSAEncryption", "MD5")]
)
def test_weak_signatures(weak: Literal["sha1", "md5"], name: str, digest: str) -> None:
    authority = Authority("Weak CA", key="rsa2048")
    facts = parse_certificate(weakly_signed(authority, names=("a.example",), hash_name=weak).der)
    assert (facts.signature, facts.signature_hash, facts.unreadable) == (name, digest, {})


def test_a_signature_that_has_no_hash_of_its_own() -> None:
    facts = parse_certificate(Authority("Ed CA", key="ed25519").der)
    assert (facts.signature, facts.signature_hash, facts.unreadable) == ("Ed25519", None, {})


def test_the_hash_of_rsa_pss_stands_in_its_parameters() -> None:
    authority = Authority("PSS CA", key="rsa2048")
    name = x509.Name([])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    pss = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)
    built = x509.CertificateBuilder(name, name, key, 7, now, now).sign(authority.key, hashes.SHA384(), rsa_padding=pss)
    facts = parse_certificate(built.public_bytes(Encoding.DER))
    assert (facts.signature, facts.signature_hash) == ("id-RSASSA-PSS", "SHA384")


def test_no_extensions_at_all() -> None:
    facts = build()
    assert (facts.dns_names, facts.ip_addresses, facts.other_names, facts.sans) == ((), (), (), ())
    assert (facts.is_ca, facts.extended_key_usage, facts.subject, facts.unreadable) == (False, (), "", {})


def test_names_of_every_kind() -> None:
    facts = build(
        x509.SubjectAlternativeName(
            [
                x509.UniformResourceIdentifier("spiffe://td/ns/a"),
                x509.RFC822Name("a@b.example"),
                x509.DirectoryName(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cn")])),
                x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
                x509.OtherName(x509.ObjectIdentifier("1.2.4"), b"\x05\x00"),
                x509.DNSName("a.example"),
            ]
        )
    )
    assert facts.sans == (
        "DNS:a.example",
        "URI:spiffe://td/ns/a",
        "email:a@b.example",
        "DirName:CN=cn",
        "RID:1.2.3",
        "othername:1.2.4",
    )


def test_an_unknown_usage_is_its_number() -> None:
    usages = [ExtendedKeyUsageOID.OCSP_SIGNING, x509.ObjectIdentifier("1.2.3.4")]
    assert build(x509.ExtendedKeyUsage(usages)).extended_key_usage == ("OCSPSigning", "1.2.3.4")


def test_hostile_names_are_kept_as_they_are() -> None:
    """Escaping is done by the report."""
    facts = parse_certificate(hostile(AUTHORITY).der)
    assert facts.dns_names == ("hostile.example", *HOSTILE_NAMES)
    assert "\x1b[2J" in (facts.subject or "")


@pytest.mark.parametrize(("what", "der"), not_a_certificate(LEAF.der).items())
def test_what_is_no_certificate_keeps_its_bytes_and_says_why(what: str, der: bytes) -> None:
    facts = parse_certificate(der)
    assert (facts.der, facts.sha256) == (der, sha256(der).hexdigest()), what
    assert set(facts.unreadable) == {*module._LOADED_FIELDS, *module._DER_FIELDS}
    assert all(facts.unreadable.values())
    assert facts.sans is None
    assert not facts.self_issued


def test_every_field_is_read_or_named_as_unreadable() -> None:
    read = {*module._LOADED_FIELDS, *module._DER_FIELDS}
    assert read == set(CertificateFacts.__struct_fields__) - {"der", "sha256", "unreadable"}


def test_a_curve_that_cannot_be_loaded_is_still_named() -> None:
    facts = replaced(P256_OID, P192_OID)
    assert (facts.key_algorithm, facts.curve, facts.key_size, facts.unreadable) == ("ECDSA", "P-192", 192, {})


def test_a_curve_that_nobody_knows_is_its_number() -> None:
    facts = replaced(P256_OID, P256_OID[:-1] + b"\x7f")
    assert (facts.curve, facts.key_size, facts.unreadable) == ("1.2.840.10045.3.1.127", None, {})


def test_explicit_curve_parameters_are_unreadable() -> None:
    """They may describe any curve under the name of a good one (CVE-2020-0601)."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here, and nothing else makes such a key")
    options = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit -nodes -keyout /dev/null"
    command = [openssl, "req", "-x509", *options.split(), "-subj", "/CN=a", "-outform", "DER"]
    facts = parse_certificate(subprocess.run(command, check=True, capture_output=True).stdout)
    assert (facts.key_algorithm, facts.subject) == ("ECDSA", "CN=a")
    assert facts.unreadable == dict.fromkeys(("key_size", "curve"), "Malformed: the key has no named curve")


def test_another_kind_of_key_is_its_number() -> None:
    old = bytes.fromhex("06072a8648ce3d0201")
    facts = replaced(old, old[:-1] + b"\x7f")
    assert (facts.key_algorithm, facts.key_size, facts.curve) == ("1.2.840.10045.2.127", None, None)
    assert facts.dns_names == ("a.example", "*.b.example")


def test_an_unknown_signature_algorithm_is_its_number() -> None:
    old = bytes.fromhex("06082a8648ce3d040302")
    facts = replaced(old, old[:-1] + b"\x7f")
    assert facts.signature == "1.2.840.10045.4.3.127"
    assert facts.signature_hash is None
    assert list(facts.unreadable) == ["signature_hash"]


def test_ml_dsa_is_named_by_its_identifier() -> None:
    mldsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.mldsa", reason="cryptography before 47")
    key = mldsa.MLDSA65PrivateKey.generate()
    name = x509.Name([])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 7, now, now).sign(key, None)
    facts = parse_certificate(built.public_bytes(Encoding.DER))
    assert (facts.key_algorithm, facts.key_size, facts.curve) == ("ML-DSA-65", None, None)
    assert (facts.signature, facts.signature_hash, facts.unreadable) == ("ML-DSA-65", None, {})


def test_one_bad_name_hides_neither_dates_nor_key() -> None:
    facts = replaced(b"a.example", b"\xff.example")
    assert facts.dns_names is None
    assert facts.sans is None
    assert {"dns_names", "ip_addresses"} <= set(facts.unreadable)
    assert (facts.not_after, facts.curve) == (LEAF.certificate.not_valid_after_utc, "P-256")


def test_odd_serials_warn_nobody() -> None:
    """``cryptography`` warns of them, and warnings are errors in these tests."""
    serial = LEAF.certificate.serial_number
    size = (serial.bit_length() + 8) // 8
    facts = replaced(serial.to_bytes(size, "big"), b"\xff" + bytes(size - 2) + b"\x01")
    assert facts.serial is None or facts.serial < 0
    assert facts.curve == "P-256"


@given(st.binary(max_size=200))
def test_noise_never_raises(noise: bytes) -> None:
    assert parse_certificate(noise).unreadable


@given(st.data())
def test_damage_never_raises(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LEAF.der) - 1))
    damaged = LEAF.der[:at] + data.draw(st.binary(min_size=1, max_size=3)) + LEAF.der[at + 1 :]
    facts = parse_certificate(damaged)
    assert facts.sha256 == sha256(damaged).hexdigest()
    assert all("\n" not in reason and len(reason) < 250 for reason in facts.unreadable.values())


def test_every_named_curve_has_its_size_in_its_name() -> None:
    assert all(str(bits) in name for name, bits in CURVES.values() if name != "curveSM2")


def test_a_chain_that_is_only_there_to_cost_memory() -> None:
    most = CertificateMessage(chain=(b"",) * MOST_CERTIFICATES)
    assert CertificateMessage.decode(most.encode()) == most
    with pytest.raises(Malformed, match=r"more than \d+ certificates"):
        CertificateMessage.decode(CertificateMessage(chain=(b"",) * (MOST_CERTIFICATES + 1)).encode())


def test_what_comes_again_is_parsed_once() -> None:
    assert parsed_once(LEAF.der) == parse_certificate(LEAF.der)
    assert parsed_once(bytes(bytearray(LEAF.der))) is parsed_once(LEAF.der)
