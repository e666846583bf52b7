"""Objects with several definitions, in any order."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cluster.lint_input import read_manifests
from scanner.cluster.manifest_documents import Manifests
from scanner.kube.kinds import ROUTE, SECRET
from scanner.lint.manifest_rules import DUPLICATE, check_duplicates, split_duplicates
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.declared import Missing
from scanner.model.finding import Finding
from scanner.model.lint_report import LintReport, exit_code
from tests.growth import assert_linear, calls
from tests.lint.examples import empty

SECRET_TEXT = "apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: shop}\ntype: %s\n"
ROUTE_TEXT = """apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: %s, namespace: shop}
spec:
  host: shop.example.com
  to: {kind: Service, name: shop}
  tls: {termination: %s}
"""
SECRET_JSON = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}}
FILES = {
    "a.yaml": SECRET_TEXT % "kubernetes.io/tls" + "---\n" + ROUTE_TEXT % ("a", "edge"),
    "b.yaml": SECRET_TEXT % "Opaque",
    "c.yaml": ROUTE_TEXT % ("c", "edge, externalCertificate: {name: web}"),
    "d.yaml": ROUTE_TEXT % ("a", "passthrough") + "---\n" + ROUTE_TEXT % ("d", "reencrypt"),
    "e.yaml": ROUTE_TEXT % ("c", "edge, externalCertificate: {name: web}"),
    "f.yaml": ROUTE_TEXT.replace("/v1", "/v2") % ("a", "edge"),
}


def given_in(directory: Path, *names: str) -> Manifests:
    for name in names:
        (directory / name).write_text(FILES[name])
    return read_manifests([str(directory / name) for name in names], LINT_READS)


def report(directory: Path, *names: str) -> LintReport:
    found, started = given_in(directory, *names), datetime(2026, 1, 1, tzinfo=UTC)
    return lint_report(declared(found, None), found, started=started, sources=(), arguments=())


def told(found: LintReport) -> list[tuple[str, str, str, str]]:
    """File, verdict, rule and message."""
    return [
        (Path(each["place"]["file"]).name if each["place"] else "", each["verdict"], each["rule"], each["message"])
        for each in found.every()
    ]


def test_one_finding_names_both_places_and_nothing_else_is_said_of_either(tmp_path: Path) -> None:
    found = report(tmp_path, "a.yaml", "b.yaml")
    secret = [row for row in found.objects if row["object"]["kind"] == "Secret"]
    assert sorted((row["verdict"], row["passed"], len(row["findings"])) for row in secret) == [
        ("fail", [], 1),
        ("inconclusive", [], 1),
    ]
    (failure,) = (each for each in told(found) if each[1] == "fail" and each[2] == "object-twice")
    assert failure[0] == "b.yaml"
    assert f"differs from {tmp_path}/a.yaml:1:1" in failure[3]


def test_what_refers_to_it_is_undecided(tmp_path: Path) -> None:
    words = {
        rule: message
        for _, verdict, rule, message in told(report(tmp_path, "a.yaml", "b.yaml", "c.yaml"))
        if verdict == "inconclusive"
    }
    assert "Secret/shop/web is defined more than once" in words["route-external-secret"]


def test_equal_ones_are_one(tmp_path: Path) -> None:
    found = report(tmp_path, "c.yaml", "e.yaml")
    assert [(row["object"]["name"], Path(row["place"]["file"]).name) for row in found.objects if row["place"]] == [
        ("c", "c.yaml")
    ]
    assert "object-twice" not in {each[2] for each in told(found)}


def test_what_is_high_does_not_pass_because_nobody_looked(tmp_path: Path) -> None:
    """The finding is medium; behind it there may be anything."""
    found = report(tmp_path, "a.yaml", "b.yaml")
    assert (exit_code(found, "high"), exit_code(found, "medium")) == (3, 1)


def test_a_cluster_does_not_say_which_counts(tmp_path: Path) -> None:
    """Nor that there is none of that name; what it says of other names holds."""
    about = declared(given_in(tmp_path, "a.yaml", "b.yaml"), empty())
    here, other = about.find(SECRET, "web", "shop"), about.find(SECRET, "other", "shop")
    assert isinstance(here, Missing)
    assert here.why.startswith("is defined more than once")
    assert other == Missing(name="Secret/shop/other")
    assert about.gap(SECRET) is not None
    assert about.gap(ROUTE) is None


@given(st.permutations(sorted(FILES)))
def test_no_order_decides(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    directory = tmp_path_factory.getbasetemp() / "order"
    directory.mkdir(exist_ok=True)
    assert report(directory, *names) == report(directory, *sorted(FILES))


def test_the_cost_of_many_definitions_of_one_name_is_linear(tmp_path: Path) -> None:
    """The author of a manifest chooses the number."""

    def cost(number: int) -> int:
        file = tmp_path / "many.json"
        file.write_text("".join(json.dumps({**SECRET_JSON, "type": str(each)}) + "\n" for each in range(number)))
        found, findings = read_manifests([str(file)], LINT_READS), list[Finding]()

        def run() -> None:
            once, twice = split_duplicates(found.objects)
            assert not once
            findings.extend(each for several in twice.values() for each in check_duplicates(DUPLICATE, several))

        spent = calls(run)
        assert len(findings) == number
        assert all(len(each.message) < 1000 for each in findings)
        return spent

    assert_linear(cost, 100)
