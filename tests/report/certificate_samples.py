"""The certificates of a realistic cluster: as configured and not, to be made again soon, late and never; and others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.inventory import CertificateReport, InventoryRow, RenewalRow, certificate_report
from scanner.model.row import KeyRow
from scanner.report.rows import finding_row, timestamp
from scanner.values import replace
from tests.report.samples import HOSTILE

NOW = datetime(2026, 11, 21, 10, 0, 3, tzinfo=UTC)
CONFIGURATION = "PKI/cluster: defaults RSA 2048, signer RSA 4096, serving ECDSA P384; last changed 2026-11-01"

P256: KeyRow = {"algorithm": "ECDSA", "size": None, "curve": "P256"}
P384: KeyRow = {"algorithm": "ECDSA", "size": None, "curve": "P384"}
RSA2: KeyRow = {"algorithm": "RSA", "size": 2048, "curve": None}
RSA4: KeyRow = {"algorithm": "RSA", "size": 4096, "curve": None}
UNREAD: KeyRow = {"algorithm": None, "size": None, "curve": None}

SIGNERS = "openshift-kube-apiserver-operator"
SERVERS = "openshift-kube-apiserver"
KAS = "kube-apiserver-operator"


def key_finding(
    name: str, verdict: Verdict, status: Status, said: str, *, severity: Severity = "medium", fix: str | None = None
) -> Finding:
    """What the rule on keys says of one certificate."""
    return Finding(
        rule="pki-key",
        severity=severity,
        verdict=verdict,
        status=status,
        message=f"{name}: {said}",
        expected=("RSA 4096",),
        observed=(f"CN={name}, SHA-256 {digest(name)}",),
        fix=fix,
        evidence=("its Secret says so", "PKI/cluster spec.categories[0].certificate.key: RSA 4096"),
        about=f"Secret/{SIGNERS}/{name} data[tls.crt]",
    )


def digest(name: str) -> str:
    """Something that looks like one, of its own for each name."""
    return name.encode("utf-8", "backslashreplace").hex()[:64].ljust(64, "0")


def row(
    name: str,
    category: str,
    key: KeyRow,
    days: int,
    finding: Finding | None = None,
    *,
    component: str = KAS,
    namespace: str | None = SERVERS,
    age: int = 10,
    renewal: RenewalRow | None = None,
    found: int = 1,
    tag: str = "",
) -> InventoryRow:
    """A certificate of the platform that ends in ``days``."""
    end = NOW + timedelta(days=days)
    return InventoryRow(
        sha256=digest(name + tag),
        cluster=None,
        names=[name],
        category=category,
        governed=True,
        why=f"{component} issues it",
        component=component,
        namespace=namespace,
        subject=f"CN={name}",
        issuer="CN=a-signer",
        key=key,
        not_before=timestamp(NOW - timedelta(days=age)),
        not_after=timestamp(end),
        verdict=finding.verdict if finding else "not_applicable",
        status=finding.status if finding else "not-required",
        renewal=renewal or {"rotates": "operator", "by": timestamp(end - timedelta(days=days // 4))},
        findings=[finding_row(finding)] if finding else [],
        places=[f"Secret/{namespace}/{name} data[tls.crt]"],
        found=found,
    )


def others(subject: str, days: int, key: KeyRow, *, governed: bool | None = False, found: int = 1) -> InventoryRow:
    """A certificate that is not the platform's, or of which nobody can tell."""
    made = row(subject, "serving", key, days, namespace="shop", found=found)
    made["names"], made["governed"], made["component"], made["renewal"] = [], governed, None, None
    made["places"] = ["Secret/shop/web data[tls.crt]"]
    made["why"] = (
        "namespace shop belongs to users, not to the platform" if governed is False else "nothing says who made it"
    )
    made["status"], made["verdict"] = (
        ("not-governed", "not_applicable") if governed is False else ("unattributed", "inconclusive")
    )
    return made


VIOLATES = key_finding(
    "etcd-signer", "fail", "violation", "its key is RSA 2048, and RSA 4096 is required, and it was made after that",
    fix="delete Secret openshift-etcd/etcd-signer, and its operator issues it again",
)  # fmt: skip
PENDING = key_finding(
    "kube-apiserver-lb-server", "fail", "pending-rotation", "its key is RSA 2048, and ECDSA P384 is required; it was"
    " made before that, and is renewed by 2026-12-04",
)  # fmt: skip
FORCED = key_finding(
    "kube-apiserver-lb-signer", "fail", "needs-forced-rotation", "its key is RSA 2048, and RSA 4096 is required;"
    " nothing renews it by itself", severity="low",
    fix=f"delete Secret {SIGNERS}/loadbalancer-serving-signer, and its operator issues it again; that breaks every"
    " kubeconfig that embeds the old CA",
)  # fmt: skip
IGNORED = key_finding(
    "router-ca", "fail", "not-implemented", "its key is RSA 2048, and RSA 4096 is required; ingress does not follow"
    " the PKI configuration yet", severity="info",
)  # fmt: skip
MET = key_finding("x", "pass", "ok", "its key is as it should be")
STRONGER = key_finding("x", "pass", "informational", "its key is RSA 4096, stronger than configured", severity="info")
UNKNOWN = key_finding("csr-signer-ca", "inconclusive", "not-tested", "the key cannot be read: unknown curve")

SAID = (VIOLATES, PENDING, FORCED, IGNORED, STRONGER, UNKNOWN)
"""What the report has among the findings on no endpoint."""


def rows() -> Iterator[InventoryRow]:
    """What the inventory of a cluster would give."""
    forever: RenewalRow = {"rotates": "never", "by": None}
    yield row("etcd-signer", "signer", RSA2, 1700, VIOLATES, component="etcd-operator", namespace="openshift-etcd")
    yield row("kube-apiserver-lb-signer", "signer", RSA2, 3200, FORCED, namespace=SIGNERS, age=450, renewal=forever)
    yield row("kube-apiserver-localhost-signer", "signer", RSA4, 3640, MET, namespace=SIGNERS, renewal=forever)
    yield row("aggregator-signer", "signer", RSA4, 25, MET, namespace=SIGNERS, found=9)
    yield row("router-ca", "signer", RSA2, 600, IGNORED, component="ingress-operator", namespace="openshift-ingress")
    yield row("csr-signer-ca", "signer", UNREAD, 28, UNKNOWN, component="kube-controller-manager-operator")
    renewed: RenewalRow = {"rotates": "operator", "by": "2026-12-04T00:00:00Z"}
    yield row("kube-apiserver-lb-server", "serving", RSA2, 17, PENDING, age=30, renewal=renewed)
    for number in range(3):
        yield row(
            "etcd-server", "serving", P384, 1000 + number, MET, component="etcd-operator",
            namespace="openshift-etcd", tag=str(number),
        )  # fmt: skip
    yield row("kube-apiserver-localhost-server", "serving", P384, 22, MET)
    yield row("aggregator-client", "client", RSA4, 21, STRONGER)
    yield row("network.peer", "peer", P256, 170, component="network-operator", namespace="openshift-ovn-kubernetes")
    yield others("shop.example,O=Shop", 5, RSA2)
    yield others("old.example", -12, RSA2, found=3)
    yield others("nobody.example", 80, P256, governed=None)
    yield others(HOSTILE, 400, {"algorithm": HOSTILE, "size": None, "curve": None})


def certificates() -> CertificateReport:
    """The section of a report."""
    return certificate_report(rows, [CONFIGURATION], NOW)


def many(count: int) -> Iterator[InventoryRow]:
    """As many certificates, every hundredth of which violates the configuration."""
    for number in range(count):
        name = f"etcd-signer-{number}"
        told = replace(VIOLATES, message=f"{name} violates") if number % 100 == 0 else MET
        yield row(name, "signer", RSA2 if number % 100 == 0 else RSA4, 30 + number % 3000, told)
