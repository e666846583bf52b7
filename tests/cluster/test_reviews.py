"""Access reviews that are sent to the API server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from scanner.cluster import load, read, save
from scanner.kube.kinds import ACCESS_REVIEW, LOCAL_KINDS, ROUTE
from scanner.kube.rbac import Review, reviews
from scanner.kube.snapshot import Snapshot, with_local_files
from scanner.values import replace
from tests.cluster.api import LIMITS, Answer, Api, Asked, named, refused, running

pytestmark = pytest.mark.crypto

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
GET = Review(user="system:serviceaccount:a:b", verb="get", resource="secrets", namespace="shop", name="web")
LIST = replace(GET, verb="list")
CREATE = Review(
    user="eve",
    groups=("developers", "system:authenticated"),
    verb="create",
    group="route.openshift.io",
    resource="routes",
    subresource="custom-host",
    namespace="shop",
    name="",
)
WATCH = replace(GET, verb="watch")


def api(answer: dict[str, Answer]) -> Api:
    """One that answers reviews by their verb."""
    made = Api()
    made.add(ROUTE, named("web", "shop"))

    def script(asked: Asked) -> Answer | None:
        if asked.path != PATH:
            return None
        return answer[json.loads(asked.body)["spec"]["resourceAttributes"]["verb"]]

    made.script = script
    return made


def said(allowed: object) -> Answer:
    return Answer(201, json.dumps({"status": {"allowed": allowed}}).encode())


async def answers(made: Api, *questions: Review) -> Snapshot:
    def wanted(snapshot: Snapshot) -> Iterable[Review]:
        assert snapshot.every(ROUTE), "what is asked depends on what was read"
        return questions

    async with running(made):
        return await read(made.access, [ROUTE], reviews=wanted, limits=LIMITS)


async def test_each_question_is_asked_once_of_the_user_alone() -> None:
    made = api({"get": said(True), "list": said(False)})
    assert reviews(await answers(made, GET, LIST, GET)) == {GET: True, LIST: False}
    asked = [each for each in made.asked if each.path == PATH]
    assert [each.method for each in asked] == ["POST", "POST"]
    assert json.loads(asked[0].body) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:serviceaccount:a:b",
            "resourceAttributes": {
                "verb": "get",
                "group": "",
                "resource": "secrets",
                "namespace": "shop",
                "name": "web",
            },
        },
    }


async def test_a_question_about_somebody_in_groups() -> None:
    made = api({"create": said(True)})
    assert reviews(await answers(made, CREATE)) == {CREATE: True}
    (asked,) = [json.loads(each.body)["spec"] for each in made.asked if each.path == PATH]
    assert asked == {
        "user": "eve",
        "groups": ["developers", "system:authenticated"],
        "resourceAttributes": {
            "verb": "create",
            "group": "route.openshift.io",
            "resource": "routes",
            "subresource": "custom-host",
            "namespace": "shop",
            "name": "",
        },
    }


async def test_nothing_else_is_posted() -> None:
    made = api({"get": said(True)})
    await answers(made, GET)
    assert {each.path for each in made.asked if each.method != "GET"} == {PATH}


async def test_where_reviews_are_forbidden_nobody_asks_on() -> None:
    made = api(dict.fromkeys(("get", "list"), refused(403, "Forbidden", "cannot create")))
    found = await answers(made, GET, LIST)
    assert ACCESS_REVIEW not in found.objects
    assert found.unreadable == {}
    assert made.paths(PATH) == [PATH]


async def test_an_answer_that_says_nothing_is_none() -> None:
    made = api({"get": said("yes"), "list": Answer(201, b"[]"), "watch": said(False)})
    assert reviews(await answers(made, GET, LIST, WATCH)) == {WATCH: False}


async def test_a_failure_of_one_is_not_that_of_another() -> None:
    made = api({"get": refused(422, "Invalid", "no"), "list": said(True)})
    assert reviews(await answers(made, GET, LIST)) == {LIST: True}


async def test_they_are_kept_with_a_snapshot(tmp_path: Path) -> None:
    found = await answers(api({"get": said(True), "list": said(False), "create": said(True)}), GET, LIST, CREATE)
    save(found, tmp_path / "saved")
    again = with_local_files(load(tmp_path / "saved", (ROUTE, *LOCAL_KINDS)))
    assert reviews(again) == {GET: True, LIST: False, CREATE: True}
