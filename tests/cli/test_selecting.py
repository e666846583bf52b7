"""Selectors on the command line."""

from __future__ import annotations

import pytest

from scanner.cli.inputs import parse_selector
from scanner.errors import UsageError
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.scan_policy import Selector

ENDPOINT = Endpoint(
    id="Deployment/shop/web:8443", instance="x", address="10.0.0.1", port=8443, component=None,
    owner=Owner(kind="Deployment", namespace="shop", name="web"), labels=(("app", "web"), ("tier", "front")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("namespace=shop", Selector(namespaces=("shop",))),
        ("namespace=a,namespace=b-*,port=443", Selector(namespaces=("a", "b-*"), ports=(443,))),
        ("label=app=web, label=tier=front", Selector(labels=(("app", "web"), ("tier", "front")))),
        ("kind=Route,name=a,component=b", Selector(kinds=("Route",), names=("a",), components=("b",))),
        ("endpoint=Deployment/shop/*", Selector(endpoints=("Deployment/shop/*",))),
    ],
)  # fmt: skip
def test_what_is_meant(text: str, meant: Selector) -> None:
    assert parse_selector(text, "--include") == meant


@pytest.mark.parametrize(
    "text",
    ["", " , ", "shop", "namespace=", "colour=red", "port=0", "port=65536", "port=https", "label=app", "label==x"],
)
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(UsageError, match="--exclude"):
        parse_selector(text, "--exclude")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("namespace=sh*", True),
        ("namespace=sh", False),
        ("kind=Deployment,port=8443", True),
        ("kind=Deployment,port=443", False),
        ("label=app=web", True),
        ("label=app=api", False),
        ("component=*", True),
        ("component=etcd", False),
        ("endpoint=*:8443", True),
    ],
)
def test_what_it_matches(text: str, *, matches: bool) -> None:
    assert parse_selector(text, "--include").matches(ENDPOINT) is matches


def test_an_empty_selector_means_everything() -> None:
    assert Selector().matches(ENDPOINT)
