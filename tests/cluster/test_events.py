"""Warnings of a few namespaces: what is kept, what bounds it, and what is said where they could not be read."""

from __future__ import annotations

import pytest

from scanner.cluster import events
from scanner.cluster.events import warnings
from scanner.model.pem import REMOVED
from tests.cluster.api import LIMITS, Answer, Api, Asked, ok, refused, running

pytestmark = pytest.mark.crypto

TOLD = {
    "metadata": {"name": "web.17", "namespace": "shop", "annotations": {"a": "b"}},
    "type": "Warning",
    "reason": "Unhealthy",
    "message": "remote error: tls: handshake failure",
    "lastTimestamp": "2026-11-21T10:00:00Z",
    "count": 7,
    "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1", "fieldPath": "spec.containers{c}"},
    "source": {"component": "kubelet", "host": "worker-0"},
}


def api_with(answer: Answer) -> Api:
    def script(asked: Asked) -> Answer | None:
        return answer if asked.path == "/api/v1/namespaces/shop/events" else None

    return Api(script=script)


def listed(*items: object, more: str = "") -> Answer:
    return ok({"kind": "EventList", "apiVersion": "v1", "metadata": {"continue": more}, "items": list(items)})


async def test_warnings_are_asked_for_in_the_namespaces_alone_and_what_matters_is_kept() -> None:
    api = api_with(listed(TOLD, "no object"))
    async with running(api):
        found = await warnings(api.access, ["shop", "shop", "../secrets", "A"], LIMITS)
    assert [(each.path, each.query) for each in api.asked] == [
        ("/api/v1/namespaces/shop/events", {"fieldSelector": "type=Warning", "limit": "500"})
    ]
    (one,) = found.found
    assert (one.namespace, one.text("reason"), one.number("count")) == ("shop", "Unhealthy", 7)
    assert one.fields("involvedObject").raw == {"kind": "Pod", "namespace": "shop", "name": "web-1"}
    assert not one.has("source")
    assert not one.has("metadata", "annotations")
    assert found.missed == {}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (refused(403, "Forbidden", "events is forbidden"), "adhere rbac --with doctor"),
        (ok({"kind": "Login"}), "the answer is not a list of objects"),
        (listed(TOLD, more="abc"), "there are more than 500"),
    ],
)
async def test_what_was_not_read_is_said(answer: Answer, why: str) -> None:
    api = api_with(answer)
    async with running(api):
        found = await warnings(api.access, ["shop"], LIMITS)
    assert why in found.missed["shop"]


async def test_texts_and_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST", 2)
    monkeypatch.setattr(events, "MOST_NAMESPACES", 1)
    api = api_with(listed(*[{**TOLD, "message": "x" * 5000}] * 9))
    async with running(api):
        found = await warnings(api.access, ["shop", "other"], LIMITS)
    assert [len(each.text("message")) for each in found.found] == [1024, 1024]
    assert set(found.missed) == {"shop", "other"}
    assert {each.path for each in api.asked} == {"/api/v1/namespaces/shop/events"}


async def test_no_private_key_is_kept_of_a_message() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    said = f"{'x' * 1000} tls: {key} of https://admin:hunter2@registry/"
    api = api_with(listed({**TOLD, "message": said, "reason": key}))
    async with running(api):
        (one,) = (await warnings(api.access, ["shop"], LIMITS)).found
    assert one.text("reason") == REMOVED
    assert one.text("message") == f"{'x' * 1000} tls: {REMOVED} of https://removed@registry/"[:1024]
