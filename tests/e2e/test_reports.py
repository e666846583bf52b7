"""Reports of scans, applied to a real API server with the definitions of OpenReports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import pytest

from scanner.model.report import Report
from scanner.report.formats import policy_reports
from tests.e2e.conftest import definitions_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.definitions import REPORTS
from tests.e2e.writing import Object, Writer
from tests.report import cluster_samples

APPLY = {"fieldManager": "adhere", "fieldValidation": "Strict", "force": "true"}


def items(report: Report) -> list[Object]:
    out = StringIO()
    policy_reports.write(report, out)
    return list(json.loads(out.getvalue())["items"])


@pytest.fixture(scope="module")
def served(plane: ControlPlane, writer: Writer) -> Iterator[Writer]:
    """The definitions, and the namespaces of the samples."""
    definitions = definitions_of(REPORTS)
    writer.define(definitions)
    made = []
    for name in sorted(
        {each["metadata"]["namespace"] for each in items(cluster_samples.report()) if _namespaced(each)}
    ):
        path = f"/api/v1/namespaces/{name}"
        if not plane.admin.get(path).is_success:
            made.append(writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    yield writer
    for each in [*made, *definitions]:
        writer.delete(each)


def _namespaced(item: Object) -> bool:
    return "namespace" in item["metadata"]


def applied(writer: Writer, item: Object) -> Object:
    """Apply on the server, as ``kubectl apply --server-side`` does."""
    answer = writer.client.patch(
        f"{writer.path(item)}/{item['metadata']['name']}",
        params=APPLY,
        content=json.dumps(item),
        headers={"Content-Type": "application/apply-patch+yaml"},
    )
    assert answer.is_success, answer.text
    return dict(answer.json())


def timeless(item: Object) -> Object:
    """Without what the server adds, and without times."""
    kept = {key: value for key, value in item.items() if key != "metadata"}
    return {**kept, "results": [{**each, "timestamp": 0} for each in item["results"]]}


def test_a_second_scan_changes_nothing_but_times(served: Writer) -> None:
    first, later = cluster_samples.report(), replace(cluster_samples.report(), finished="2027-01-01T00:00:00Z")
    before = [applied(served, each) for each in items(first)]
    assert {each["kind"] for each in before} == {"Report", "ClusterReport"}
    assert [timeless(each) for each in before] == [timeless(each) for each in items(first)], "nothing was pruned"
    again = [applied(served, each) for each in items(first)]
    assert [each["metadata"]["resourceVersion"] for each in again] == [
        each["metadata"]["resourceVersion"] for each in before
    ]
    after = [applied(served, each) for each in items(later)]
    assert [timeless(each) for each in after] == [timeless(each) for each in before]
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    assert after[0]["results"][0]["timestamp"] != before[0]["results"][0]["timestamp"]
