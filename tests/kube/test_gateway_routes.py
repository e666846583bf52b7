"""Routes and the listeners that they attach to, by kind, namespace, name, section and port, and by status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from scanner.kube.gateway import Listener, holder_of
from scanner.kube.gateway_routes import Routes, parents
from scanner.kube.kinds import GATEWAY, LISTENER_SET, TLS_ROUTE, X_LISTENER_SET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot

TAKEN = datetime(2026, 1, 1, tzinfo=UTC)
PASSTHROUGH = {"protocol": "TLS", "tls": {"mode": "Passthrough"}, "allowedRoutes": {"namespaces": {"from": "All"}}}


def attached(route: KubeObject, holder: KubeObject, name: str = "tls") -> bool:
    """True if a listener of that name on port 443 has the route."""
    listener = {"name": name, "port": 443, **PASSTHROUGH}
    item = KubeObject({**holder.raw, "spec": {"listeners": [listener]}}, holder.kind)
    (found,) = holder_of(item).listeners
    return len(on(found, route)) == 1


def on(listener: Listener, route: KubeObject) -> list[str]:
    snapshot = Snapshot(taken_at=TAKEN, origin=Origin(name="c"), objects={TLS_ROUTE: (route,)})
    return [each.name for each in Routes(snapshot, TLS_ROUTE).on(listener)]


def holder(kind: Kind = GATEWAY, namespace: str = "infra") -> KubeObject:
    return KubeObject({"metadata": {"name": "edge", "namespace": namespace}}, kind)


def route(*references: object, status: object = (), generation: int = 3) -> KubeObject:
    metadata = {"name": "db", "namespace": "infra", "generation": generation}
    return KubeObject(
        {"metadata": metadata, "spec": {"parentRefs": list(references)}, "status": {"parents": list(status)}},  # type: ignore[call-overload] # JSON
        TLS_ROUTE,
    )


def said(status: str, *, seen: int = 3, **reference: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    condition = {"type": "Accepted", "status": status, "observedGeneration": seen}
    return {"parentRef": {"name": "edge", **reference}, "conditions": [condition]}


@pytest.mark.parametrize(
    ("reference", "to", "is_attached"),
    [
        ({}, holder(), True),
        ({}, holder(namespace="other"), False),
        ({"namespace": "other"}, holder(), False),
        ({"namespace": "other"}, holder(namespace="other"), True),
        ({}, holder(LISTENER_SET), False),
        ({"kind": "ListenerSet"}, holder(LISTENER_SET), True),
        ({"kind": "ListenerSet"}, holder(), False),
        ({"kind": "XListenerSet"}, holder(X_LISTENER_SET), False),
        ({"kind": "XListenerSet", "group": "gateway.networking.x-k8s.io"}, holder(X_LISTENER_SET), True),
        ({"kind": "Service", "group": ""}, holder(), False),
        ({"group": ""}, holder(), False),
        ({"sectionName": "tls"}, holder(), True),
        ({"sectionName": "web"}, holder(), False),
        ({"port": 443}, holder(), True),
        ({"port": 8443}, holder(), False),
        ({"sectionName": "tls", "port": 8443}, holder(), False),
    ],
)
def test_a_parent_is_a_kind_a_namespace_and_a_name(reference: Any, to: KubeObject, is_attached: bool) -> None:  # noqa: ANN401 - JSON
    assert attached(route({"name": "edge", **reference}), to) == is_attached


@pytest.mark.parametrize(
    ("status", "is_attached"),
    [
        ((), True),
        ((said("False"),), False),
        ((said("True"),), True),
        ((said("Unknown"),), True),
        ((said("False", namespace="other"),), True),
        ((said("False", kind="ListenerSet"),), True),
        ((said("False", sectionName="web"),), True),
        ((said("False", port=8443),), True),
        ((said("False", seen=2),), True),  # an older generation
        ((said("False", namespace="other"), said("False")), False),
        ((said("False"), said("True")), True),  # one of two controllers accepts it
        (({"parentRef": {"name": "edge"}, "conditions": []},), True),
    ],
)
def test_a_refusal_counts_for_the_parent_that_it_is_about(status: object, is_attached: bool) -> None:
    assert attached(route({"name": "edge"}, status=status), holder()) == is_attached


def test_of_two_parents_each_has_its_own_answer() -> None:
    both = ({"name": "edge", "sectionName": "web"}, {"name": "edge", "sectionName": "tls"})
    refused_there = route(*both, status=(said("False", sectionName="web"), said("True", sectionName="tls")))
    assert attached(refused_there, holder())
    assert not attached(refused_there, holder(), "web")
    refused_here = route(*both, status=(said("True", sectionName="web"), said("False", sectionName="tls")))
    assert not attached(refused_here, holder())


def test_what_is_no_reference_has_no_place_among_them() -> None:
    found = list(parents(route(7, None, {"name": "edge"}, {"kind": "Service", "group": "", "name": "mesh"})))
    assert [(each.steps, each.name, each.namespace, each.kind) for each in found] == [
        (("spec", "parentRefs", 2), "edge", "infra", GATEWAY)
    ]
