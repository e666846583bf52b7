"""The component table: three answers, the worst replica decides, and too little evidence is inconclusive."""

from __future__ import annotations

import pytest

from scanner.model.component_tally import ComponentTally, honours, name_of
from scanner.model.endpoint import Owner
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding, Status, Verdict
from scanner.model.report import EndpointRow
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.cluster_samples import STRICT, USER, endpoint
from tests.report.samples import finding

VERSION = finding("tls-version", "high", "pass", "")
SUITE = finding("tls-cipher-suite", "medium", "pass", "")


def row(
    *findings: Finding,
    verdict: Verdict = "pass",
    name: str = "etcd",
    component: str | None = "etcd",
    owes: Expectation = STRICT,
    sampled: bool = False,
) -> EndpointRow:
    owner = Owner(kind="Pod", namespace="openshift-etcd", name=name)
    where = endpoint(owner, 2379, "10.0.0.1", component, sampled=sampled)
    return endpoint_row(where, owes, samples.speaking("x"), verdict, "ok", findings)


def says(rule: str, verdict: Verdict, status: Status = "violation") -> Finding:
    return finding(rule, "medium", verdict, f"{rule} {verdict}", status=status)


@pytest.mark.parametrize(
    ("findings", "answer"),
    [
        ((VERSION, SUITE), "yes"),
        ((VERSION, SUITE, says("cert-expired", "fail")), "yes"),
        ((VERSION, SUITE, says("tls-group", "inconclusive", "informational")), "yes"),
        ((VERSION,), "not-determined"),
        ((), "not-determined"),
        ((VERSION, says("tls-cipher-suite", "inconclusive")), "not-determined"),
        ((VERSION, SUITE, says("tls-group", "inconclusive")), "not-determined"),
        ((VERSION, says("tls-cipher-suite", "fail", "converging")), "not-determined"),
        ((VERSION, says("tls-cipher-suite", "fail")), "no"),
        ((VERSION, says("tls-cipher-suite", "fail", "readiness")), "no"),
        ((VERSION, says("tls-cipher-suite", "fail", "waived")), "no"),
        ((says("tls-version", "inconclusive"), says("tls-cipher-suite", "fail")), "no"),
    ],
)
def test_one_listener(findings: tuple[Finding, ...], answer: str) -> None:
    assert honours(row(*findings)) == answer


def test_one_of_several_behind_an_address_says_nothing_good() -> None:
    assert honours(row(VERSION, SUITE, sampled=True)) == "not-determined"
    assert honours(row(says("tls-version", "fail"), sampled=True)) == "no"


def test_what_need_not_speak_tls_is_not_counted() -> None:
    tally = ComponentTally()
    tally.add(row(verdict="not_applicable"))
    (told,) = tally.rows()
    assert (told["honours"], told["listeners"], told["honouring"]["not-determined"]) == (None, 1, 0)


def test_the_worst_replica_speaks_for_its_listener() -> None:
    tally = ComponentTally()
    for each in (row(VERSION, SUITE), row(VERSION, says("tls-cipher-suite", "fail"), verdict="fail"), row(name="b")):
        tally.add(each)
    (told,) = tally.rows()
    assert (told["listeners"], told["endpoints"], told["honours"]) == (2, 3, "no")
    assert told["honouring"] == {"no": 1, "not-determined": 1, "yes": 0}
    assert told["failures"] == {"medium": 1}
    assert (told["adherence"], told["bindings"]) == (["StrictAllComponents"], ["must-follow"])
    assert told["evidence"] == ["Pod/openshift-etcd/etcd:2379: tls-cipher-suite fail"]


def test_what_breaks_no_build_is_not_counted_as_failure() -> None:
    tally = ComponentTally()
    tally.add(row(says("tls-version", "fail", "waived"), verdict="fail"))
    assert tally.rows()[0]["failures"] == {}


def test_without_a_component_namespaces_stand_together_and_users_come_last() -> None:
    tally = ComponentTally()
    for each in (
        row(says("tls-version", "fail"), component=None, owes=USER),
        row(VERSION, SUITE, component=None, name="a"),
        row(VERSION, SUITE, component=None, name="b"),
        row(VERSION, SUITE),
    ):
        tally.add(each)
    told = [(name_of(each), each["standing"], each["listeners"]) for each in tally.rows()]
    assert told == [
        ("etcd", "platform", 1),
        ("namespace openshift-etcd", "platform", 2),
        ("namespace openshift-etcd", "user", 1),
    ]


def test_targets_of_a_list_have_no_components() -> None:
    assert not samples.report().summary.components
    assert cluster_samples.report().summary.components


def test_memory_is_bounded_by_what_is_kept() -> None:
    tally = ComponentTally()
    for number in range(200):
        profile = replace(samples.PROFILE, name=f"p{number}")
        tally.add(row(VERSION, SUITE, name=f"n{number}", owes=replace(STRICT, profile=profile)))
    (told,) = tally.rows()
    assert len(told["profiles"]) == 20
    assert len(told["evidence"]) == 5


def test_the_failures_that_count_are_the_first_evidence() -> None:
    tally = ComponentTally()
    tally.add(row(says("tls-version", "fail", "known"), verdict="fail", name="a"))
    tally.add(row(VERSION, SUITE, says("cert-expired", "fail"), verdict="fail", name="b"))
    tally.add(row(says("tls-version", "fail", "known"), says("cert-expired", "fail"), verdict="fail", name="c"))
    (told,) = tally.rows()
    assert told["evidence"] == [
        "Pod/openshift-etcd/b:2379: cert-expired fail",
        "Pod/openshift-etcd/c:2379: cert-expired fail",
        "Pod/openshift-etcd/a:2379: tls-version fail",
    ]
