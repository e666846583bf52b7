"""The whole of discovery: the sources, what is chosen, the order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scanner.discover import READS, discover, sources
from scanner.discover.sources import SOURCES
from scanner.model.kinds import KINDS
from scanner.model.selector import Selector
from tests.discover.objects import CATALOGUE, NOTHING, by_id, found, instances, left_out, of_objects
from tests.discover.test_called import BACKEND, webhook
from tests.discover.test_routes import ROUTER, SHOP, route

CLUSTER = ROUTER + SHOP + route("passthrough") + BACKEND + webhook("service: {namespace: guard, name: policy}")


def test_every_source_is_registered() -> None:
    folder = Path(sources.__file__).parent
    defined = [
        (path.stem, target.id)
        for path in sorted(folder.glob("[a-z]*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "Source"
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    assert len(defined) == len(SOURCES) == len({each.name for each in SOURCES})


def test_a_source_says_which_kinds_it_reads_and_all_are_known() -> None:
    assert all(each.reads for each in SOURCES)
    assert set(READS) <= set(KINDS)
    assert len(READS) == len(set(READS))


@pytest.mark.parametrize("kind", READS, ids=lambda kind: kind.resource)
def test_no_source_looks_at_a_kind_that_is_not_in_the_reads(kind: object) -> None:
    """A snapshot raises for a kind that it was not asked for: with exactly these, it does not."""
    assert kind in of_objects([]).objects
    assert not discover(of_objects([]), CATALOGUE).endpoints


@pytest.mark.parametrize(
    ("selector", "ids"),
    [
        (Selector(namespaces=("gu*",)), {"Deployment/guard/policy:9443#policy.guard.svc"}),
        (Selector(kinds=("StatefulSet",)), {"StatefulSet/shop/shop:8443#shop.apps.ex.com"}),
        (Selector(kinds=("Route",)), {"Deployment/openshift-ingress/router-default:443#shop.apps.ex.com"}),
        (Selector(labels=(("team", "a"),)), {"Deployment/openshift-ingress/router-default:443#shop.apps.ex.com"}),
        (Selector(ports=(1936,)), {"Deployment/openshift-ingress/router-default:1936"}),
        (Selector(components=("router",), ports=(1936,)), {"Deployment/openshift-ingress/router-default:1936"}),
    ],
)
def test_include_and_exclude(selector: Selector, ids: set[str]) -> None:
    everything = by_id(found(CLUSTER))
    chosen = found(CLUSTER, include=[selector])
    rest = found(CLUSTER, exclude=[selector])
    assert set(by_id(chosen)) == ids
    assert set(by_id(rest)) == set(everything) - ids
    assert left_out(rest)["excluded"] >= 1
    assert left_out(chosen)["not included"] >= 1


def test_the_order_of_objects_changes_nothing() -> None:
    import yaml

    raws = [each for each in yaml.safe_load_all(f"---\n{CLUSTER}") if each]
    one, two = discover(of_objects(raws), CATALOGUE), discover(of_objects(raws[::-1]), CATALOGUE)
    assert [(each.instance, each.certainty, each.subject) for each in one.endpoints] == [
        (each.instance, each.certainty, each.subject) for each in two.endpoints
    ]
    assert instances(one) == sorted(set(instances(one)))


def test_two_pods_that_claim_one_address_are_asked_once() -> None:
    pod = """
---
{kind: Pod, metadata: {name: a, namespace: s}, spec: {containers: [{name: c, ports: [{containerPort: 1}]}]},
 status: {podIP: 10.128.0.9}}
"""
    text = pod + pod.replace("name: a", "name: b")
    discovery = found(text, NOTHING)
    assert instances(discovery) == ["Pod/s/a:1 @ 10.128.0.9:1"]
    assert left_out(discovery) == {"listeners at an address that another one has": 1}
