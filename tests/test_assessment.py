"""What a report says of clusters beside their endpoints: their certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scanner.assessment import Viewpoint, assess, cluster_row, names_seen, surroundings
from scanner.demo.tls_server import TlsSettings
from scanner.jobs import Job, Surroundings, TargetRequirements, at, of_targets
from scanner.kube.kinds import API_SERVER
from scanner.kube.objects import KubeObject
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile
from scanner.scan import Settings, scan
from scanner.tls.codepoints import TLS10, TLS12
from scanner.values import replace
from tests.assessed import looked_at
from tests.expect.stories import endpoint, load
from tests.judge.cases import CONFORMING
from tests.pki.operand_certificates import ETCD, LEAF
from tests.servers import ordinary, tls_listener

pytestmark = pytest.mark.crypto

NOW = datetime(2026, 11, 21, tzinfo=UTC)


async def test_what_was_served_during_the_scan_is_in_its_report(tmp_path: Path) -> None:
    cluster = looked_at("kubeadm", "prod")
    limits = Limits(timeout=2)
    with RowFile(tmp_path / "rows") as rows:
        async with tls_listener() as server:
            target = Target(host=server.sockaddr[0], port=server.sockaddr[1])
            jobs = of_targets([target], TargetRequirements(profile=load_profile("intermediate@4.22")))
            heard = (replace(job, serve=cluster.certificates.serve) for job in jobs)
            report = await scan(
                heard, Settings(limits=limits), rows, lambda _: None, Gate(limits), surroundings([cluster])
            )
        (row,) = report.rows()
    assert report.certificates is not None
    leaf = (row["observed"]["chain"] or [])[0]
    (kept,) = [each for each in report.certificates.rows() if each["sha256"] == leaf["sha256"]]
    assert kept["places"] == [row["id"]]
    assert kept["cluster"] is None
    assert report.certificates.summary["certificates"] == len(list(report.certificates.rows()))


@pytest.mark.parametrize("oldest", [TLS10, TLS12])
async def test_on_plain_kubernetes_every_listener_that_answers_is_judged(tmp_path: Path, oldest: int) -> None:
    """Without ``--profile`` by Mozilla's intermediate, whoever owns it and whatever is known of its flags."""
    cluster, limits = looked_at("kubeadm", "prod"), Limits(timeout=2)
    names = ("StaticPod/kube-system/kube-scheduler:10259", "Node/cp:10250", "Deployment/shop/web:8443")
    with RowFile(tmp_path / "rows") as rows:
        weak = "ECDHE+AESGCM:ECDHE+AES:@SECLEVEL=0" if oldest == TLS10 else "ECDHE+AESGCM"
        settings = TlsSettings(credential=ordinary(), min_version=oldest, ciphers=weak)
        async with tls_listener(settings) as server:
            address, port = server.sockaddr[:2]
            ends = [replace(at(endpoint(name, {"node": "cp"}), address), port=port) for name in names]
            jobs = [Job(endpoint=each, owes=cluster.expectations.of) for each in ends]
            asked = Settings(mode="verdict", limits=limits)
            report = await scan(jobs, asked, rows, lambda _: None, Gate(limits), surroundings([cluster]))
        found = {row["id"]: row for row in report.rows()}
    assert sorted(found) == sorted(names)
    for row in found.values():
        assert row["expected"]["profile"] is not None
        assert row["expected"]["profile"].startswith("mozilla/5.8/intermediate")
        rules = {each["rule"]: each["verdict"] for each in row["findings"] if each["rule"].startswith("tls-")}
        assert rules["tls-version"] == ("fail" if oldest == TLS10 else "pass")


def test_of_several_clusters_each_certificate_says_whose_it_is() -> None:
    clusters = [looked_at("kubeadm", "here"), looked_at("single-node", "there")]
    for each in clusters:
        each.certificates.serve(ETCD, replace(CONFORMING, chain=(LEAF,)))
    certificates = surroundings(clusters).certificates
    assert certificates is not None
    found = certificates(NOW)
    assert [each["cluster"] for each in found.rows()] == ["here", "there"]
    assert found.summary["certificates"] == 2
    assert [line.partition(":")[0] for line in found.summary["configurations"]] == ["here", "there"]


@pytest.mark.parametrize(("age", "known"), [(timedelta(days=3), 1), (timedelta(minutes=-20), 0), (None, 0)])
def test_the_report_has_the_time_of_the_last_change_of_the_profile(age: timedelta | None, known: int) -> None:
    """Not if it is unknown or in the future: either would excuse components that do not follow."""
    snapshot = load("modern-strict").snapshot
    (server,) = snapshot.every(API_SERVER)
    at = snapshot.taken_at - age if age else None
    created = {"generation": 1, "creationTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ")} if at else {}
    held = KubeObject({**server.raw, "metadata": {"name": "cluster", **created}}, server.kind)
    cluster = assess(replace(snapshot, objects={**snapshot.objects, API_SERVER: (held,)}), Viewpoint())
    found = cluster_row(cluster).get("profile_changed")
    assert found == (at.replace(microsecond=0).isoformat() if known and at else None)


def test_a_profile_of_the_user_was_not_changed_in_the_cluster() -> None:
    asked = Viewpoint(profile=load_profile("old"))
    assert "profile_changed" not in cluster_row(assess(load("modern-strict").snapshot, asked))
    assert "profile_changed" not in cluster_row(assess(load("kubeadm").snapshot, Viewpoint()))


def test_a_list_of_targets_has_no_certificates_of_its_own() -> None:
    assert Surroundings().certificates is None


def test_a_cluster_without_openshift_has_no_names_that_a_pki_object_governs() -> None:
    assert names_seen([looked_at("kubeadm", "c")]) == []
    assert [row["never_seen"] for row in names_seen([looked_at("single-node", "c")])] != [[]]
