"""The coverage of a cluster adds up, and says what would show more."""

from __future__ import annotations

import pytest

from scanner.model.kinds import POD, SECRET
from scanner.model.report import Summary
from scanner.model.snapshot import Gap, Unreadable
from scanner.report.coverage import discovery_row
from tests.report import cluster_samples


def _summary() -> Summary:
    summary = Summary()
    for row in cluster_samples.rows():
        summary.add(row)
    return summary


@pytest.mark.parametrize("discovered", [0, 23, 39, 45])
def test_it_adds_up(discovered: int) -> None:
    told = discovery_row(_summary(), discovered=discovered, left_out=[("UDP", 12), ("plain", 20)])
    aside = sum(each["count"] for each in told["left_out"])
    assert told["discovered"] == aside + told["not_reached"] + told["probed"]
    assert told["probed"] == told["judged"] + told["undetermined"] + told["not_applicable"]
    assert told["not_reached"] >= 0
    assert told["left_out"][0] == {"reason": "plain", "count": 20}


def test_policies_are_counted() -> None:
    told = discovery_row(_summary(), discovered=23)
    assert told["network_policies"] == [{"policy": "shop/deny-all", "endpoints": 1}]


@pytest.mark.parametrize(
    ("gap", "kind", "remedy"),
    [
        ("forbidden", POD, "let the scan's account get, list and watch pods: adhere rbac prints the role"),
        ("forbidden", SECRET, "adhere rbac --with secrets prints the role"),
        ("not-asked", SECRET, "grant what adhere rbac --with secrets prints"),
        ("failed", POD, "kubectl get pods"),
    ],
)
def test_every_gap_names_its_remedy(gap: Gap, kind: object, remedy: str) -> None:
    missing = Unreadable(kind=kind, gap=gap, reason="no")  # type: ignore[arg-type]
    (told,) = discovery_row(_summary(), discovered=1, unreadable=[missing], accepted=["pods"])["unreadable"]
    assert remedy in told["remedy"]
    assert told["accepted"] is (kind is POD)
