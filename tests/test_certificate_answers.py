"""What a PKI object asks of certificates whose names, makers and times are not plain: nothing unknown passes, and
nothing that is as it should be fails."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from scanner.certificates import READS, Certificates, inventory_row
from scanner.kube.kinds import MICROSHIFT_CONFIG, NAMESPACE, PKI, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.metrics import families
from scanner.model.endpoint import Owner
from scanner.model.finding import Finding
from scanner.model.inventory import InventoryRow, NamesRow, certificate_report
from scanner.model.scan_policy import Require, ScanPolicy
from scanner.report.formats import html, json_document, junit, text
from scanner.tls.certificate import parse_certificate
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import CONFORMING, ENDPOINT
from tests.pki.objects import secret
from tests.report import cluster_samples

pytestmark = pytest.mark.crypto

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OPERATOR = "openshift-kube-apiserver-operator"
P384 = {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}}
RSA_4096 = {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}
DOCUMENT = {"defaults": P384}


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def pki(spec: dict[str, Any] = DOCUMENT, *, made: float = 100, **metadata: object) -> dict[str, Any]:
    """PKI/cluster, made so many days ago and never changed, unless ``metadata`` says otherwise."""
    named = {"name": "cluster", "creationTimestamp": ago(made).isoformat(), **metadata}
    return {"kind": "PKI", "metadata": named, "spec": spec}


def managed(days: float, **fields: object) -> dict[str, object]:
    """An entry of managedFields: ``spec``, and what else its manager owns."""
    owned = {f"f:{name}": value for name, value in fields.items()}
    return {"manager": "oc", "operation": "Update", "time": ago(days).isoformat(), "fieldsV1": owned}


def snapshot(*objects: dict[str, Any], release: str = "4.22.0", file: dict[str, Any] | None = None) -> Snapshot:
    every = [
        {"kind": "ClusterVersion", "metadata": {"name": "version"}, "status": {"desired": {"version": release}}},
        {
            "kind": "FeatureGate",
            "metadata": {"name": "cluster"},
            "status": {"featureGates": [{"version": release, "enabled": [{"name": "ConfigurablePKI"}]}]},
        },
        *objects,
    ]
    kinds = (*READS, SECRET)
    held: dict[Kind, tuple[KubeObject, ...]] = {
        kind: tuple(KubeObject(each, kind) for each in every if each["kind"] == kind.name) for kind in kinds
    }
    if file is not None:
        held[MICROSHIFT_CONFIG] = (KubeObject(file, MICROSHIFT_CONFIG),)
    return Snapshot(taken_at=NOW, origin=Origin(name="test"), objects=held)


def signer(path: str, key: str = "rsa2048", *, days: float = 5, name: str = "") -> dict[str, Any]:
    """A Secret with a signer that was made so many days ago, named as operators name theirs."""
    called = name or f"{path.replace('/', '_')}@{int(ago(days).timestamp())}"
    authority = Authority(called, key=key, now=ago(days - 1))  # type: ignore[arg-type] # a kind of key
    namespace, _, kept = path.partition("/")
    return secret(namespace, kept, [authority.pem])


def bundle(path: str, *authorities: bytes) -> dict[str, Any]:
    namespace, _, name = path.partition("/")
    text = b"".join(authorities).decode()
    return {"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": {"ca-bundle.crt": text}}


def rows(found: Certificates) -> dict[str, InventoryRow]:
    """By the first place of each."""
    return {row["places"][0].split(" ")[0]: row for row in found.rows()}


def status(found: Certificates, path: str) -> tuple[str, str]:
    (row,) = (row for place, row in rows(found).items() if place.endswith(path))
    return row["verdict"], row["status"]


def key_findings(found: Certificates) -> list[Finding]:
    return [each for each in found.findings() if each.rule == "pki-key"]


# --- What is not recognised -------------------------------------------------------------------------------------------


def test_a_signer_without_a_known_name_is_judged_by_the_defaults_of_its_category() -> None:
    cluster = snapshot(
        pki({"defaults": P384, "categories": [{"category": "SignerCertificate", "certificate": RSA_4096}]}),
        signer(f"{OPERATOR}/new-fancy-signer"),
        signer(f"{OPERATOR}/older-signer", days=200),
        signer(f"{OPERATOR}/right-signer", "rsa4096"),
        secret("openshift-newthing", "serving", [Authority("corporate", now=ago(5)).leaf(names=("x.example",)).pem]),
    )
    found = Certificates(cluster)
    assert status(found, "new-fancy-signer") == ("fail", "violation")
    assert status(found, "older-signer") == ("fail", "pending-rotation")
    assert status(found, "right-signer") == ("inconclusive", "unattributed")  # an override may ask for another key
    assert status(found, "serving") == ("inconclusive", "not-tested")
    told = {each.about: each.message for each in key_findings(found)}
    assert "it has no known name, and its name has the spelling of operators" in str(told)
    assert "if the platform issued it, ECDSA P384 is required" in str(told)


def test_what_is_not_recognised_never_counts_as_required() -> None:
    """Neither by the policy's minimum, where the PKI object asks for something."""
    authority = Authority("corporate", key="rsa4096")
    leaf = authority.leaf(names=("x.example",), key=authority.key, not_before=ago(5))
    holder = secret("openshift-newthing", "serving", [leaf.pem])
    assert status(Certificates(snapshot(pki({"defaults": RSA_4096}), holder)), "serving")[1] == "unattributed"
    found = Certificates(snapshot(pki({"defaults": RSA_4096}), holder))
    (entry,) = found.inventory.entries()
    assert not [each for each in entry.findings if each.rule == "pki-key"], "an override may ask for another key"
    silent = pki({"certificateManagement": {"mode": "Unmanaged"}})
    assert status(Certificates(snapshot(silent, holder)), "serving") == ("pass", "ok")


def serve(found: Certificates, authority: Authority, component: str | None, *, self_signed: bool = False) -> None:
    make = authority.self_signed if self_signed else authority.leaf
    leaf = make(names=("api.example",), not_before=ago(5), key=authority.key)
    owner = Owner(kind="StaticPod", namespace="openshift-kube-apiserver", name="kube-apiserver")
    endpoint = replace(ENDPOINT, id="there:6443", port=6443, component=component, owner=owner)
    found.serve(endpoint, replace(CONFORMING, chain=(parse_certificate(leaf.der),)))


def test_what_a_component_serves_without_a_known_name_does_not_pass() -> None:
    expected = {
        ("kube-apiserver", True): ("fail", "violation"),
        ("kube-apiserver", False): ("inconclusive", "not-tested"),  # an administrator's, or an operator's
        ("router", True): ("inconclusive", "unattributed"),  # a user's Route, most often
    }
    for (component, self_signed), verdict in expected.items():
        found = Certificates(snapshot(pki()))
        serve(found, Authority("corporate", key="rsa2048"), component, self_signed=self_signed)
        assert status(found, "there:6443") == verdict


@pytest.mark.parametrize(("override", "verdict"), [(True, "violation"), (False, "ok")])
def test_a_registered_name_is_recognised(override: bool, verdict: str) -> None:
    spec: dict[str, Any] = {"defaults": RSA_4096}
    if override:
        spec["overrides"] = [{"certificateName": "newthing-signer", "certificate": P384}]
    definition = {
        "kind": "PKICertificateDefinition",
        "metadata": {"name": "newthing", "namespace": "openshift-config"},
        "spec": {
            "component": "newthing-operator",
            "certificates": [{"name": "newthing-signer", "category": "SignerCertificate"}],
        },
    }
    found = Certificates(
        snapshot(pki(spec), definition, signer("openshift-newthing/newthing-signer", "rsa4096", name="x"))
    )
    assert status(found, "newthing-signer")[1] == verdict
    (row,) = rows(found).values()
    assert (row["names"], row["component"]) == (["newthing-signer"], "newthing-operator")


# --- Operators that do not follow the object --------------------------------------------------------------------------


HOSTED = {
    "kind": "HostedControlPlane",
    "metadata": {"name": "prod", "namespace": "clusters-prod"},
    "spec": {},
}
BY_NAME = {"defaults": P384, "overrides": [{"certificateName": "etcd-signer", "certificate": RSA_4096}]}
REQUIRED = ScanPolicy(require=Require(pki_not_implemented=True))


@pytest.mark.parametrize("path", ["openshift-etcd/etcd-signer", "clusters-prod/etcd-signer"])
@pytest.mark.parametrize(
    ("spec", "policy", "expected"),
    [
        (DOCUMENT, ScanPolicy(), ("not-implemented", "info")),
        (BY_NAME, ScanPolicy(), ("not-implemented", "low")),
        (DOCUMENT, REQUIRED, ("violation", "medium")),
        (BY_NAME, REQUIRED, ("violation", "medium")),
    ],
)
def test_who_does_not_follow_the_object_is_told_and_counted_where_the_policy_asks(
    path: str, spec: dict[str, Any], policy: ScanPolicy, expected: tuple[str, str]
) -> None:
    """The control planes that HyperShift runs here are governed as everything else is."""
    found = Certificates(snapshot(pki(spec), HOSTED, signer(path)), policy)
    (told,) = key_findings(found)
    assert (told.status, told.severity) == expected
    assert told.verdict == "fail"
    owner = "hypershift" if path.startswith("clusters") else "etcd"
    assert f"{owner} follows the PKI object in no release that is known" in told.message


def test_an_operator_follows_the_object_from_some_release_on() -> None:
    path = f"{OPERATOR}/loadbalancer-serving-signer"
    for release, expected in (("4.22.0", "violation"), ("5.1.3", "violation"), ("", "violation")):
        found = Certificates(snapshot(pki(), signer(path), release=release))
        assert status(found, path)[1] == expected
    older = snapshot(pki(), signer(path), release="4.21.9")
    assert Certificates(older)._names.release == "4.21.9"
    assert not any(each.owner.implements for each in Certificates(older)._names.all)


# --- Times ------------------------------------------------------------------------------------------------------------


LABELS: dict[str, Any] = {"f:labels": {"f:x": {}}}
APPLIED: dict[str, Any] = {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}


@pytest.mark.parametrize(
    ("generation", "entries", "expected"),
    [
        (1, [managed(1, spec={}, metadata=LABELS)], "violation"),  # a label was edited: the spec is as it was created
        (1, [managed(1, spec={})], "violation"),
        (2, [managed(50, spec={}), managed(1, metadata=LABELS)], "violation"),
        (2, [managed(1, spec={})], "pending-rotation"),
        (2, [managed(1, spec={}, metadata=APPLIED)], "pending-rotation"),
        (2, [managed(1, spec={}, metadata=LABELS)], "not-tested"),  # either may have moved the time
        (2, [managed(50, spec={}, metadata=LABELS)], "violation"),  # both were before
        (2, [], "not-tested"),
    ],
)
def test_the_change_of_the_spec_is_not_that_of_its_labels(
    generation: int, entries: list[dict[str, object]], expected: str
) -> None:
    path = f"{OPERATOR}/loadbalancer-serving-signer"
    changed = pki(generation=generation, managedFields=entries)
    # The operator renews this one, so an older one waits.
    renewed = signer(f"{OPERATOR}/kube-apiserver-to-kubelet-signer", days=5)
    found = Certificates(snapshot(changed, renewed))
    assert status(found, "kubelet-signer")[1] == expected
    assert path


def test_a_file_without_a_date_can_be_violated_and_says_why() -> None:
    path = f"{OPERATOR}/loadbalancer-serving-signer"
    file = {"kind": "MicroShiftConfig", "metadata": {"name": "node"}, "pki": DOCUMENT}
    found = Certificates(snapshot(signer(path, days=900), file=file))
    (told,) = key_findings(found)
    assert told.status == "violation"
    assert "/etc/microshift/config.yaml has no date, so it counts as in force from the beginning" in told.message


# --- Signers in bundles -----------------------------------------------------------------------------------------------


SECRET_PATH = f"{OPERATOR}/kube-control-plane-signer"
BUNDLE = f"{OPERATOR}/kube-control-plane-signer-ca"


def control_plane(days: float, key: str, issuer: Authority | None = None, now: float | None = None) -> Authority:
    called = f"{OPERATOR}_kube-control-plane-signer@{int(ago(days).timestamp())}"
    moment = ago((days if now is None else now) - 1)
    return Authority(called, key=key, now=moment, issuer=issuer)  # type: ignore[arg-type] # a kind of key


NEW = control_plane(3, "p384")
OLD = control_plane(30, "rsa2048")
CROSSED = control_plane(30, "rsa2048", issuer=NEW, now=2)
"""The old key, signed by the new signer: its own notBefore is later than the new signer's."""


def of_bundle(*others: dict[str, Any], held: tuple[Authority, ...]) -> Certificates:
    return Certificates(snapshot(pki(made=10), *others, bundle(BUNDLE, *(each.pem for each in held))))


def by_subject(found: Certificates) -> Iterator[tuple[str, str, str | None]]:
    for entry in found.inventory.entries():
        row = inventory_row(entry)
        kind = "new" if str(int(ago(3).timestamp())) in (row["subject"] or "") else "old"
        fix = next((each.fix for each in entry.findings if each.fix), None)
        yield kind, row["status"], fix


@pytest.mark.parametrize("with_secret", [True, False])
@pytest.mark.parametrize("held", [(NEW, CROSSED), (CROSSED, NEW), (NEW, OLD, CROSSED), (OLD, NEW)])
def test_of_the_signers_in_a_bundle_the_active_one_is_judged(held: tuple[Authority, ...], with_secret: bool) -> None:
    namespace, _, name = SECRET_PATH.partition("/")
    others = (secret(namespace, name, [NEW.pem]),) if with_secret else ()
    found = of_bundle(*others, held=held)
    assert sorted(set(by_subject(found))) == [("new", "ok", None), ("old", "superseded", None)]
    superseded = [each for entry in found.inventory.entries() if entry.superseded for each in entry.findings]
    assert {(each.rule, each.verdict, each.status) for each in superseded if each.rule == "pki-key"} == {
        ("pki-key", "not_applicable", "informational")
    }


def test_a_cross_signed_certificate_alone_is_as_old_as_its_key() -> None:
    (told,) = by_subject(of_bundle(held=(CROSSED,)))
    assert told[1] == "pending-rotation"


def test_the_fix_for_a_signer_in_a_bundle_looks_into_the_secret_first() -> None:
    (told,) = by_subject(of_bundle(held=(control_plane(5, "rsa2048"),)))
    assert told[1] == "violation"
    assert told[2] is not None
    assert told[2].startswith(f"if Secret {SECRET_PATH} still has this certificate, delete it")
    namespace, _, name = SECRET_PATH.partition("/")
    weak = control_plane(5, "rsa2048")
    (active,) = by_subject(of_bundle(secret(namespace, name, [weak.pem]), held=(weak,)))
    assert active[2] is not None
    assert active[2].startswith(f"delete Secret {SECRET_PATH}")


def test_a_tenants_imitation_of_the_service_ca_fails_nothing() -> None:
    called = f"openshift-service-serving-signer@{int(ago(50).timestamp())}"
    real, own = Authority(called, key="p384", now=ago(50)), Authority(called, key="rsa2048", now=ago(5))
    weak = {"names": ("web.shop.svc",), "not_before": ago(2)}
    mine = own.leaf(key=own.key, **weak)  # type: ignore[arg-type] # its words
    true = real.leaf(key=own.key, **weak)  # type: ignore[arg-type] # its words
    known = bundle("openshift-service-ca/signing-cabundle", real.pem)
    holders = (secret("shop", "mine", [mine.pem]), secret("shop", "true", [true.pem]))
    found = Certificates(snapshot(pki(), known, *holders))
    assert status(found, "shop/mine")[1] in ("ok", "not-governed")
    assert status(found, "shop/true") == ("fail", "violation")
    without = Certificates(snapshot(pki(), *holders))
    assert {status(without, path)[0] for path in ("shop/mine", "shop/true")} <= {"inconclusive", "pass"}


# --- What was never seen ----------------------------------------------------------------------------------------------


def namespaces(*names: str) -> list[dict[str, Any]]:
    return [{"kind": "Namespace", "metadata": {"name": each}} for each in ("kube-system", *names)]


def seen(
    *objects: dict[str, Any], asked: Collection[tuple[str, str]] = (), file: dict[str, Any] | None = None
) -> NamesRow:
    held = replace(snapshot(*objects, file=file), requested={SECRET: frozenset(asked)} if asked else {})
    row = Certificates(held).names_seen()
    assert row is not None
    return row


def test_the_governed_names_are_listed_by_what_was_seen_of_them() -> None:
    row = seen(
        pki(),
        *namespaces("openshift-etcd", "openshift-kube-apiserver-operator", "openshift-kube-apiserver"),
        signer(f"{OPERATOR}/loadbalancer-serving-signer"),
        secret(
            OPERATOR, "localhost-serving-signer", [b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"]
        ),
        asked={("openshift-etcd", "etcd-signer"), ("openshift-config", "etcd-signer")},
    )
    assert row["judged"] == ["kube-apiserver-lb-signer"]
    assert row["unknown"] == ["kube-apiserver-localhost-signer"]
    assert "kube-control-plane-signer" in row["never_seen"]
    # No such namespace, looked for and not there, on other platforms only, in files of people and nodes only.
    there = {"service-ca", "etcd-signer", "ironic-server", "admin-kubeconfig-client", "kubelet-node-client"}
    assert there <= set(row["elsewhere"])
    # What an operator's has replaced on the first day, and what the platform has given up.
    assert not {"kubelet-signer", "aggregator-ca"} & {*row["never_seen"], *row["elsewhere"]}
    assert not row["complete"]
    assert f"names that were not found: {len(row['never_seen'])}" in row["why"]
    assert "seen and not judged: 1" in row["why"]


def test_a_name_is_elsewhere_only_where_the_cluster_is_known_not_to_have_it() -> None:
    held = snapshot(pki(), *namespaces(OPERATOR))
    row = Certificates(held).names_seen()
    assert row is not None
    assert "service-ca" in row["elsewhere"]  # its namespace does not exist
    assert "monitoring.grpc-tls-signer" in row["never_seen"]  # no Secret is known for it, so its absence shows nothing
    assert "not judged" not in row["why"]
    gap = Unreadable(kind=NAMESPACE, gap="forbidden", reason="403")
    unread = Certificates(replace(held, unreadable={NAMESPACE: gap})).names_seen()
    assert unread is not None
    assert "service-ca" in unread["never_seen"]


def test_a_secret_is_looked_for_only_in_the_namespaces_that_exist() -> None:
    asked = {("openshift-etcd", "etcd-signer"), ("openshift-etcd", "another")}
    assert "etcd-signer" in seen(pki(), *namespaces("openshift-etcd"), asked=asked)["elsewhere"]
    both = seen(pki(), *namespaces("openshift-etcd", "openshift-config"), asked=asked)
    assert "etcd-signer" in both["never_seen"]


def test_names_of_hosted_control_planes_are_asked_for_only_where_there_are_some() -> None:
    row = seen(pki(), *namespaces(OPERATOR))
    assert not [each for each in (*row["never_seen"], *row["elsewhere"]) if each.startswith("control-plane-pki.")]


@pytest.mark.parametrize(("platform", "elsewhere"), [("AWS", True), ("BareMetal", False), ("", False)])
def test_what_only_another_platform_has_is_not_missing(platform: str, elsewhere: bool) -> None:
    infrastructure = {
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {"platformStatus": {"type": platform}},
    }
    row = seen(pki(), infrastructure, *namespaces("openshift-machine-api", OPERATOR))
    assert ("ironic-server" in row["elsewhere"]) == elsewhere
    assert ("ironic-server" in row["never_seen"]) != elsewhere
    # Of what every platform has nothing is known by that.
    assert "kube-apiserver-lb-signer" in row["never_seen"]


def test_without_secrets_the_coverage_says_what_would_show_more() -> None:
    row = seen(pki(), *namespaces(OPERATOR))
    assert "Secrets were not read (--secrets)" in row["why"]
    assert "--secrets" not in seen(pki(), *namespaces(OPERATOR), signer(f"{OPERATOR}/x"))["why"]


@pytest.mark.parametrize("spec", [{"certificateManagement": {"mode": "Unmanaged"}}, {}])
def test_where_nothing_is_required_nothing_is_missing(spec: dict[str, Any]) -> None:
    assert Certificates(snapshot(pki(spec))).names_seen() is None


def test_an_object_that_could_not_be_read_leaves_every_name_open() -> None:
    gap = Unreadable(kind=PKI, gap="forbidden", reason="403")
    held = replace(snapshot(signer(f"{OPERATOR}/loadbalancer-serving-signer")), unreadable={PKI: gap})
    row = Certificates(held).names_seen()
    assert row is not None
    assert (row["judged"], row["unknown"], row["complete"]) == ([], ["kube-apiserver-lb-signer"], False)


def test_microshift_and_guests_are_not_asked_for_what_is_not_theirs() -> None:
    file = {"kind": "MicroShiftConfig", "metadata": {"name": "node"}, "pki": DOCUMENT}
    row = seen(file=file)
    assert (row["never_seen"], row["complete"]) == ([], False)
    assert "adhere certs reads them" in row["why"]
    guest = {"kind": "Infrastructure", "metadata": {"name": "cluster"}, "status": {"controlPlaneTopology": "External"}}
    asked = seen(pki(), guest, *namespaces("openshift-service-ca"))
    assert "service-ca" in asked["never_seen"]
    assert not {"kube-apiserver-lb-signer", "etcd-signer"} & {*asked["never_seen"], *asked["elsewhere"]}


def test_every_format_says_what_was_never_seen() -> None:
    row = seen(pki(), *namespaces(OPERATOR))
    found = certificate_report(lambda: iter(()), [], NOW, [row])
    report = replace(cluster_samples.report([]), certificates=found)
    count = len(row["never_seen"])
    for write in (text.write, html.write, junit.write, json_document.write):
        out = StringIO()
        write(report, out)
        said = out.getvalue()
        assert row["never_seen"][0] in said, write
        if write in (text.write, html.write):
            assert f"{count} never seen" in said, write
            assert "NOT COMPLETE" in said, write
    out = StringIO()
    text.write(report, out)
    assert [line for line in out.getvalue().splitlines() if line.startswith("  PKI names")]
    told = {
        (each.name, sample.labels.get("state")): sample.value for each in families(report) for sample in each.samples
    }
    assert told["adhere_pki_names", "never_seen"] == count
    assert told["adhere_pki_names_complete", None] == 0
