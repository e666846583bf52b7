"""Order of probes: the platform, then every namespace in turn, each up to its limit."""

from __future__ import annotations

import pytest

from scanner.discover import Discovery, discover
from scanner.discover.endpoint_selection import share_namespace
from scanner.model.endpoint import Certainty
from scanner.values import replace
from tests.discover.objects import CATALOGUE, by_id, found, of_objects
from tests.discover.samples import ROUTER, SHOP, route
from tests.origins import origin


def pods(namespace: str, count: int, *, port: str = "tcp", first: int = 0) -> list[dict[str, object]]:
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"p{n}", "namespace": namespace},
            "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 9000, "name": port}]}]},
            "status": {"podIP": f"10.128.{n // 250}.{n % 250 + 1}"},
        }
        for n in range(first, first + count)
    ]


NETWORK = {
    "kind": "Network",
    "metadata": {"name": "cluster"},
    "status": {"clusterNetwork": [{"cidr": "10.128.0.0/14"}]},
}


def of(*raws: dict[str, object], most: int = 2_000) -> Discovery:
    return discover(of_objects([NETWORK, *raws]), CATALOGUE, most_of_namespace=most)


def order(discovery: Discovery) -> list[str]:
    """The namespaces, as they come."""
    turns = discovery.turns
    places = sorted(range(len(turns)), key=turns.__getitem__)
    return [discovery.endpoints[place].owner.namespace or "" for place in places]


def test_the_platform_comes_first_and_then_every_namespace_in_turn() -> None:
    raws = (*pods("aaa", 3), *pods("openshift-dns", 2, first=10), *pods("shop", 1, first=20), *pods("zoo", 2, first=30))
    assert order(of(*raws)) == ["openshift-dns", "openshift-dns", "aaa", "shop", "zoo", "aaa", "zoo", "aaa"]


def test_beyond_its_share_a_namespace_is_counted_by_name_and_the_scan_is_incomplete() -> None:
    discovery = of(*pods("aaa", 5), *pods("openshift-dns", 5, first=10), *pods("shop", 2, first=20), most=3)
    assert sorted(order(discovery)) == ["aaa"] * 3 + ["openshift-dns"] * 5 + ["shop"] * 2
    reason = "listeners of the namespace aaa beyond the first 3 (scope.endpointsPerNamespace)"
    assert dict(discovery.left_out) == {reason: 2}
    assert discovery.truncated == 2
    assert [
        (each.owner.namespace, why) for each, why in zip(discovery.unasked, discovery.why_unasked, strict=True)
    ] == [("aaa", reason)] * 2


def test_what_is_declared_comes_before_what_is_merely_possible() -> None:
    hinted = pods("aaa", 2, port="https", first=50)
    discovery = of(*pods("aaa", 5), *hinted, most=3)
    kept: list[Certainty] = [each.certainty for each in discovery.endpoints]
    assert sorted(kept) == ["candidate", "hinted", "hinted"]


def test_a_name_on_the_router_takes_the_share_of_its_route() -> None:
    routes = "".join(
        route("edge").replace("name: shop, namespace", f"name: r{n}, namespace").replace("shop.apps", f"n{n}.apps")
        for n in range(4)
    )
    every = by_id(found(ROUTER + SHOP + routes))
    named = {id_: share_namespace(each) for id_, each in every.items() if "#n" in id_}
    assert set(named.values()) == {"shop"}
    assert len(named) == 4
    assert share_namespace(every["Deployment/openshift-ingress/router-default:443"]) == "openshift-ingress"


@pytest.mark.parametrize(("name", "expected"), [("kubernetes", None), ("web", "default")])
def test_the_api_server_is_no_namespace_s(name: str, expected: str | None) -> None:
    text = f"""
---
{{kind: Service, metadata: {{name: {name}, namespace: default}}, spec: {{clusterIP: 172.30.0.1, selector: {{a: b}},
  ports: [{{name: https, port: 443}}]}}}}
"""
    assert {share_namespace(each) for each in found(text).endpoints} == {expected}


@pytest.mark.parametrize("address", ["10.128.0.1", "10.0.0.5"], ids=["a pod of the platform", "a node"])
def test_who_points_at_what_is_not_theirs_pays_for_it(address: str) -> None:
    """Otherwise a tenant's Service with many ports of silent addresses would come first, and have no limit."""
    ports: list[dict[str, object]] = [{"name": f"https-{n}", "port": 20000 + n} for n in range(20)]
    service: dict[str, object] = {
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "shop"},
        "spec": {"ports": ports},
    }
    backends: dict[str, object] = {
        "kind": "EndpointSlice",
        "metadata": {"name": "s-x", "namespace": "shop", "labels": {"kubernetes.io/service-name": "s"}},
        "ports": ports,
        "endpoints": [{"addresses": [address]}],
    }
    node: dict[str, object] = {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.5"}]},
    }
    discovery = of(*pods("openshift-dns", 1), node, service, backends, most=3)
    turns = {each.port: turn for each, turn in zip(discovery.endpoints, discovery.turns, strict=True)}
    assert sorted(turn for port, turn in turns.items() if 20000 <= port < 20020) == [1, 2, 3]
    assert discovery.truncated == 17


def test_a_listener_that_its_own_namespace_declares_too_takes_that_one_s_share() -> None:
    """A foreign object without a known place has no namespace that could be charged instead."""
    endpoint = next(each for each in of(*pods("aaa", 1)).endpoints)
    own = origin("Service/aaa/web")
    foreign = replace(origin("Route/zoo/r"), foreign=True)
    assert share_namespace(replace(endpoint, origins=(foreign,))) == "zoo"
    assert share_namespace(replace(endpoint, origins=(foreign, own))) == "aaa"
    assert share_namespace(replace(endpoint, origins=(replace(foreign, reference=None),))) == "aaa"
