"""The coverage of a cluster adds up, and says what would show more."""

from __future__ import annotations

import pytest

from scanner.kube.kinds import NODE, POD, ROUTE, SECRET, SERVICE, Kind
from scanner.kube.snapshot import Gap, Unreadable
from scanner.model.report import DiscoveryRow, Summary
from scanner.report.coverage import discovery_row, missing
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
        ("forbidden", POD, "give the scan's account the verbs get and list on pods; adhere rbac prints the role"),
        ("forbidden", SECRET, "adhere rbac --with secrets prints the role"),
        ("not-asked", SECRET, "grant the role that adhere rbac --with secrets prints"),
        ("failed", POD, "kubectl get pods"),
        ("not-saved", POD, "save a snapshot with adhere snapshot save"),
    ],
)
def test_every_gap_names_its_remedy(gap: Gap, kind: object, remedy: str) -> None:
    unread = Unreadable(kind=kind, gap=gap, reason="no")  # type: ignore[arg-type]
    (told,) = discovery_row(_summary(), discovered=1, unreadable=[unread], accepted=["pods"])["unreadable"]
    assert remedy in told["remedy"]
    assert told["accepted"] is (kind is POD)


def _gaps(*named: tuple[Kind, Gap, str]) -> DiscoveryRow:
    unreadable = [Unreadable(kind=kind, gap=gap, reason=reason) for kind, gap, reason in named]
    return discovery_row(_summary(), discovered=1, unreadable=unreadable, accepted=["nodes"])


def test_kinds_that_a_directory_does_not_have_are_said_together() -> None:
    absent = "manifests/ holds none"
    told = missing(
        _gaps((POD, "not-saved", absent), (SECRET, "forbidden", "403"), (ROUTE, "not-saved", absent),
              (NODE, "not-saved", absent), (SERVICE, "forbidden", "403"))
    )  # fmt: skip
    assert [each.resources for each in told] == [
        ("pods", "routes.route.openshift.io"), ("secrets",), ("nodes",), ("services",),
    ]  # fmt: skip
    assert told[0].remedy == "save a snapshot with adhere snapshot save"
    assert (told[0].reason, told[2].accepted) == (absent, True)


def test_different_reasons_are_not_said_of_all() -> None:
    (told,) = missing(_gaps((POD, "not-saved", "pods was not read"), (ROUTE, "not-saved", "routes was not read")))
    assert told.reason.startswith("the snapshot does not have them")
