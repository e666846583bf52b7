"""Rows of certificates: what each is, whose, how it was judged, and when it is made again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scanner.certificates import configuration_line, inventory_row
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.inventory import certificate_report
from scanner.model.pki_config import RSA_2048, Key, PkiConfig, Rule
from scanner.pki.inventory import Entry, collect
from scanner.values import replace
from tests.pki.inventories import NOW, PKI_OBJECT, SECRET, inventory
from tests.pki.making import made

pytestmark = pytest.mark.crypto

LEAF = made("172.30.0.1", "kube-apiserver-localhost-signer", eku=("serverAuth",), sans=("localhost",))
BUNDLE = Reference(kind="ConfigMap", namespace="openshift-config-managed", name="kube-apiserver-server-ca")


def entry(pki: dict[str, object] | None = None, /, **place: object) -> Entry:
    held = HeldCertificate(facts=LEAF, place=Place(**{"role": "leaf", **place}))  # type: ignore[arg-type] # its fields
    (found,) = collect(inventory(pki), [held]).entries()
    return found


def test_a_certificate_of_the_platform() -> None:
    row = inventory_row(entry(PKI_OBJECT, reference=SECRET, field="data[tls.crt]"), "prod")
    assert row["names"] == ["kube-apiserver-localhost-server"]
    assert (row["cluster"], row["category"], row["governed"]) == ("prod", "serving", True)
    assert (row["component"], row["namespace"]) == ("kube-apiserver-operator", "openshift-kube-apiserver")
    assert row["key"] == {"algorithm": "ECDSA", "size": None, "curve": "P256"}
    assert (row["not_before"], row["not_after"]) == ("2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z")
    assert (row["verdict"], row["status"]) == ("fail", "violation")
    assert row["renewal"] == {"rotates": "operator", "by": "2026-09-16T00:00:00Z"}
    assert row["findings"][0]["rule"] == "pki-key"
    assert (row["places"], row["found"]) == ([f"{SECRET} data[tls.crt]"], 1)


def test_a_signer_in_a_bundle_belongs_where_its_operator_keeps_it() -> None:
    facts = made("kube-apiserver-localhost-signer", ca=True)
    held = HeldCertificate(facts=facts, place=Place(role="trusted", reference=BUNDLE, field="data[ca-bundle.crt]"))
    (found,) = collect(inventory(), [held]).entries()
    row = inventory_row(found)
    assert row["names"] == ["kube-apiserver-localhost-signer"]
    assert row["namespace"] == "openshift-kube-apiserver-operator"
    assert row["renewal"] == {"rotates": "never", "by": None}


@pytest.mark.parametrize(
    ("place", "governed", "verdict", "status"),
    [
        ({"reference": SECRET}, True, "not_applicable", "not-required"),
        ({"file": "x.pem"}, None, "inconclusive", "unattributed"),
        ({"endpoint": "x", "user_provided": "APIServer/cluster"}, False, "not_applicable", "not-governed"),
        ({"reference": Reference(kind="Secret", namespace="shop", name="x")}, False, "not_applicable", "not-governed"),
    ],
)
def test_what_nobody_judged_is_no_pass(
    place: dict[str, object], governed: bool | None, verdict: str, status: str
) -> None:
    found = entry(**place)
    row = inventory_row(replace(found, findings=()))
    assert (row["governed"], row["verdict"], row["status"]) == (governed, verdict, status)


def said(verdict: Verdict, status: Status, severity: Severity = "medium") -> Finding:
    return Finding(rule="r", severity=severity, verdict=verdict, status=status, message="m")


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ((said("pass", "ok"), said("fail", "violation")), "violation"),
        ((said("fail", "pending-rotation"), said("fail", "violation", "low")), "violation"),
        ((said("pass", "ok"), said("inconclusive", "not-tested")), "not-tested"),
        ((said("pass", "informational", "info"), said("pass", "ok")), "ok"),
        ((said("pass", "informational", "info"),), "not-required"),
        ((replace(said("pass", "informational", "info"), rule="pki-key"),), "informational"),
    ],
)
def test_the_finding_that_matters_most_decides(findings: tuple[Finding, ...], status: str) -> None:
    for told in (findings, findings[::-1]):
        assert inventory_row(replace(entry(reference=SECRET), findings=told))["status"] == status


def test_what_cannot_be_read_is_null() -> None:
    row = inventory_row(replace(entry(reference=SECRET), key=None, subject=None, not_before=None, not_after=None))
    assert row["key"] == {"algorithm": None, "size": None, "curve": None}
    assert (row["subject"], row["not_before"], row["not_after"]) == (None, None, None)
    assert row["renewal"] == {"rotates": "operator", "by": None}


def test_the_sums() -> None:
    rows = [inventory_row(entry(PKI_OBJECT, reference=SECRET)), inventory_row(entry(file="x.pem"))]
    rows[1]["status"], rows[1]["renewal"] = "pending-rotation", {"rotates": "operator", "by": "2027-01-05T00:00:00Z"}
    found = certificate_report(lambda: iter(rows), ["PKI/cluster: x"], NOW).summary
    assert (found["certificates"], found["governed"], found["not_governed"], found["unattributed"]) == (2, 1, 0, 1)
    assert found["keys"] == [{"key": "ECDSA P256", "category": "serving", "count": 2}]
    assert found["statuses"] == {"pending-rotation": 1, "violation": 1}
    assert (found["pending"], found["pending_until"]) == (1, "2027-01-05T00:00:00Z")
    assert found["ends"][0] == {"from_days": None, "to_days": 0, "categories": {"serving": 2}}
    assert found["ends"][-1] == {"from_days": 3650, "to_days": None, "categories": {}}


@pytest.mark.parametrize(
    ("end", "step"),
    [
        ("2026-11-20T23:59:59Z", 0),
        ("2026-11-21T00:00:00Z", 1),
        ("2026-11-28T00:00:00Z", 2),
        ("9999-12-31T00:00:00Z", 9),
    ],
)
def test_each_end_is_in_one_step(end: str, step: int) -> None:
    row = inventory_row(entry(file="x.pem"))
    row["not_after"] = end
    counted = [
        sum(each["categories"].values()) for each in certificate_report(lambda: iter([row]), [], NOW).summary["ends"]
    ]
    assert [number for number, count in enumerate(counted) if count] == [step]


def test_keys_of_odd_sizes_are_counted_together() -> None:
    rows = [inventory_row(entry(file="x.pem")) for _ in range(100)]
    for number, row in enumerate(rows):
        row["key"] = {"algorithm": "RSA", "size": 2048 + number, "curve": None}
    keys = certificate_report(lambda: iter(rows), [], NOW).summary["keys"]
    assert len(keys) == 41
    assert keys[0] == {"key": "(others)", "category": "serving", "count": 60}


def test_an_end_that_cannot_be_read_is_counted_apart() -> None:
    row = inventory_row(replace(entry(file="x.pem"), not_after=None))
    summary = certificate_report(lambda: iter([row]), [], NOW).summary
    assert summary["ends_unknown"] == 1
    assert not any(each["categories"] for each in summary["ends"])


CONFIG = PkiConfig(
    source="PKI/cluster",
    shape="document",
    defaults=Rule(key=RSA_2048, field="spec.defaults.key"),
    categories={"signer": Rule(key=Key(algorithm="RSA", size=4096), field="x")},
    overrides={"etcd-signer": Rule(key=Unknown("odd"), field="y")},
    since=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            CONFIG,
            "PKI/cluster: defaults RSA 2048, signer RSA 4096, etcd-signer unknown (odd); last changed 2026-01-01",
        ),
        (replace(CONFIG, reason="gate-off", platform_said="the gate is off"), "PKI/cluster: the gate is off"),
        (PkiConfig(source="PKI/cluster", platform_said="mode Default"), "PKI/cluster: mode Default"),
        (PkiConfig(source="PKI/cluster"), "PKI/cluster: nothing is configured"),
    ],
)
def test_the_configuration_in_a_line(config: PkiConfig, line: str) -> None:
    assert configuration_line(config) == line


@pytest.mark.parametrize(
    ("since", "vague", "said"),
    [
        (NOW, False, f"; last changed {NOW.date().isoformat()}"),
        (NOW, True, f"; changed after {NOW.date().isoformat()}, the time is unknown"),
        (datetime.min.replace(tzinfo=UTC), False, ""),  # an install-config's
        (None, False, ""),
    ],
)
def test_the_line_of_a_configuration_says_since_when(since: datetime | None, vague: bool, said: str) -> None:
    rule = Rule(key=RSA_2048, field="spec.defaults.key")
    config = PkiConfig(source="PKI/cluster", defaults=rule, since=since, since_vague=vague)
    assert configuration_line(config) == f"PKI/cluster: defaults RSA 2048{said}"
