"""The text report of a cluster: components, what failed by owner, and what nobody saw."""

from __future__ import annotations

import re
from io import StringIO

import pytest

from scanner.model.endpoint import Owner
from scanner.model.finding import Status, Verdict
from scanner.model.report import EndpointRow, Report
from scanner.report.escape import width as columns
from scanner.report.formats import text
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.cluster_samples import USER, endpoint
from tests.report.golden import assert_golden


def _text(report: Report, width: int | None = None, *, verbose: bool = False) -> str:
    out = StringIO()
    text.write(report, out, width=width, verbose=verbose)
    return out.getvalue()


@pytest.mark.parametrize(("name", "verbose"), [("cluster.txt", False), ("cluster-verbose.txt", True)])
def test_golden(name: str, verbose: bool) -> None:
    assert_golden(name, _text(cluster_samples.report(), width=110, verbose=verbose))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [80, 100, 120, 140])
def test_the_table_keeps_to_the_width_of_the_terminal(width: int, verbose: bool) -> None:
    lines = _text(cluster_samples.report(), width, verbose=verbose).splitlines()
    table = lines[3 : lines.index("", 3)]
    assert len(table) > 10
    assert max(map(columns, table)) <= width


def test_no_control_character_and_no_command_of_a_ci_system_is_written() -> None:
    told = _text(cluster_samples.report())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told)
    assert not [line for line in told.splitlines() if line.strip().startswith("::") or "##vso[" in line]


def test_equal_findings_of_replicas_are_one_group() -> None:
    lines = _text(cluster_samples.report()).splitlines()
    assert len([each for each in lines if each.strip() == "at         Deployment/shop/web:8443 (7 replicas)"]) == 1


def test_a_group_whose_endpoints_differ_says_so() -> None:
    rows = [row for row in cluster_samples.rows() if row["owner"]["name"] == "dns-default"]
    assert "differs between" not in _text(cluster_samples.report(rows))
    rows[0]["findings"][0]["observed"] = ["TLSv1 (VersionTLS10, 0x0301)"]
    told = _text(cluster_samples.report(rows))
    assert told.count("observed   TLSv1 (VersionTLS10, 0x0301); it differs between the endpoints") == 1
    assert "at         DaemonSet/openshift-dns/dns-default:9154 (3 replicas)" in told


def test_every_endpoint_is_listed_with_verbose() -> None:
    told = _text(cluster_samples.report(), verbose=True)
    assert told.count("\n~ Deployment/shop/web:8443 at ") == 7


def test_adherence_is_said_once_where_it_is_the_same_for_all() -> None:
    assert _text(cluster_samples.report(), 120).count("StrictAllComponents") == 1
    assert _text(cluster_samples.report(), 80).count("  spec.tlsAdherence of the cluster: StrictAllComponents") == 1
    rows = [row for row in cluster_samples.rows() if row["component"] in ("kubelet", "etcd")]
    for row in rows[:3]:
        row["expected"]["adherence"] = "LegacyAdheringComponentsOnly"
    assert "yes (2 of 2, StrictAllComponents)" in _text(cluster_samples.report(rows), 120, verbose=True)


def test_components_that_pass_are_one_line() -> None:
    rows = []
    for number in range(40):
        where = endpoint(Owner(kind="Pod", namespace=f"team-{number}", name="x"), 443, "10.0.0.1", None)
        rows.append(endpoint_row(where, USER, samples.speaking("x"), "pass", "ok", samples.PASSED))
    (line,) = [each for each in _text(cluster_samples.report(rows)).splitlines() if "namespace team-" in each]
    assert line.startswith("✓ 40 follow their profile: namespace team-")
    assert line.count("namespace team-") == 30
    assert line.endswith(" and 10 more")
    assert _text(cluster_samples.report(rows), verbose=True).count("✓ namespace team-") == 40


def test_a_component_that_follows_its_profile_and_fails_has_a_line() -> None:
    owner = Owner(kind="Pod", namespace="team", name="x")
    expired = (*samples.PASSED, samples.finding("cert-expired", "high", "fail", "it expired"))
    row = endpoint_row(
        endpoint(owner, 443, "10.0.0.1", None), USER, samples.speaking("x"), "fail", "violation", expired
    )
    told = _text(cluster_samples.report([row]))
    assert "✗ namespace team (user)" in told
    assert re.search(r"✗ namespace team .*  (yes|not determined) \(", told)
    assert "follow their profile" not in told


def test_of_many_components_those_that_fail_are_first_and_never_among_those_that_follow_their_profile() -> None:
    rows = []
    for number in range(60):
        owner = Owner(kind="Pod", namespace=f"team-{number:02}", name="x")
        verdict: Verdict = "inconclusive" if number < 30 else "fail"
        found = (*samples.PASSED, samples.finding("cert-expired", "high", verdict, "it expired"))
        where = endpoint(owner, 443, "10.0.0.1", None)
        status: Status = "violation" if verdict == "fail" else "not-tested"
        rows.append(endpoint_row(where, USER, samples.speaking("x"), verdict, status, found))
    lines = _text(cluster_samples.report(rows)).splitlines()
    table = lines[4 : lines.index("", 4)]
    assert [line[0] for line in table if "namespace team" in line] == [*("✗" * 20), "✗", "?"]
    assert any(line.startswith("✗ 10 more fail: namespace team-50 (user), ") for line in table)
    assert any(line.startswith("? 30 more are inconclusive: namespace team-00 (user), ") for line in table)
    assert "follow their profile" not in "\n".join(table)


def _copied() -> list[EndpointRow]:
    """Twenty clusters' worth of the sample: each workload has a name of its own."""
    rows = []
    for copy in range(22):
        for row in cluster_samples.rows():
            name = f"{row['owner']['name']}-{copy}"
            row["id"], row["instance"] = row["id"].replace(row["owner"]["name"], name), f"{row['instance']} {copy}"
            row["owner"]["name"] = name
            rows.append(row)
    return rows[:500]


def test_five_hundred_endpoints_of_hundreds_of_components_fit_on_a_page() -> None:
    rows = _copied()
    for number, row in enumerate(rows):
        if row["component"]:
            row["component"] += f"-{number}"
        for found in row["findings"]:
            if number % 2 and found["verdict"] == "fail":
                found["message"] += f" as operand {number} says"
    lines = _text(cluster_samples.report(rows)).splitlines()
    assert len(lines) <= 60
    assert any(
        re.match(r"FAILED  the first 5 of \d\d+ groups \(--verbose and the JSON report list all\)", x) for x in lines
    )
    assert any(re.match(r"✗ \d\d+ more fail: dns-\d+, ", line) for line in lines)


def test_five_hundred_endpoints_fit_on_a_page() -> None:
    told = _text(cluster_samples.report(_copied()))
    assert len(told.splitlines()) <= 60
    assert "it accepts versions below TLSv1.2 (66 endpoints): DaemonSet/openshift-dns/dns-default-0:9154, " in told
    assert " and 19 more listeners\n" in told
    assert told.splitlines()[-1].startswith("exit 1: 90 findings at or above medium, 2 of them cluster-wide, on 88")
    assert "(dns x66, router x22); not complete: " in told


def test_several_clusters_are_all_named() -> None:
    report = replace(
        cluster_samples.report(), cluster={"clusters": [{"name": "a", "version": "4.21.0"}, {"name": "b"}]}
    )
    lines = _text(report).splitlines()
    assert lines[1:3] == ["cluster a 4.21.0", "cluster b"]


def test_what_explains_silence_is_shown_where_it_is_asked_about() -> None:
    told = _text(cluster_samples.report())
    assert "closed by    NetworkPolicy shop/deny-all: 1 did not answer" in told
    assert "evidence   no answer in 3.0 s" in told
    assert "the policy file accepts that" in told
    assert "adhere rbac prints the role" in told


def test_where_nothing_was_found_it_is_said_what_was_not_read() -> None:
    told = _text(cluster_samples.report([]))
    assert "not read     routes.route.openshift.io" in told
    assert "COMPONENT" not in told


@pytest.mark.parametrize("width", [80, 100, 120, None])
def test_names_of_components_are_whole_on_every_page(width: int | None) -> None:
    owner = Owner(kind="Pod", namespace="a-namespace-with-a-long-name", name="x")
    where = endpoint(owner, 443, "10.0.0.1", None)
    row = endpoint_row(where, USER, samples.speaking("x"), "pass", "ok", samples.PASSED)
    told = _text(cluster_samples.report([row]), width, verbose=True)
    assert "✓ namespace a-namespace-with-a-long-name (user)" in told
    table = told[: told.index("CLUSTER-WIDE")].splitlines()
    assert width is None or max(map(columns, table)) <= width
