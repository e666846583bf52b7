"""Discovery from all sources: selection and order."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from scanner.discover import READS, discover, index, sources
from scanner.discover.endpoint_selection import AddressConflicts
from scanner.discover.index import Index, Source
from scanner.discover.sources import SOURCES
from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Workloads
from scanner.kube.kinds import KINDS
from scanner.model.endpoint import Endpoint, Owner, Tunnel
from scanner.model.scan_policy import Selector
from scanner.values import replace
from tests.discover.gateways import HTTPS, gateway
from tests.discover.objects import CATALOGUE, NOTHING, by_id, found, instances, left_out, of_objects, only, snapshot
from tests.discover.probes import static
from tests.discover.samples import BACKEND, ENVOY, ROUTER, SHOP, ingress, monitor, proxy, route, webhook
from tests.yaml_documents import documents

CLUSTER = ROUTER + SHOP + route("passthrough") + BACKEND + webhook("service: {namespace: guard, name: policy}")


def test_every_source_is_registered() -> None:
    folder = Path(sources.__file__).parent
    defined = [
        getattr(import_module(f"{sources.__name__}.{path.stem}"), target.id)
        for path in sorted(folder.glob("[a-z]*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "Source"
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    missing = [each.name for each in defined if each not in SOURCES]
    assert missing == [], "add each to SOURCES in scanner/discover/sources/__init__.py"
    assert len(defined) == len(SOURCES) == len({each.name for each in SOURCES})


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.name))
def test_a_source_reads_the_kinds_that_it_says(source: Source) -> None:
    """A snapshot raises for any other."""
    every = snapshot(
        CLUSTER + gateway(HTTPS) + ENVOY + proxy("a: b") + ingress("{ip: 1.2.3.4}") + monitor("") + static("x")
    )
    here = replace(every, objects={kind: every.objects[kind] for kind in {*index.READS, *source.reads}})
    list(source.find(Index(here, CATALOGUE, via_port_forward=False)))
    assert not {*index.READS} & {*source.reads}


def test_all_kinds_are_known() -> None:
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
    assert {each.id: why for each, why in zip(rest.unasked, rest.why_unasked, strict=True)} == dict.fromkeys(
        ids, "excluded"
    )
    assert left_out(rest)["excluded"] >= 1
    assert left_out(chosen)["not included"] >= 1


def test_the_order_of_objects_changes_nothing() -> None:

    raws = documents(f"---\n{CLUSTER}")
    one, two = discover(of_objects(raws), CATALOGUE), discover(of_objects(raws[::-1]), CATALOGUE)
    assert [(each.instance, each.certainty, each.subject) for each in one.endpoints] == [
        (each.instance, each.certainty, each.subject) for each in two.endpoints
    ]
    assert instances(one) == sorted(set(instances(one)))


def claimant(namespace: str, metadata: str = "", rest: str = "") -> str:
    return f"""
---
{{kind: Pod, metadata: {{name: a, namespace: {namespace} {metadata}}}, spec: {{containers: [{{name: c,
  ports: [{{containerPort: 8443}}]}}]}}, status: {{podIP: 10.128.0.9 {rest}}}}}
"""


LEAVES = ", deletionTimestamp: '2026-11-21T00:00:00Z'"
WHO = (("leaves", LEAVES), ("stays", ""))


def test_two_pods_that_claim_one_address_are_both_judged() -> None:
    discovery = found(claimant("aaa") + claimant("openshift-zzz"), NOTHING)
    assert instances(discovery) == ["Pod/aaa/a:8443 @ 10.128.0.9:8443", "Pod/openshift-zzz/a:8443 @ 10.128.0.9:8443"]
    assert [[each.namespace for each in one.candidates] for one in discovery.endpoints] == [["openshift-zzz"], ["aaa"]]
    assert left_out(discovery) == {}


@pytest.mark.parametrize("text", [claimant("aaa", LEAVES) + claimant("b"), claimant("b") + claimant("zzz", LEAVES)])
def test_a_pod_that_ends_gives_way_to_one_that_stays(text: str) -> None:
    discovery = found(text, NOTHING)
    assert instances(discovery) == ["Pod/b/a:8443 @ 10.128.0.9:8443"]
    assert left_out(discovery) == {"listeners at an address of another listener": 1}


HEADLESS = """
---
{kind: Service, metadata: {name: s, namespace: b}, spec: {clusterIP: None, ports: [{name: https, port: 9000}]}}
---
{kind: EndpointSlice, metadata: {name: s-1, namespace: b, labels: {kubernetes.io/service-name: s}},
 ports: [{name: https, port: 9000}], endpoints: [{addresses: [10.128.0.9]}]}
"""
"""A Service without an address, and a slice that names no pod."""


def test_of_pods_at_one_address_those_that_stay_are_what_a_slice_means() -> None:
    first, second = (claimant("b", leaves).replace("name: a,", f"name: {name},") for name, leaves in WHO)
    discovery = found(first + second + HEADLESS, NOTHING)
    assert {each.id for each in discovery.endpoints if each.port == 9000} == {"Pod/b/stays:9000"}
    assert left_out(discovery) == {"listeners at an address of another listener": 1}  # only what it declares itself
    # With one that another namespace has, and that stays too, both are meant; what leaves is not.
    third = claimant("zzz").replace("name: a,", "name: other,")
    discovery = found(first + second + third + HEADLESS, NOTHING)
    assert {each.id for each in discovery.endpoints if each.port == 9000} == {"Pod/b/stays:9000", "Pod/zzz/other:9000"}


HERE = replace(only(found(claimant("b"), NOTHING)), server_name="a.example")
OTHER = Owner(kind="Pod", name="z", namespace="zzz")


def resolved(*several: Endpoint) -> list[Endpoint]:
    conflicts = AddressConflicts(Workloads(of_objects([]), Cuts(), primary_only=False))
    for each in several:
        conflicts.add(each)
    return conflicts.resolved()[0]


@pytest.mark.parametrize(
    ("fields", "other"),
    [
        ({}, {"instance": "z"}),
        ({}, {"instance": "z", "host": "z.example"}),
        ({"address": "", "host": "a.example"}, {"instance": "z", "address": "", "host": "a.example"}),
    ],
)
def test_one_place_is_in_dispute_whatever_its_host_is(fields: dict[str, Any], other: dict[str, Any]) -> None:
    assert [each.candidates for each in resolved(replace(HERE, **fields), replace(HERE, **other, owner=OTHER))] == [
        (OTHER,),
        (HERE.owner,),
    ]
    third = Owner(kind="Pod", name="y", namespace="zzz")
    several = (
        replace(HERE, instance=name, owner=owner, candidates=(third,)) for name, owner in (("y", third), ("z", OTHER))
    )
    assert [each.candidates for each in resolved(HERE, *several)] == [
        (third, OTHER),
        (third, HERE.owner, OTHER),
        (third, HERE.owner),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"address": "10.128.0.8"},
        {"port": 1},
        {"server_name": None},
        {"transport": "smtp"},
        {"tunnel": Tunnel(namespace="b", pod="a", port=1)},
    ],
    ids=str,
)
def test_what_differs_where_it_is_dialled_is_another_listener(fields: dict[str, Any]) -> None:
    assert {each.candidates for each in resolved(HERE, replace(HERE, instance="z", owner=OTHER, **fields))} == {()}
    assert {each.candidates for each in resolved(*(replace(HERE, address="", host=host) for host in "ab"))} == {()}


def test_a_pod_that_has_finished_has_no_address_and_one_that_ends_alone_is_asked() -> None:
    text = claimant("aaa", rest=", phase: Succeeded") + claimant("b", LEAVES)
    assert instances(found(text, NOTHING)) == ["Pod/b/a:8443 @ 10.128.0.9:8443"]


def test_replicas_at_one_address_are_one_listener() -> None:
    owner = ", ownerReferences: [{kind: StatefulSet, name: s}]"
    text = claimant("b", owner) + claimant("b", owner).replace("name: a,", "name: z,")
    assert instances(found(text, NOTHING)) == ["StatefulSet/b/s:8443 @ 10.128.0.9:8443"]


def test_a_slice_that_names_no_pod_means_each_that_may_be_there() -> None:
    text = claimant("b") + claimant("b").replace("name: a,", "name: z,") + HEADLESS
    assert {each.id for each in found(text, NOTHING).endpoints if each.port == 9000} == {"Pod/b/a:9000", "Pod/b/z:9000"}
