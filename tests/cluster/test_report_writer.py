"""Reports that are written into a cluster: applied, removed if stale, and every refusal with its object."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster.exec_plugin import TokenFile
from scanner.cluster.report_writer import Published, publish
from scanner.errors import ClusterError
from scanner.kube.kinds import OPEN_REPORTS
from scanner.report.formats.policy_reports import MANAGED_BY
from tests.cluster.api import LIMITS, Answer, Api, Asked, ok, refused, running
from tests.cluster.report_api import ROOT, Reports

pytestmark = pytest.mark.crypto

SCANNER = Path(__file__).parents[2] / "scanner"
LABELS = dict([MANAGED_BY])


def path_of(number: int, namespace: str | None = "shop") -> str:
    place = f"namespaces/{namespace}/reports" if namespace else "clusterreports"
    return f"{ROOT}/{place}/adhere-{number:020x}"


def report(number: int, namespace: str | None = "shop", **more: object) -> dict[str, Any]:
    metadata: dict[str, object] = {"name": f"adhere-{number:020x}", "labels": LABELS}
    scope = {"kind": "Deployment", "namespace": namespace, "name": f"web-{number}"} if namespace else {}
    return {"metadata": metadata | ({"namespace": namespace} if namespace else {}), "scope": scope, **more}


async def publishing(reports: Reports, *written: dict[str, Any], **more: Any) -> tuple[Published, list[Asked]]:  # noqa: ANN401
    async with running(Api(script=reports.answer)) as api:
        done = await publish(api.access, OPEN_REPORTS, "v1alpha1", MANAGED_BY, iter(written), limits=LIMITS, **more)
    return done, api.asked


def methods(asked: list[Asked], method: str) -> list[str]:
    return sorted(each.path for each in asked if each.method == method)


async def test_reports_are_applied_and_stale_ones_removed_as_they_were_listed() -> None:
    reports = Reports()
    reports.put(path_of(1), report(1))
    reports.put(path_of(2, "gone"), report(2, "gone"))
    reports.put(path_of(3, None), report(3, None))
    done, asked = await publishing(reports, report(1), report(4, "new"), report(5, None))
    assert (done.written, done.removed, done.failures) == (3, 2, [])
    assert sorted(reports.stored) == sorted([path_of(1), path_of(4, "new"), path_of(5, None)])
    applied = [each for each in asked if each.method == "PATCH"]
    assert {each.headers["content-type"] for each in applied} == {"application/apply-patch+yaml"}
    query = {"fieldManager": "adhere", "force": "true", "fieldValidation": "Strict"}
    assert [each.query for each in applied] == [query] * 3
    (first, *_) = (each for each in asked if each.method == "DELETE")
    assert json.loads(first.body)["preconditions"] == {"uid": f"uid of {first.path}", "resourceVersion": "7"}
    lists = [each for each in asked if each.method == "GET" and each.path.startswith(ROOT)]
    assert {each.query["labelSelector"] for each in lists} == {"app.kubernetes.io/managed-by=adhere"}


async def test_an_incomplete_scan_adds_to_reports_and_removes_none() -> None:
    reports = Reports()
    reports.put(path_of(1), report(1, results=["earlier"]))
    reports.put(path_of(2), report(2))

    def merge(new: Any, earlier: Any) -> Any:  # noqa: ANN401
        return {**new, "results": [*new["results"], *earlier["results"]]}

    done, asked = await publishing(reports, report(1, results=["new"]), report(3, results=["new"]), merge=merge)
    assert (done.written, done.removed) == (2, 0)
    assert methods(asked, "DELETE") == []
    assert reports.stored[path_of(1)]["results"] == ["new", "earlier"]
    assert reports.stored[path_of(3)]["results"] == ["new"]
    assert path_of(2) in reports.stored


async def test_reports_of_objects_that_the_scan_left_out_are_kept() -> None:
    reports = Reports()
    for number in (1, 2):
        reports.put(path_of(number), report(number))
    done, _ = await publishing(reports, keep={("shop", f"adhere-{1:020x}")})
    assert (done.removed, list(reports.stored)) == (1, [path_of(1)])


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": f"adhere-{1:020x}", "namespace": "shop", "labels": {MANAGED_BY[0]: "kyverno"}},
        {"name": "adhere-is-fine", "namespace": "shop", "labels": LABELS},
        {"name": f"adhere-{1:020x}", "namespace": "../../secrets", "labels": LABELS},
        {"name": f"adhere-{1:020x}/../x", "namespace": "shop", "labels": LABELS},
        {"name": f"adhere-{1:020x}", "labels": LABELS},
    ],
)
async def test_reports_of_others_are_not_removed(metadata: dict[str, Any]) -> None:
    reports = Reports()
    reports.put(f"{ROOT}/namespaces/shop/reports/x", {"metadata": metadata})
    done, asked = await publishing(reports)
    assert (done.removed, done.failures, methods(asked, "DELETE")) == (0, [], [])


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (403, "adhere rbac --with reports prints the role that --publish needs"),
        (404, "the namespace does not exist any more: scan again"),
        (409, "another client changed it at the same time: scan again"),
        (413, "raise the limit of the API server or of etcd (--max-request-bytes)"),
        (422, "update the CustomResourceDefinition"),
        (400, ""),
    ],
)
async def test_a_refusal_names_the_object_and_the_others_are_written(status: int, hint: str) -> None:
    reports = Reports(refusals={("PATCH", path_of(1)): refused(status, "Reason", "no\x1b[2J")})
    done, _ = await publishing(reports, report(1), report(2))
    (failure,) = done.failures
    assert (done.written, list(reports.stored), failure.hint) == (1, [path_of(2)], hint)
    start = f"the report of Deployment/shop/web-1 was not written: PATCH {path_of(1)}: {status} Reason: no"
    assert failure.message.startswith(start)
    assert "\x1b" not in failure.message


async def test_a_credential_that_disappears_is_a_failure_of_each_report(tmp_path: Path) -> None:
    reports, file = Reports(), tmp_path / "token"
    file.write_text("sesame")

    def script(asked: Asked) -> Answer | None:
        file.unlink(missing_ok=True)
        return refused(401, "Unauthorized", "expired") if asked.method == "PATCH" else reports.answer(asked)

    async with running(Api(script=script), TokenFile(file, "config")) as api:
        done = await publish(api.access, OPEN_REPORTS, "v1alpha1", MANAGED_BY, [report(1), report(2)], limits=LIMITS)
    assert [each.message.partition(":")[0] for each in done.failures] == [
        f"the report of Deployment/shop/web-{number} was not written" for number in (1, 2)
    ]
    assert "the token cannot be read" in done.failures[0].message


async def test_a_report_that_was_not_written_is_not_stale() -> None:
    reports = Reports(refusals={("PATCH", path_of(1)): refused(403, "Forbidden", "no")})
    reports.put(path_of(1), report(1))
    done, _ = await publishing(reports, report(1))
    assert (len(done.failures), done.removed, list(reports.stored)) == (1, 0, [path_of(1)])


async def test_a_stale_report_that_changed_stays_and_one_that_is_gone_is_no_error() -> None:
    changed = refused(409, "Conflict", "the object was changed")
    absent = refused(404, "NotFound", "not found")
    reports = Reports(refusals={("DELETE", path_of(1)): changed, ("DELETE", path_of(2)): absent})
    for number in (1, 2):
        reports.put(path_of(number), report(number))
    done, _ = await publishing(reports)
    assert [each.message.partition(": ")[0] for each in done.failures] == [
        f"the stale report Report/shop/adhere-{1:020x} was not removed"
    ]
    assert done.removed == 1


async def test_a_lost_answer_is_asked_for_again() -> None:
    reports, lost = Reports(), [Answer(None), refused(503, "ServiceUnavailable", "later")]

    def script(asked: Asked) -> Answer | None:
        return lost.pop() if asked.method == "PATCH" and lost else reports.answer(asked)

    async with running(Api(script=script)) as api:
        done = await publish(api.access, OPEN_REPORTS, "v1alpha1", MANAGED_BY, [report(1)], limits=LIMITS)
    assert (done.written, list(reports.stored), lost) == (1, [path_of(1)], [])


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (
            refused(404, "NotFound", "404 page not found"),
            "no report was written: the API server has no clusterreports.openreports.io v1alpha1",
            "install the CustomResourceDefinitions of openreports.io",
        ),
        (refused(403, "Forbidden", "no"), "no report was written: GET ", "adhere rbac --with reports prints"),
        (ok({"kind": "Login"}), "the answer is not a list of objects", "check that this is a Kubernetes API server"),
    ],
)
async def test_nothing_is_written_if_the_reports_cannot_be_listed(answer: Answer, message: str, hint: str) -> None:
    reports = Reports(refusals={("GET", f"{ROOT}/clusterreports"): answer})
    async with running(Api(script=reports.answer)) as api:
        with pytest.raises(ClusterError) as caught:
            await publish(api.access, OPEN_REPORTS, "v1alpha1", MANAGED_BY, [report(1)], limits=LIMITS)
    assert message in caught.value.message
    assert caught.value.hint.startswith(hint)
    assert reports.stored == {}


WRITERS = {"report_writer.py", "push_gateway.py"}
"""The second one writes to a Pushgateway, and has no client of the API."""


WITH_A_BODY = ["cluster/snapshot_reader.py", "cluster/token_review.py"]
"""They ask the API server for reviews, which it does not store."""


def test_no_other_module_changes_objects() -> None:
    """The client sends what it is asked to; its callers are few."""
    others: Callable[[Path], bool] = lambda path: "demo" not in path.parts and path.name not in WRITERS  # noqa: E731
    texts = {path.relative_to(SCANNER).as_posix(): path.read_text() for path in SCANNER.rglob("*.py") if others(path)}
    assert [name for name, text in texts.items() if '"PATCH"' in text or '"DELETE"' in text or '"PUT"' in text] == []
    assert sorted([name for name, text in texts.items() if "client.send(" in text]) == WITH_A_BODY
    assert [name for name, text in texts.items() if "report_writer import" in text] == ["cli/publishing.py"]
