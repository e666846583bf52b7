"""Selectors: all fields must match, one alternative is enough, and an empty list matches nothing."""

from __future__ import annotations

import pytest

from scanner.kube.objects import Reference
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.scan_policy import Selector, any_matches

WEB = Endpoint(
    id="Deployment/shop/web:8443",
    instance="Deployment/shop/web:8443 @ 10.1.0.1:8443",
    address="10.1.0.1",
    port=8443,
    owner=Owner(kind="Deployment", namespace="shop", name="web"),
    subject=Reference(kind="Route", namespace="fronts", name="www"),
    labels=(("tier", "front"),),
)


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        (Selector(), True),
        (Selector(namespaces=("sh*",), ports=(443, 8443)), True),
        (Selector(namespaces=("sh*",), ports=(443,)), False),
        (Selector(namespaces=("fronts",), kinds=("Route",), names=("ww?",)), True),
        (Selector(labels=(("tier", "back"),)), False),
        (Selector(components=("etcd",)), False),
        (Selector(endpoints=("*/web:8443",)), True),
    ],
)
def test_all_that_is_given_holds(selector: Selector, meant: bool) -> None:
    assert selector.matches(WEB) is meant


def test_one_of_several_is_enough_and_none_of_none_matches() -> None:
    other, web = Selector(namespaces=("other",)), Selector(names=("web",))
    assert any_matches((other, web), WEB)
    assert not any_matches((other,), WEB)
    assert not any_matches((), WEB)
