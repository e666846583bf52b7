"""Certificates and keys for servers that read files, made anew for each run and never kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.zoo.truth import Key

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Pki:
    """A directory with one certification authority and one leaf for each kind of key."""

    directory: Path

    @property
    def authority(self) -> Path:
        """PEM of the authority, which also signs the client certificates that servers ask for."""
        return self.directory / "ca.pem"

    def certificate(self, key: Key) -> Path:
        """PEM of the leaf."""
        return self.directory / f"{key}.crt"

    def key(self, key: Key) -> Path:
        """PEM of the leaf's private key."""
        return self.directory / f"{key}.key"

    def bundle(self, key: Key) -> Path:
        """Both in one file, as HAProxy reads them."""
        return self.directory / f"{key}.pem"


def make_pki(directory: Path) -> Pki:
    """Write an authority and its leaves into ``directory``."""
    pki = Pki(directory)
    signer = ec.generate_private_key(ec.SECP256R1())
    pki.authority.write_bytes(_certificate("Zoo authority", signer, None).public_bytes(Encoding.PEM))
    leaves: dict[Key, PrivateKey] = {
        "rsa": rsa.generate_private_key(65537, 2048),
        "p256": ec.generate_private_key(ec.SECP256R1()),
        "p384": ec.generate_private_key(ec.SECP384R1()),
    }
    for name, key in leaves.items():
        leaf = _certificate("localhost", key, signer).public_bytes(Encoding.PEM)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        pki.certificate(name).write_bytes(leaf)
        pki.key(name).write_bytes(private)
        pki.bundle(name).write_bytes(leaf + private)
    return pki


def _certificate(name: str, key: PrivateKey, signer: ec.EllipticCurvePrivateKey | None) -> x509.Certificate:
    now = datetime.now(UTC)
    issuer = "Zoo authority" if signer else name
    alternatives = [x509.DNSName("localhost"), x509.DNSName("*.example"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=90))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    )
    return builder.sign(signer or key, hashes.SHA256())
