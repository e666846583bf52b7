"""The JSON document is what the schema says, and the schema refuses what it is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from io import StringIO
from typing import Any, get_args
from weakref import ref

import pytest

from scanner.model.component_tally import ComponentRow
from scanner.model.finding import SEVERITIES
from scanner.model.inventory import CATEGORIES, EndsRow, InventoryRow, InventorySummary, KeyCountRow, RenewalRow
from scanner.model.observation import Reach
from scanner.model.report import (
    BRIEF_SCHEMA,
    SCHEMA,
    CertificateRow,
    CountRow,
    Coverage,
    DiscoveryRow,
    EndpointRow,
    ExpectedRow,
    FindingRow,
    GroupRow,
    ObservedRow,
    Report,
    UnreadableRow,
    VersionRow,
)
from scanner.model.well_known import Rotation
from scanner.report.formats import json_document
from scanner.report.rows import VERSIONS
from scanner.tls.names import version_name
from scanner.values import replace
from tests.report import certificate_samples, cluster_samples, samples
from tests.report.samples import finding
from tests.schemas import errors, schema


def _text(report: Report) -> str:
    out = StringIO()
    json_document.write(report, out)
    return out.getvalue()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The samples, with a finding on no endpoint."""
    return json.loads(_text(samples.report(findings=(finding("tls-version", "low", "fail", "of an object"),))))  # type: ignore[no-any-return]


def test_the_schema_has_the_version_of_the_model() -> None:
    assert schema("scan-v1")["properties"]["schema"]["const"] == SCHEMA


def test_the_samples_are_valid(document: dict[str, Any]) -> None:
    assert errors(document, "scan-v1") == []


def test_a_cluster_is_valid() -> None:
    document = json.loads(_text(cluster_samples.report()))
    assert errors(document, "scan-v1") == []
    assert [each["component"] for each in document["components"]][:2] == ["dns", "router"]
    assert document["coverage"]["discovery"]["discovered"] == 45


def test_the_certificates_of_a_cluster() -> None:
    document = json.loads(_text(cluster_samples.report()))
    kept = document["certificates"]
    assert len(kept) == document["inventory"]["certificates"] == sum(document["inventory"]["statuses"].values())
    assert {each["status"] for each in kept} == set(document["inventory"]["statuses"])
    assert [each["names"] for each in kept if each["status"] == "violation"] == [["etcd-signer"]]
    assert document["inventory"]["pending_until"] == "2026-12-04T00:00:00Z"
    assert sum(each["count"] for each in document["inventory"]["keys"]) == len(kept)


def test_a_list_of_targets_has_no_inventory(document: dict[str, Any]) -> None:
    assert (document["inventory"], document["certificates"]) == (None, [])


@pytest.mark.parametrize(
    ("member", "value"),
    [("category", "ca"), ("key", None), ("renewal", {"rotates": "soon", "by": None}), ("not_after", "2026"),
     ("sha256", "00"), ("found", -1), ("extra", 1)],
)  # fmt: skip
def test_the_schema_refuses_a_broken_certificate(member: str, value: object) -> None:
    document = json.loads(_text(cluster_samples.report()))
    document["certificates"][0][member] = value
    assert errors(document, "scan-v1")


def test_a_document_from_before_clusters_is_still_valid() -> None:
    document = json.loads(_text(samples.report()))
    for member in ("components", "inventory", "certificates"):
        del document[member]
    for row in document["endpoints"]:
        for name in (
            "standing",
            "certainty",
            "subject",
            "node",
            "pod",
            "candidates",
            "aliases",
            "sampled",
            "blocked_by",
        ):
            del row[name]
        for name in ("alternatives", "remarks", "adherence"):
            del row["expected"][name]
    assert errors(document, "scan-v1") == []


def test_an_empty_report_is_valid_too() -> None:
    assert errors(json.loads(_text(samples.report([]))), "scan-v1") == []


def test_the_order_is_the_contract(document: dict[str, Any]) -> None:
    assert list(document) == list(schema("scan-v1")["properties"])
    summary = [*document["summary"], "baseline"]  # only with --baseline, and last
    assert summary == list(schema("scan-v1")["$defs"]["summary"]["properties"])
    assert list(document["endpoints"][0]) == list(schema("scan-v1")["$defs"]["endpoint"]["properties"])


@pytest.mark.parametrize(
    ("name", "row"),
    [("endpoint", EndpointRow), ("finding", FindingRow), ("certificate", CertificateRow), ("observed", ObservedRow),
     ("version_answer", VersionRow), ("expected", ExpectedRow), ("component", ComponentRow),
     ("discovery", DiscoveryRow), ("unreadable", UnreadableRow), ("left_out", CountRow), ("coverage", Coverage),
     ("held_certificate", InventoryRow), ("renewal", RenewalRow), ("inventory", InventorySummary),
     ("key_count", KeyCountRow), ("ends", EndsRow), ("group", GroupRow)],
)  # fmt: skip
def test_the_schema_has_every_member_of_a_row(name: str, row: type) -> None:
    assert set(schema("scan-v1")["$defs"][name]["properties"]) == set(row.__annotations__)


def test_the_schema_knows_every_word_of_the_model() -> None:
    definitions = schema("scan-v1")["$defs"]
    assert definitions["endpoint"]["properties"]["reach"]["enum"] == [reach.value for reach in Reach]
    assert definitions["severity"]["enum"] == list(SEVERITIES)
    assert definitions["category"]["enum"] == list(CATEGORIES)
    assert definitions["renewal"]["properties"]["rotates"]["enum"] == list(get_args(Rotation))
    assert definitions["version"]["enum"] == [version_name(version) for version in VERSIONS]


def _described(node: object) -> bool:
    return not isinstance(node, dict) or "description" in node or "$ref" in node or "const" in node


def test_every_member_is_explained() -> None:
    bare = [
        f"{name}.{member}"
        for name, definition in {"": schema("scan-v1"), **schema("scan-v1")["$defs"]}.items()
        for member, value in definition.get("properties", {}).items()
        if not _described(value)
    ]
    assert bare == []


def _set(*path: str | int, to: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:  # noqa: ANN401 - any JSON
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


def _drop(*path: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:  # noqa: ANN401 - any JSON
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("schema", to="adhere.scan/v2"),
        _set("surprise", to=1),
        _drop("coverage"),
        _set("coverage", "complete", to="yes"),
        _set("summary", "pass", to=-1),
        _set("summary", "statuses", to={"Not A Status": 1}),
        _set("started", to="yesterday"),
        _drop("endpoints", 0, "reasons"),
        _set("endpoints", 0, "verdict", to="ok"),
        _set("endpoints", 0, "reach", to="up"),
        _set("endpoints", 0, "port", to="443"),
        _set("endpoints", 0, "extra", to=None),
        _set("endpoints", 0, "observed", "versions", to={"TLS 1.2": None}),
        _set("endpoints", 0, "observed", "versions", "TLSv1.2", "suites", to=[49199]),
        _set("endpoints", 0, "observed", "chain", 0, "sha256", to="AB"),
        _set("endpoints", 0, "observed", "chain", 0, "not_after", to="2026"),
        _set("endpoints", 1, "findings", 0, "severity", to="awful"),
        _set("endpoints", 1, "findings", 0, "observed", to=None),
        _set("endpoints", 1, "findings", 0, "second_opinion", to="maybe"),
    ],
)
def test_the_schema_refuses_what_is_broken(document: dict[str, Any], change: Callable[[Any], None]) -> None:
    broken = deepcopy(document)
    change(broken)
    assert errors(broken, "scan-v1")


def test_one_line_for_every_endpoint() -> None:
    lines = _text(samples.report()).splitlines()
    assert len([line for line in lines if line.startswith('{"id":')]) == 15
    assert all(json.loads(line.removesuffix(",")) for line in lines if line.startswith('{"id":'))


def test_one_line_for_every_certificate() -> None:
    lines = [line for line in _text(cluster_samples.report()).splitlines() if line.startswith('{"sha256":')]
    assert len(lines) == len(list(certificate_samples.rows()))


def test_certificates_are_written_as_they_are_read() -> None:
    """Not one of fifty thousand is kept: a row is gone once its line is written."""
    alive: list[ref[Counted]] = []

    def rows() -> Iterator[InventoryRow]:
        for row in certificate_samples.many(1000):
            counted = Counted(row)
            alive.append(ref(counted))
            yield counted  # type: ignore[misc] # a row in all but its type
            del counted
            assert sum(each() is not None for each in alive) <= 2

    report = replace(cluster_samples.report(), certificates=replace(certificate_samples.certificates(), rows=rows))
    assert len(json.loads(_text(report))["certificates"]) == 1000


class Counted(dict[str, object]):
    """A row of which one can tell whether it is still there."""


def test_the_summary_counts_what_is_there(document: dict[str, Any]) -> None:
    verdicts = [row["verdict"] for row in document["endpoints"]]
    assert document["summary"]["endpoints"] == len(verdicts)
    for verdict in ("pass", "fail", "inconclusive", "not_applicable"):
        assert document["summary"][verdict] == verdicts.count(verdict)
    assert sum(document["summary"]["failures"].values()) == sum(document["summary"]["rules"].values())
    assert document["summary"]["connections"] == sum(row["observed"]["connections"] for row in document["endpoints"])


@pytest.mark.parametrize("report", [samples.report(), cluster_samples.report()], ids=["targets", "cluster"])
def test_a_brief_document_has_a_schema_of_its_own_and_all_that_did_not_pass(report: Report) -> None:
    out = StringIO()
    json_document.write(report, out, brief=True)
    brief, whole = json.loads(out.getvalue()), json.loads(_text(report))
    assert errors(brief, "scan-brief-v1") == []
    assert errors(brief, "scan-v1"), "the schema of the whole document is another one"
    assert errors({**whole, "schema": BRIEF_SCHEMA}, "scan-brief-v1")
    assert {**brief, "endpoints": 0} == {**whole, "endpoints": 0, "schema": BRIEF_SCHEMA}
    for short, row in zip(brief["endpoints"], whole["endpoints"], strict=True):
        assert short["findings"] == [each for each in row["findings"] if each["verdict"] != "pass"]
        assert short["passed"] == [each["rule"] for each in row["findings"] if each["verdict"] == "pass"]
        for name, version in (row["observed"].pop("versions") or {}).items():
            said = short["observed"]["versions"][name]
            assert said == (version and {key: value for key, value in version.items() if key != "refused"})
        del row["observed"]["attempts"], row["findings"], short["findings"], short["passed"]
        short["observed"].pop("versions")
        assert short == row
