"""Certificates made in memory, with only the deviation stated, and the CAs of the demo's cluster.

``Authority("Demo CA").leaf(names=("a.example",))`` is a certificate without fault (RFC 5280, CA/B Forum Baseline
Requirements 7.1.2.7 as far as a private CA follows them); every argument beside ``names`` makes it differ in that
point alone. Keys stay in memory; only ``Credential.write`` writes one to a file.
"""

from __future__ import annotations

import os
import warnings
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
KeyKind = Literal["rsa1024", "rsa2048", "rsa3072", "rsa4096", "p256", "p384", "p521", "ed25519"]

_CURVES: dict[str, ec.EllipticCurve] = {"p256": ec.SECP256R1(), "p384": ec.SECP384R1(), "p521": ec.SECP521R1()}
_PURPOSES = {"serverAuth": ExtendedKeyUsageOID.SERVER_AUTH, "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH}


def private_key(kind: KeyKind) -> PrivateKey:
    """A fresh key. RSA-2048 takes some 50 ms, the curves well under one."""
    if kind in _CURVES:
        return ec.generate_private_key(_CURVES[kind])
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa")))


class Deviations(TypedDict, total=False):
    """Differences of a leaf from a certificate without fault."""

    key: KeyKind | PrivateKey
    """Default ``p256``."""
    not_before: datetime
    """Default: an hour before the authority's ``now``."""
    not_after: datetime
    """Default: 90 days after the authority's ``now``."""
    common_name: str
    """Default: the first of ``names``. The empty string: an empty subject."""
    ca: bool
    """basicConstraints cA, RFC 5280 section 4.2.1.9. Default false."""
    eku: tuple[Literal["serverAuth", "clientAuth"], ...]
    """Default ``("serverAuth",)``; the empty tuple: no extendedKeyUsage extension."""
    serial: int


class Credential(Struct, frozen=True, kw_only=True):
    """A certificate with its key and the intermediates that a server sends."""

    certificate: x509.Certificate
    key: PrivateKey
    issuers: tuple[x509.Certificate, ...] = ()
    """Intermediates, in the order in which they are sent. Never the root."""

    @property
    def der(self) -> bytes:
        """The leaf."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        """The sent chain, leaf first."""
        return b"".join(each.public_bytes(Encoding.PEM) for each in (self.certificate, *self.issuers))

    @property
    def key_pem(self) -> bytes:
        """PKCS #8, not encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def write(self, directory: Path, stem: str) -> tuple[Path, Path]:
        """Write ``stem.pem`` (the chain) and ``stem.key`` (mode 0600 from the start); return their paths.

        For servers that read only files. Raises ``OSError``; a key that exists already is never overwritten.
        """
        chain, key = directory / f"{stem}.pem", directory / f"{stem}.key"
        descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self.key_pem)
        chain.write_bytes(self.pem)
        return chain, key


class Authority:
    """A certification authority: a root, or below ``issuer`` an intermediate."""

    def __init__(
        self,
        name: str,
        *,
        key: KeyKind = "p256",
        now: datetime | None = None,
        issuer: Authority | None = None,
        days: int = 3650,
    ) -> None:
        """``days``: validity from ``now``."""
        self.now = now or datetime.now(UTC)
        self.issuer = issuer
        self.key = private_key(key)
        signer = self.key if issuer is None else issuer.key
        self.subject = _subject(name)  # reading it from the certificate would warn about its length
        builder = _blank(self.key, self.subject, self.subject if issuer is None else issuer.subject)
        builder = builder.not_valid_before(self.now - timedelta(days=1)).not_valid_after(
            self.now + timedelta(days=days)
        )
        builder = _usage(builder, self.key, signer, ca=True)
        self.certificate: x509.Certificate = builder.sign(signer, _hash_for(signer))

    @property
    def der(self) -> bytes:
        """The trust anchor (of a root)."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        """``der`` in PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    def leaf(self, *, names: tuple[str, ...], **deviations: Unpack[Deviations]) -> Credential:
        """A server's certificate for ``names`` (DNS names and IP addresses), signed by this authority."""
        sent = () if self.issuer is None else (self.certificate,)
        key = _key(deviations)
        return Credential(
            certificate=_leaf(names, key, deviations, self.now, self.subject, self.key), key=key, issuers=sent
        )

    def self_signed(self, *, names: tuple[str, ...], **deviations: Unpack[Deviations]) -> Credential:
        """A leaf signed by its own key; this authority only provides ``now``."""
        key = _key(deviations)
        subject = _subject(deviations.get("common_name", names[0]))
        return Credential(certificate=_leaf(names, key, deviations, self.now, subject, key), key=key)


def _key(deviations: Deviations) -> PrivateKey:
    key = deviations.get("key", "p256")
    return private_key(key) if isinstance(key, str) else key


def _leaf(
    names: tuple[str, ...],
    key: PrivateKey,
    deviations: Deviations,
    now: datetime,
    issuer: x509.Name,
    signer: PrivateKey,
) -> x509.Certificate:
    subject = _subject(deviations.get("common_name", names[0] if names else ""))
    builder = _blank(key, subject, issuer, serial=deviations.get("serial"))
    builder = builder.not_valid_before(deviations.get("not_before", now - timedelta(hours=1)))
    builder = builder.not_valid_after(deviations.get("not_after", now + timedelta(days=90)))
    builder = _usage(builder, key, signer, ca=deviations.get("ca", False))
    if names:  # RFC 5280 section 4.2.1.6: critical only where the subject is empty
        builder = builder.add_extension(_alternative_names(names), critical=not subject.rdns)
    if purposes := deviations.get("eku", ("serverAuth",)):
        builder = builder.add_extension(x509.ExtendedKeyUsage([_PURPOSES[each] for each in purposes]), critical=False)
    return builder.sign(signer, _hash_for(signer))


def _subject(common_name: str) -> x509.Name:
    """A subject of any length: names of OpenShift's operators exceed the 64 characters of RFC 5280 appendix A.1."""
    if not common_name:
        return x509.Name([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the length
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name, _validate=False)])


def _blank(
    key: PrivateKey, subject: x509.Name, issuer: x509.Name, *, serial: int | None = None
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number() if serial is None else serial)


def _usage(
    builder: x509.CertificateBuilder, key: PrivateKey, signer: PrivateKey, *, ca: bool
) -> x509.CertificateBuilder:
    """Add the extensions of RFC 5280 sections 4.2.1.1 to 4.2.1.3 and 4.2.1.9."""
    signs = {"key_cert_sign": ca, "crl_sign": ca, "digital_signature": not ca}
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    absent = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    if isinstance(key, rsa.RSAPrivateKey) and not ca:
        absent["key_encipherment"] = True  # RSA key exchange up to TLS 1.2 encrypts to the key (RFC 5246 section 7.4.2)
    return (
        builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**signs, **absent), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _alternative_names(names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    def entry(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    return x509.SubjectAlternativeName([entry(name) for name in names])


def _hash_for(signer: PrivateKey) -> hashes.SHA256 | None:
    return None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()


Signer = Literal["kube-apiserver", "etcd", "service-ca", "kubelet", "router", "machine-config", "olm", "shop"]

_SUBJECTS: dict[Signer, str] = {
    "kube-apiserver": "openshift-kube-apiserver-operator_loadbalancer-serving-signer",
    "etcd": "openshift-etcd_etcd-signer",
    "service-ca": "openshift-service-serving-signer",
    "kubelet": "kube-csr-signer_",
    "router": "ingress-operator",
    "machine-config": "machine-config-server-ca",
    "olm": "backup-operator webhook CA",
    "shop": "shop internal CA",
}
_DAYS: dict[Signer, int] = {"etcd": 1824, "service-ca": 789, "kubelet": 29, "router": 729}
"""Remaining days of the signers, where it is not ten years."""


class CertificateSpec(Struct, frozen=True, kw_only=True):
    """The certificate of a listener. Names and subject may contain ``{node}`` and ``{address}``."""

    signer: Signer
    names: tuple[str, ...]
    subject: str = ""
    """Common name, if it is not the first of the names."""
    days: tuple[int, int] = (-20, 300)
    """First and last day of validity, from now."""
    key: KeyKind = "p256"


class Signers:
    """The CAs of the demo's cluster, with new keys in each run."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._issued: dict[tuple[CertificateSpec, tuple[str, ...]], Credential] = {}
        self.authorities: dict[Signer, Authority] = {
            signer: Authority(f"{subject}@{int(now.timestamp())}", now=now, days=_DAYS.get(signer, 3649))
            for signer, subject in _SUBJECTS.items()
        }

    def pem(self, *signers: Signer) -> str:
        """A PEM bundle of CA certificates."""
        return "".join(self.authorities[each].pem.decode() for each in signers)

    def issue(self, certificate: CertificateSpec, *, node: str, address: str) -> Credential:
        """The certificate of a listener on ``node`` at ``address``; replicas with the same names share it."""
        names = tuple(name.format(node=node, address=address) for name in certificate.names)
        if (certificate, names) not in self._issued:
            first, last = certificate.days
            self._issued[certificate, names] = self.authorities[certificate.signer].leaf(
                names=names,
                key=certificate.key,
                common_name=certificate.subject.format(node=node, address=address) or names[0],
                not_before=self.now + timedelta(days=first, minutes=-5),
                not_after=self.now + timedelta(days=last),
            )
        return self._issued[certificate, names]
