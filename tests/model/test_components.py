"""Lookup of a listener in the catalogue."""

from __future__ import annotations

import pytest

from scanner.model.components import Catalogue, Component, Listener
from scanner.values import replace

WEB = Listener(
    component="web",
    listener="api",
    namespaces=("shop-*",),
    workloads=("web", "web-*"),
    ports=(8443, 9443),
    host_network=False,
    governor="own",
)
NODE = Listener(component="agent", listener="api", namespaces=(), ports=(10250,), host_network=True, governor="kubelet")
CATALOGUE = Catalogue(
    listeners=(
        WEB,
        replace(WEB, component="late"),
        NODE,
        replace(WEB, component="other", workloads=(), host_network=None),
    ),
    components=(Component(name="web", operator="shop"), Component(name="agent", platform=False)),
)


@pytest.mark.parametrize(
    ("namespace", "workloads", "port", "on_node", "component"),
    [
        ("shop-a", ("web",), 8443, False, "web"),
        ("shop-a", ("web-7",), 9443, False, "web"),
        ("shop-a", ("nothing", "web"), 8443, False, "web"),
        ("shop-a", ("web",), 8443, True, "other"),
        ("shop-a", ("nothing",), 8443, False, "other"),
        ("shop-a", (), 8443, False, "other"),
        ("shop-a", ("web",), 443, False, None),
        ("shop", ("web",), 8443, False, None),
        (None, ("web",), 8443, False, None),
        (None, (), 10250, True, "agent"),
        (None, (), 10250, False, None),
        ("shop-a", ("agent",), 10250, True, None),
    ],
)
def test_find(
    namespace: str | None, workloads: tuple[str, ...], port: int, on_node: bool, component: str | None
) -> None:
    found = CATALOGUE.find(namespace, workloads, port, on_node=on_node)
    assert (found.component if found else None) == component


def test_a_component_by_its_name() -> None:
    web, agent = CATALOGUE.component("web"), CATALOGUE.component("agent")
    assert web is not None
    assert agent is not None
    assert (web.operator, web.platform, agent.platform) == ("shop", True, False)
    assert CATALOGUE.component("WEB") is None


def test_a_catalogue_with_other_entries_finds_those() -> None:
    changed = replace(CATALOGUE, listeners=(NODE,))
    assert changed.find("shop-a", ("web",), 8443, on_node=False) is None
    assert changed.find(None, (), 10250, on_node=True) == NODE
