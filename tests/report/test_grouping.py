"""Equal findings of several endpoints or objects are one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scanner.model.endpoint import Owner
from scanner.model.finding import Severity
from scanner.model.report import EndpointRow, FindingRow
from scanner.report import headline
from scanner.report.grouping import groups, merged
from scanner.report.rows import endpoint_row, finding_row
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.samples import finding


def _failing(
    name: str, number: int, fix: str, severity: Severity = "high", component: str | None = None
) -> EndpointRow:
    where = replace(
        cluster_samples.endpoint(Owner(kind="Deployment", namespace="shop", name=name), 8443, f"10.0.0.{number}", None),
        component=component,
    )
    found = (replace(finding("tls-version", severity, "fail", "too old", observed=("TLS 1.0",)), fix=fix),)
    return endpoint_row(where, cluster_samples.USER, samples.speaking("x"), "fail", "violation", found)


def test_one_fault_of_several_workloads_is_one_group_whose_fix_has_no_names() -> None:
    fix = "set it in Deployment/shop/{}, see 'adhere explain Deployment/shop/{}:8443' and 10.0.0.{}:8443"
    rows = [_failing(name, number, fix.format(name, name, number)) for number, name in enumerate("abcd")]
    (group,) = groups([*rows, {**rows[0], "instance": "a replica"}])
    assert (group.endpoints, group.listeners) == (5, 4)
    assert group.row["fix"] == "set it in <workload>, see 'adhere explain <listener>' and <address>"
    assert group.row["examples"] == [row["id"] for row in rows[:3]]
    (alone,) = groups([rows[0], rows[0]])
    assert alone.endpoints == 1
    assert alone.row["fix"] == rows[0]["findings"][0]["fix"]


def _declared(number: int, fix: str, *origins: str) -> EndpointRow:
    row = _failing(f"w{number}", number, fix)
    return {**row, "origins": list(origins)}


def test_fixes_that_differ_in_the_name_of_the_declaring_object_are_one_group() -> None:
    fix = "enable TLS, or correct ServiceMonitor/shop/{}, which declares it"
    names = ["a", "a-b", "c", "d.e", "a"]
    rows = [
        _declared(number, fix.format(name), f"ServiceMonitor/shop/{name} port metrics", "Service/shop/x port metrics")
        for number, name in enumerate(names)
    ]
    (group,) = groups(rows)
    first = "ServiceMonitor/shop/a, ServiceMonitor/shop/a-b, ServiceMonitor/shop/c and 1 more"
    assert group.row["fix"] == f"enable TLS, or correct <ServiceMonitor>, which declares it ({first})"
    assert group.endpoints == 5
    (same,) = groups([rows[0], rows[4]])
    assert same.row["fix"] == fix.format("a"), "one object to edit"
    assert "fix" not in same.differ | group.differ


def test_another_kind_or_field_is_another_edit_and_another_group() -> None:
    rows = [
        _declared(1, "correct ServiceMonitor/shop/a", "ServiceMonitor/shop/a port metrics"),
        _declared(2, "correct Service/shop/a", "Service/shop/a port metrics"),
        _declared(3, "correct Service/shop/a spec.x", "Service/shop/a port metrics"),
        _declared(4, "correct Service/shop/a, Service/shop/b", "Service/shop/a port x", "Service/shop/b port x"),
        _declared(5, "correct APIServer/cluster", "Service/shop/a port metrics"),
        _declared(6, "correct APIServer/other", "Service/shop/b port metrics"),
        _declared(7, "correct TLSRoute/shop/a", "Route/shop/a", "argument 1"),
        _declared(8, "correct TLSRoute/shop/b", "Route/shop/b", "of another namespace: TLSRoute/shop/b"),
        _declared(9, "correct Service/shop/a-longer", "Service/shop/a port metrics"),
    ]
    assert [group.endpoints for group in groups(rows)] == [1] * 9


def test_a_waiver_and_another_result_of_sslyze_are_other_groups() -> None:
    rows = [_failing(name, number, "x") for number, name in enumerate("abc")]
    rows[1]["findings"][0]["waiver"] = "until 2027-01-31"
    rows[2]["findings"][0]["second_opinion"] = "sslyze: refused"
    assert len(groups(rows)) == 3


def test_a_name_in_the_message_does_not_divide_a_group() -> None:
    rows = [_failing(name, number, "x") for number, name in enumerate("ab")]
    for row in rows:
        row["findings"][0]["message"] = f"{row['id']} accepts too much"
    (group,) = groups(rows)
    assert group.row["message"] == "<listener> accepts too much"


def test_certificates_for_other_names_are_one_group() -> None:
    rows = list[EndpointRow]()
    for number in (1, 2):
        row, name = _failing(f"w{number}", number, "renew it"), f"w{number}.shop.example"
        found: FindingRow = {**row["findings"][0], "expected": [f"a certificate for {name}"]}
        rows.append({**row, "server_name": name, "findings": [found]})
    (group,) = groups(rows)
    assert group.row["expected"] == ["a certificate for <name>"]
    assert groups(rows[:1])[0].row["expected"] == ["a certificate for w1.shop.example"]


def test_another_fix_or_severity_is_another_group_and_the_worst_and_largest_come_first() -> None:
    rows = [_failing("a", 1, "x"), _failing("b", 2, "y"), _failing("c", 3, "y"), _failing("d", 4, "x", "critical")]
    assert [(each.finding["severity"], each.endpoints) for each in groups(rows)] == [
        ("critical", 1),
        ("high", 2),
        ("high", 1),
    ]


@given(st.lists(st.sampled_from(list(cluster_samples.rows())), max_size=30))
def test_every_open_finding_is_in_exactly_one_group(rows: list[EndpointRow]) -> None:
    rows = [{**row, "instance": f"{row['instance']} {number}"} for number, row in enumerate(rows)]
    found = groups(rows)
    open_ = [each for row in rows for each in row["findings"] if headline.open_question(each)]
    counts = Counter((each["rule"], each["severity"], each["status"]) for each in open_)
    grouped: Counter[tuple[str, str, str]] = Counter()
    for group in found:
        grouped[group.finding["rule"], group.finding["severity"], group.finding["status"]] += group.endpoints
    assert counts <= grouped
    assert {each.outcome for each in found} <= {"fail", "deviates", "inconclusive"}


def _found(name: str, fix: str = "none") -> FindingRow:
    said = finding("pki-lifetime", "info", "pass", "it is short", observed=(name,), evidence=(f"signed by {name}",))
    return {**finding_row(said), "fix": fix}


def test_findings_that_differ_in_what_they_found_are_one() -> None:
    some = [_found(each) for each in "abc"]
    (one,) = merged(some)
    assert one == {**some[0], "observed": ["a", "b", "c"], "evidence": []}


def test_findings_with_another_remedy_stay_apart_and_keep_all() -> None:
    some = [_found(each, fix=f"delete Secret/{each}") for each in "ab"]
    assert merged(some) == some
