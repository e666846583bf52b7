"""Certificates as rules look at them: an etcd-server without fault; each test states its deviation alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from scanner.kube.objects import Reference
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.pki_config import RSA_2048, Key, PkiConfig, Rule
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Owner, Recognition, WellKnown
from scanner.pki.recognition import Classified
from scanner.pki.subject import Subject
from scanner.tls.certificate import CertificateFacts

NOW = datetime(2026, 11, 21, tzinfo=UTC)
DAY = timedelta(days=1)
P256 = Key(algorithm="ECDSA", curve="P256")
P384 = Key(algorithm="ECDSA", curve="P384")
CONFIG = PkiConfig(
    source="PKI/cluster",
    shape="document",
    defaults=Rule(key=P256, field="spec.defaults.key"),
    platform={"serving": RSA_2048, "client": RSA_2048, "signer": RSA_2048},
    platform_said="the platform's default",
    since=NOW - 100 * DAY,
)
SILENT = PkiConfig(source="PKI/cluster", reason="gate-off", platform_said="the feature gate is off")
LEAF = CertificateFacts(
    der=b"leaf",
    sha256="ab" * 32,
    subject="CN=etcd",
    issuer="CN=etcd-signer",
    dns_names=("localhost",),
    ip_addresses=("10.0.0.1",),
    other_names=(),
    not_before=NOW - 100 * DAY,
    not_after=NOW + 995 * DAY,
    key_algorithm="ECDSA",
    key_size=256,
    curve="P-256",
    key_sha256="01" * 32,
    signature="ecdsa-with-SHA256",
    signature_hash="SHA256",
    is_ca=False,
    extended_key_usage=("serverAuth",),
)
NAME = WellKnown(
    name="etcd-server",
    origin="enhancement",
    category="serving",
    shipped_category="serving",
    owner=Owner(name="etcd", operator="etcd", implements=True),
    rotates="operator",
    days=1095,
    refresh_days=912,
    delete=("openshift-etcd/etcd-serving-*",),
    breaks="nothing one node at a time",
    recognition=Recognition(),
)
SECRET = Place(
    role="leaf",
    reference=Reference(kind="Secret", namespace="openshift-etcd", name="etcd-serving-a"),
    field="data[tls.crt]",
)
SERVED = Place(role="leaf", endpoint="StaticPod/openshift-etcd/etcd:2379", port=2379, component="etcd")


def classified(*names: WellKnown, governed: bool | None = True, why: str = "etcd makes it") -> Classified:
    return Classified(
        names=names, category="serving", use="serving", because="by its Secret", governed=governed, why=why
    )


def subject(
    facts: CertificateFacts = LEAF,
    *,
    told: Classified | None = None,
    place: Place = SECRET,
    chain: tuple[CertificateFacts, ...] = (),
    config: PkiConfig = CONFIG,
    policy: ScanPolicy = ScanPolicy(),
    first_made: datetime | None = None,
) -> Subject:
    return Subject(
        held=HeldCertificate(facts=facts, place=place, chain=chain),
        classified=told or classified(NAME),
        config=config,
        now=NOW,
        policy=policy,
        first_made=first_made,
        lifetimes={"signer": (1, 3650), "serving": (30, 365), "client": (1, 30)},
    )
