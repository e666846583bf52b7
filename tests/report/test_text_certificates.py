"""The certificates of a cluster as text; the golden file of the cluster has the whole section."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

import pytest

from scanner.model.inventory import InventoryRow, certificate_report
from scanner.model.report import Report
from scanner.report.formats import text
from scanner.report.rows import finding_row
from scanner.values import replace
from tests.report import certificate_samples as samples
from tests.report import cluster_samples


def report(rows: Iterable[InventoryRow]) -> Report:
    kept = list(rows)
    found = certificate_report(lambda: iter(kept), [samples.CONFIGURATION], samples.NOW)
    return replace(cluster_samples.report([]), certificates=found)


def lines(of: Report, width: int | None = None) -> list[str]:
    out = StringIO()
    text.write(of, out, width=width)
    return out.getvalue().splitlines()


def test_without_certificates_there_is_no_section() -> None:
    assert "CERTIFICATES" not in lines(report([]))
    assert "CERTIFICATES" not in lines(replace(report([]), certificates=None))


def test_what_is_pending_and_when_it_will_be_done() -> None:
    pending = samples.row("x", "serving", samples.RSA2, 9, samples.PENDING)
    rows = []
    for number in range(7):
        rows.append(
            {
                **pending,
                "names": [f"name-{number}"],
                "renewal": {"rotates": "operator", "by": f"2027-01-0{number + 1}T00:00:00Z"},
            }
        )
    (line,) = [each for each in lines(report(rows)) if each.startswith("  pending")]  # type: ignore[arg-type]
    assert "7 certificates, all renewed before 2027-01-07" in line
    assert "name-0 before 2027-01-01, name-1 before 2027-01-02" in line
    assert line.endswith("and 2 more")


@pytest.mark.slow
def test_fifty_thousand_fit_on_a_few_pages() -> None:
    findings = [finding_row(replace(samples.VIOLATES, message=f"etcd-signer-{number}")) for number in range(50_000)]
    said = lines(replace(report(samples.many(3000)), findings=findings))
    assert len(said) < 200
    assert any("49988 more failed or inconclusive" in each for each in said)


def test_many_keys_are_cut() -> None:
    rows = list(samples.many(60))
    for number, row in enumerate(rows):
        row["key"] = {"algorithm": "RSA", "size": 2048 + number, "curve": None}
    said = "\n".join(lines(report(rows)))
    assert "and 29 more keys (all of them are in the JSON report)" in said


def test_hostile_names_are_text() -> None:
    said = "\n".join(lines(report(samples.rows()), width=100))
    assert "\x1b" not in said
    assert "\u202e" not in said
