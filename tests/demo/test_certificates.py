"""A leaf without fault passes the strict verifier; each deviation shows in its own field and nowhere else."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from scanner.demo.certificates import Authority, Credential, Deviations, KeyKind, private_key

pytestmark = pytest.mark.crypto

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
NAME = "api.demo.example"


def verify(root: Authority, credential: Credential) -> None:
    """Web PKI rules as cryptography applies them. Raises ``VerificationError``."""
    policy = PolicyBuilder().store(Store([root.certificate])).time(NOW)
    policy.build_server_verifier(x509.DNSName(NAME)).verify(credential.certificate, list(credential.issuers))


@pytest.mark.parametrize("kind", ["rsa2048", "p256", "p384", "p521"])
def test_a_leaf_without_fault_passes_the_strict_verifier(kind: KeyKind) -> None:
    root = Authority("Root", now=NOW)
    verify(root, root.leaf(names=(NAME, "127.0.0.1", "::1"), key=kind))


def test_an_intermediate_is_sent_and_the_root_is_not() -> None:
    root = Authority("Root", now=NOW)
    leaf = Authority("Issuing", now=NOW, issuer=root, key="p384").leaf(names=(NAME,))
    verify(root, leaf)
    assert len(leaf.issuers) == 1
    assert leaf.pem.count(b"BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize(
    ("deviations", "reason"),
    [
        ({"not_after": NOW - timedelta(days=1), "not_before": NOW - timedelta(days=2)}, "valid"),
        ({"not_before": NOW + timedelta(days=1)}, "valid"),
        ({"ca": True}, "basicConstraints"),
        ({"eku": ("clientAuth",)}, "EKU"),
    ],
    ids=["expired", "not yet valid", "CA as leaf", "client only"],
)
def test_a_deviation_is_seen(deviations: Deviations, reason: str) -> None:
    root = Authority("Root", now=NOW)
    with pytest.raises(VerificationError, match=reason):
        verify(root, root.leaf(names=(NAME,), **deviations))


def test_a_self_signed_leaf_has_no_known_anchor() -> None:
    root = Authority("Root", now=NOW)
    alone = root.self_signed(names=(NAME,))
    assert alone.certificate.issuer == alone.certificate.subject
    alone.certificate.verify_directly_issued_by(alone.certificate)
    with pytest.raises(VerificationError):
        verify(root, alone)


def test_names_are_dns_names_and_addresses() -> None:
    leaf = Authority("Root", now=NOW).leaf(names=("a.example", "192.0.2.1", "2001:db8::1"), common_name="")
    extension = leaf.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert extension.value.get_values_for_type(x509.DNSName) == ["a.example"]
    assert [str(each) for each in extension.value.get_values_for_type(x509.IPAddress)] == ["192.0.2.1", "2001:db8::1"]
    assert extension.critical  # because the subject is empty
    assert not leaf.certificate.subject.rdns


def test_no_extended_key_usage_is_no_extension() -> None:
    leaf = Authority("Root").leaf(names=(NAME,), eku=())
    with pytest.raises(x509.ExtensionNotFound):
        leaf.certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)


def test_key_kinds() -> None:
    bits = {}
    for kind in ("rsa1024", "rsa2048"):
        key = private_key(kind)
        assert isinstance(key, rsa.RSAPrivateKey)
        bits[kind] = key.key_size
    assert bits == {"rsa1024": 1024, "rsa2048": 2048}
    curve_key = private_key("p384")
    assert isinstance(curve_key, ec.EllipticCurvePrivateKey)
    assert curve_key.curve.name == "secp384r1"
    assert isinstance(private_key("ed25519"), ed25519.Ed25519PrivateKey)


def test_an_ed25519_authority_signs_without_a_hash() -> None:
    leaf = Authority("Root", key="ed25519").leaf(names=(NAME,), key="ed25519")
    assert leaf.certificate.signature_hash_algorithm is None


def test_a_serial_is_as_stated() -> None:
    certificate = Authority("Root").leaf(names=(NAME,), serial=7).certificate
    assert certificate.serial_number == 7


def test_a_written_key_is_for_its_owner_alone_and_never_overwritten(tmp_path: Path) -> None:
    leaf = Authority("Root").leaf(names=(NAME,))
    chain, key = leaf.write(tmp_path, "server")
    assert (chain.read_bytes(), key.read_bytes()) == (leaf.pem, leaf.key_pem)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        leaf.write(tmp_path, "server")
