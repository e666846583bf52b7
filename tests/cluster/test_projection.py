"""A projected page is kept like a completely decoded one."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.cluster import endpoint_slice, pod
from scanner.cluster.decoding import decoded
from scanner.cluster.listing import page_decoder
from scanner.cluster.retention import SHAPES, Only, Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import CONFIG_MAP, ENDPOINT_SLICE, POD, Kind
from scanner.kube.objects import Fields
from tests.cluster.odd_values import JSON, OBJECTS

pytestmark = pytest.mark.crypto

PROJECTED = tuple(kind for kind, shape in SHAPES.items() if isinstance(shape, Only))


def both(kind: Kind, items: object) -> tuple[list[object], list[object]]:
    """The kept form of a page with these items, completely decoded and projected."""
    data = json.dumps({"kind": "List", "metadata": {"continue": "more", "x": 1}, "items": items}).encode()
    pruners = (Pruner(), Pruner())
    pages = [
        Fields(page) if isinstance(page, dict) else Fields({}) for page in (decoded(data), page_decoder(kind)(data))
    ]
    assert pages[0].text("kind") == pages[1].text("kind")
    assert pages[0].at("metadata") == pages[1].at("metadata")
    found: list[list[object]] = []
    for page, pruner in zip(pages, pruners, strict=True):
        value = page.at("items")
        objects = [kept(kind, item, pruner, "v1") for item in value] if isinstance(value, list) else []
        found.append([each and each.raw for each in objects])
    return found[0], found[1]


@given(st.sampled_from(PROJECTED), st.lists(OBJECTS, max_size=3) | st.lists(JSON, max_size=3) | JSON)
@example(POD, [pod(1), pod(2), pod(5)])
@example(ENDPOINT_SLICE, [endpoint_slice(1), endpoint_slice(2)])
@example(POD, [{"metadata": {"name": "a"}, "spec": {"containers": [None, {"args": {"a": 1}, "env": 5, "ports": 1}]}}])
@example(POD, [{"metadata": {"name": "a", "labels": {"a": "\ud800"}}, "spec": {"nodeName": 1 << 80}}])
def test_nothing_is_kept_otherwise(kind: Kind, items: object) -> None:
    whole, projected = both(kind, items)
    assert projected == whole


def test_what_is_not_kept_is_not_decoded() -> None:
    page = page_decoder(POD)(b'{"items": [{"metadata": {"name": "a", "managedFields": [{}]}, "spec": {"x": "y"}}]}')
    assert page == {"items": [{"metadata": {"name": "a"}, "spec": {}}]}


def test_kinds_that_stay_whole_are_decoded_whole() -> None:
    assert page_decoder(CONFIG_MAP) is decoded


@pytest.mark.parametrize("data", [b"", b"[", b'{"items": [', b"nothing", b'{"items": [{}]} more'])
def test_what_is_no_json_is_refused_like_any_other(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        page_decoder(POD)(data)


def test_what_is_nested_too_deeply_is_refused_like_any_other() -> None:
    deep = b'{"items": [{"metadata": {"annotations": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}]}"
    with pytest.raises((ValueError, RecursionError)):
        page_decoder(POD)(deep)


def test_replicas_are_decoded_once() -> None:
    pages = json.dumps({"items": [pod(4), pod(5), pod(6)]}).encode()
    page = page_decoder(POD)(pages)
    assert isinstance(page, dict)
    pruner = Pruner()
    first, second, third = (kept(POD, item, pruner, "v1") for item in page["items"])
    assert first
    assert second
    assert third
    assert first.at("spec", "containers") is second.at("spec", "containers") is third.at("spec", "containers")
    assert first.at("spec", "volumes") is third.at("spec", "volumes")
