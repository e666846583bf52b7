"""The queries of docs/metrics.md and of the PKI enhancement, asked of a real Prometheus that scraped what we wrote."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scanner.cli.output import FORMATS, parse_outputs, write_reports
from scanner.model.inventory import InventoryRow, certificate_report
from scanner.report.rows import timestamp
from scanner.values import replace
from tests.report import certificate_samples as samples
from tests.report import cluster_samples
from tests.zoo import prometheus
from tests.zoo.processes import program
from tests.zoo.prometheus import Prometheus

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
INFO = "openshift_pki_certificate_info"
MADE = "openshift_pki_certificate_not_before_timestamp_seconds"
NO_QUERY = re.compile(r"certificate_generat|[{][a-z_,]+[}]|\Achanges\(\)")
"""Families that only those export who make certificates; lists of labels; the name of a function."""
SEEN_WITHIN = 60.0
"""Seconds in which it has scraped what changed."""

pytestmark = pytest.mark.zoo


def written(path: Path, rows: list[InventoryRow]) -> None:
    """The metrics of a cluster with these certificates, as ``--format metrics=FILE`` writes them."""
    found = certificate_report(lambda: iter(rows), [samples.CONFIGURATION], samples.NOW)
    report = cluster_samples.report()
    cluster = {**(report.cluster or {}), "profile_changed": report.started}
    report = replace(report, certificates=found, cluster=cluster)
    write_reports(report, parse_outputs([f"metrics={path}"]), FORMATS, quiet=True)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, Path]]:
    """Has scraped the certificates of the samples, as if they had been found now; and the file with them."""
    if why := prometheus.missing():
        pytest.skip(why)
    directory = tmp_path_factory.mktemp("prometheus")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(samples, "NOW", datetime.now(UTC))
        written(directory / "adhere.prom", list(samples.rows()))
        with prometheus.scraping(directory / "adhere.prom", directory) as running:
            yield running, directory / "adhere.prom"


@pytest.fixture
def server(scraped: tuple[Prometheus, Path]) -> Prometheus:
    """That Prometheus."""
    return scraped[0]


def names(server: Prometheus, promql: str) -> set[str]:
    """The certificates that answer a query."""
    return {dict(labels)["certificate_name"] for labels in server.query(promql)}


@pytest.mark.slow
def test_the_enhancements_queries_and_their_like(server: Prometheus) -> None:
    """Each that a scanner can answer, with what the samples hold."""
    assert names(server, f'{INFO}{{algorithm="RSA",key_size!="4096"}}') == {
        "etcd-signer", "kube-apiserver-lb-signer", "router-ca", "kube-apiserver-lb-server",
    }  # fmt: skip
    counted = server.query(f"count by (algorithm) ({INFO})")
    assert {dict(labels).get("algorithm", ""): value for labels, value in counted.items()} == {
        "RSA": 7, "ECDSA": 3, "": 1,
    }  # fmt: skip
    as_configured = f'{INFO}{{algorithm="ECDSA",curve="P384",category="ServingCertificate"}}'
    assert names(server, as_configured) == {"etcd-server", "kube-apiserver-localhost-server"}
    assert names(server, 'adhere_pki_certificates{status="pending-rotation"}') == {"kube-apiserver-lb-server"}
    assert names(server, "openshift_pki_certificate_config_compliant == 0") == {
        "etcd-signer", "kube-apiserver-lb-signer", "router-ca", "kube-apiserver-lb-server",
    }  # fmt: skip
    forced = 'adhere_pki_certificates{status=~"violation|needs-forced-rotation"} > 0'
    assert names(server, forced) == {"etcd-signer", "kube-apiserver-lb-signer"}
    soon = "openshift_pki_certificate_expiry_timestamp_seconds - time() < 22 * 86400"
    assert names(server, soon) == {
        "kube-apiserver-lb-server", "kube-apiserver-localhost-server", "aggregator-client",
    }  # fmt: skip
    (every,) = (server.query("sum(adhere_pki_inventory_certificates)")).values()
    assert every == len(list(samples.rows()))


@pytest.mark.slow
def test_the_labels_are_the_enhancements(server: Prometheus) -> None:
    (labels,) = server.query(f'{INFO}{{certificate_name="kube-apiserver-lb-signer"}}')
    assert dict(labels) == {
        "__name__": INFO,
        "certificate_name": "kube-apiserver-lb-signer",
        "category": "SignerCertificate",
        "algorithm": "RSA",
        "key_size": "2048",
        "component": "kube-apiserver-operator",
        "namespace": "openshift-kube-apiserver-operator",
    }  # an empty curve is no label to Prometheus: curve="" matches it


def documented() -> list[str]:
    """Every query of the page: its indented lines, and what a table answers the enhancement's queries by."""
    text = PAGE.read_text()
    indented = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    quoted = re.findall(r"`((?:count|sum|changes|time|openshift_pki|adhere_pki)[^`]*[)}\d])`", text)
    return [each for each in (*indented, *quoted) if not NO_QUERY.search(each)]


@pytest.mark.slow
def test_every_documented_query_is_one_and_asks_for_families_that_exist(server: Prometheus) -> None:
    asked = documented()
    assert len(asked) >= 15
    for promql in asked:
        server.query(promql)
    used = {name for promql in asked for name in re.findall(r"\b(?:adhere|openshift)_[a-z_]+", promql)}
    known = server.query('count by (__name__) ({__name__=~"adhere_.*|openshift_.*"})')
    assert used <= {dict(labels)["__name__"] for labels in known}


def test_promtool_finds_nothing_to_complain_of(tmp_path: Path) -> None:
    if why := prometheus.missing():
        pytest.skip(why)
    written(tmp_path / "adhere.prom", list(samples.rows()))
    with (tmp_path / "adhere.prom").open("rb") as text:
        run = subprocess.run(
            [program("promtool") or "promtool", "check", "metrics"], stdin=text, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@pytest.mark.slow
def test_a_rotation_between_two_scans_is_seen(scraped: tuple[Prometheus, Path]) -> None:
    """The last test of the file: the certificates are others from here on."""
    server, file = scraped
    rows = list(samples.rows())
    (renewed,) = [row for row in rows if row["names"] == ["kube-apiserver-localhost-server"]]
    renewed["not_before"] = timestamp(samples.NOW)
    assert names(server, f"changes({MADE}[1m]) > 0") == set()
    written(file, rows)
    deadline = time.monotonic() + SEEN_WITHIN
    while not (changed := names(server, f"changes({MADE}[1m]) > 0")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert changed == {"kube-apiserver-localhost-server"}
    assert names(server, f'time() - {MADE}{{algorithm="ECDSA"}} < 86400') == {"kube-apiserver-localhost-server"}
