"""Too much of something is cut, counted, and makes the whole incomplete."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.discover import Discovery, discover, index
from tests.discover.gateways import PASS, ROUTE, gateway
from tests.discover.gateways import SERVICE as EDGE
from tests.discover.objects import CATALOGUE, found, of_objects, origins
from tests.discover.samples import ROUTER, SHOP, ingress, proxy, route, static
from tests.discover.samples import monitor as monitored

NETWORK = {
    "kind": "Network",
    "metadata": {"name": "cluster"},
    "status": {"clusterNetwork": [{"cidr": "10.128.0.0/14"}]},
}


def of(*raws: dict[str, Any]) -> Discovery:
    return discover(of_objects([NETWORK, *raws]), CATALOGUE, most_of_namespace=10_000)


def service(number: int, ports: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "kind": "Service",
        "metadata": {"namespace": "shop", "name": f"s{number}", "labels": {"a": "b"}},
        "spec": {
            "clusterIP": f"172.30.{number // 250}.{number % 250 + 1}",
            "ports": ports or [{"name": "https", "port": 443}],
        },
    }


def monitor(endpoints: list[dict[str, Any]]) -> dict[str, Any]:
    spec = {"selector": {}, "namespaceSelector": {"any": True}, "endpoints": endpoints}
    return {"kind": "ServiceMonitor", "metadata": {"namespace": "shop", "name": "m"}, "spec": spec}


def cuts(discovery: Discovery) -> dict[str, int]:
    return {reason: times for reason, times in discovery.left_out if ": truncated, not" in reason}


def addresses(number: int) -> str:
    return ", ".join(f"{{value: 198.51.100.{n}}}" for n in range(number))


def networks(number: int) -> str:
    return ", ".join(f"100.66.{n}.0/24" for n in range(number))


def test_equal_endpoints_of_a_monitor_are_one() -> None:
    """Twenty thousand for three hundred Services took a minute and a half."""
    discovery = of(*(service(n) for n in range(300)), monitor([{"scheme": "https", "port": "https"}] * 20_000))
    assert (len(discovery.endpoints), discovery.truncated) == (300, 0)
    assert max(len(each.origins) for each in discovery.endpoints) == 2


def test_different_endpoints_of_a_monitor_are_bounded() -> None:
    endpoints = [{"scheme": "https", "port": "https", "tlsConfig": {"serverName": f"n{n}.a"}} for n in range(130)]
    assert cuts(of(service(1), monitor(endpoints))) == {
        "endpoints of one ServiceMonitor beyond the first 100: truncated, not read": 30
    }


def test_places_behind_one_service_are_bounded() -> None:
    ports = [{"name": f"p{n}", "port": n + 1} for n in range(100)]
    slices = {
        "kind": "EndpointSlice",
        "metadata": {"namespace": "shop", "name": "x", "labels": {"kubernetes.io/service-name": "s1"}},
        "ports": ports,
        "endpoints": [{"addresses": [f"10.128.{n // 250}.{n % 250 + 1}"]} for n in range(200)],
    }
    discovery = of(service(1, ports), slices)
    assert len(discovery.endpoints) == 5_000
    assert {each.address for each in discovery.endpoints} >= {"10.128.0.1"}
    assert cuts(discovery) == {"places behind one Service beyond the first 5,000: truncated, not read": 75}
    assert discovery.truncated == 75


def test_ports_and_probes_of_one_pod_are_bounded() -> None:
    containers = [
        {"name": f"c{n}", "ports": [{"containerPort": n * 200 + port + 1} for port in range(200)]} for n in range(30)
    ]
    pod = {
        "kind": "Pod",
        "metadata": {"namespace": "shop", "name": "p"},
        "spec": {"containers": containers},
        "status": {"podIP": "10.128.0.1"},
    }
    discovery = of(pod)
    assert len(discovery.endpoints) == 300
    assert cuts(discovery) == {"ports and probes of one pod beyond the first 300: truncated, not read": 5_700}


def backends(number: int) -> str:
    return ", ".join(f"{{addresses: [198.51.100.{n}]}}" for n in range(number))


API_SERVER = """
{kind: Service, metadata: {name: kubernetes, namespace: default}, spec: {ports: [{name: https, port: 443}]}}
---
{kind: EndpointSlice, metadata: {name: kubernetes, namespace: default,
 labels: {kubernetes.io/service-name: kubernetes}}, ports: [{name: https, port: 6443}], endpoints: [FEW]}
"""


def several(fields: str, number: int) -> str:
    return ", ".join(f"{{{fields % n}}}" for n in range(1, number + 1))


NODE = "{kind: Node, metadata: {name: n}, status: {addresses: [FEW]}}"
ADMITTED = """
{kind: Route, metadata: {name: r, namespace: s}, spec: {host: a.b, tls: {termination: edge}}, status: {ingress: [FEW]}}
"""
SLICE = """
{kind: Service, metadata: {name: s, namespace: s}, spec: {ports: [{name: p1, port: 1}]}}
---
{kind: EndpointSlice, metadata: {name: s, namespace: s, labels: {kubernetes.io/service-name: s}}, ports: [FEW]}
"""
REFERENCE = "{name: db, port: 5433}"
TLS_ROUTE = ROUTE.split("---")[1].join(("---", ""))
MANY = "[" + ", ".join(f"h{n}.ex.com" for n in range(150)) + "]"


@pytest.mark.parametrize(
    ("text", "what", "times"),
    [
        (ingress("{ip: 198.51.100.4}", MANY), "hosts of one Ingress beyond the first 100", 50),
        (
            ingress(", ".join(f"{{ip: 198.51.100.{n}}}" for n in range(40)), "[a.b]"),
            "published addresses of one Ingress beyond the first 32",
            8,
        ),
        (gateway(*[PASS] * 130), "listeners of one Gateway or ListenerSet beyond the first 64", 66),
        (gateway(PASS, status=f"addresses: [{addresses(33)}]"), "addresses of one Gateway beyond the first 32", 1),
        (
            f"{{kind: Node, metadata: {{name: n}}, spec: {{podCIDRs: [{networks(33)}]}}}}",
            "networks of one object beyond the first 32",
            1,
        ),
        (API_SERVER.replace("FEW", backends(129)), "addresses of the API server beyond the first 128", 1),
        (
            ROUTER
            + SHOP
            + route("reencrypt").replace("to:", f"alternateBackends: [{', '.join(['{name: a}'] * 20)}], to:"),
            "backends of one Route beyond the first 16",
            4,
        ),
        (
            "{kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: ["
            + ", ".join(["{name: a}"] * 510)
            + "]}",
            "webhooks of one configuration beyond the first 500",
            10,
        ),
        (
            "{kind: APIServer, metadata: {name: cluster}, spec: {servingCerts: {namedCertificates: [{names: "
            + MANY
            + "}]}}}\n---\n{kind: Service, metadata: {name: kubernetes, namespace: default}, "
            "spec: {clusterIP: 172.30.0.1, ports: [{port: 443}]}}",
            "names of the API server beyond the first 100",
            50,
        ),
        (
            "{kind: TLSRoute, metadata: {name: t, namespace: infra}, spec: {hostnames: "
            + MANY
            + ", parentRefs: [{name: edge}]}}"
            + gateway(PASS, status="addresses: [{value: 198.51.100.9}]"),
            "hostnames of one TLSRoute beyond the first 100",
            50,
        ),
        (
            (
                "{kind: Pod, metadata: {name: a, namespace: s}, "
                "spec: {containers: [{name: c, ports: [{containerPort: 1}]}]},"
                f" status: {{podIPs: [{', '.join(f'{{ip: 10.128.0.{n}}}' for n in range(20))}]}}}}"
            ),
            "addresses of a pod beyond the first 8",
            12,
        ),
        (
            NODE.replace("FEW", several("type: InternalIP, address: 192.0.2.%d", 9)),
            "addresses of a node beyond the first 8",
            1,
        ),
        (
            ADMITTED.replace("FEW", several("host: a.b, routerName: r%d", 17)),
            "routers of one Route beyond the first 16",
            1,
        ),
        (
            SLICE.replace("FEW", several("name: p%d, port: 1", 301)),
            "ports of one EndpointSlice beyond the first 300",
            1,
        ),
        (
            proxy("secretName: a", f", routes: [{{services: [{several('name: a, port: %d', 201)}]}}]"),
            "services of one HTTPProxy beyond the first 200",
            1,
        ),
        (
            EDGE + gateway(PASS) + TLS_ROUTE.replace(REFERENCE, several("name: db, port: %d", 33)),
            "backends of one rule of a TLSRoute beyond the first 32",
            1,
        ),
        (
            EDGE + gateway(PASS) + TLS_ROUTE.replace("rules: [", f"rules: [{several('name: r%d', 32)}, "),
            "rules of one TLSRoute beyond the first 32",
            1,
        ),
        (
            monitored(
                "port: metrics, scheme: https",
                f"selector: {{}}, namespaceSelector: {{matchNames: [{', '.join(f'n{n}' for n in range(1_001))}]}}",
            ),
            "namespaces of one ServiceMonitor beyond the first 1,000",
            1,
        ),
    ],
)
def test_no_cut_is_silent(text: str, what: str, times: int) -> None:
    discovery = found(text)
    assert cuts(discovery) == {f"{what}: truncated, not read": times}
    assert discovery.truncated == times


@pytest.mark.parametrize(
    "text",
    [
        gateway(*[PASS] * 64),
        gateway(PASS, status=f"addresses: [{addresses(32)}]"),
        f"{{kind: Node, metadata: {{name: n}}, spec: {{podCIDRs: [{networks(32)}]}}}}",
        API_SERVER.replace("FEW", backends(128)),
        static("x", f"{', '.join(['a' * 8000] * 8)}, --secure-port=6443"),
    ],
)
def test_as_much_as_the_limit_is_looked_at(text: str) -> None:
    discovery = found(text)
    assert (cuts(discovery), discovery.truncated) == ({}, 0)


def test_what_is_beyond_a_limit_is_not_open_to_the_scan() -> None:
    node = f"{{kind: Node, metadata: {{name: n}}, spec: {{podCIDRs: [{networks(33)}]}}}}"
    scope = found(node).scope
    assert [bool(scope.refusal(f"100.66.{n}.9")) for n in (0, 31, 32)] == [False, False, True]


def test_arguments_that_are_too_long_are_counted() -> None:
    discovery = found(static("x", ", ".join(["a" * 8000] * 9)))
    assert cuts(discovery) == {"arguments of one container beyond 65,536 characters: truncated, not read": 1}
    assert discovery.truncated == 1


@pytest.mark.parametrize(("routes", "cut"), [(3, []), (4, [1])])
def test_what_objects_of_a_namespace_say_of_one_service_counts_up_to_the_limit(
    routes: int, cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanner.discover.index.MAX_LED", 3)
    every = (route("passthrough").replace("name: shop, namespace", f"name: r{n}, namespace") for n in range(routes))
    assert list(cuts(found(ROUTER + SHOP + "".join(every))).values()) == cut


def test_addresses_of_services_that_lead_to_one_listener_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.discover.merged_claims.MAX_ALIASES", 1)
    what = "addresses of Services of one listener beyond the first 1,000: truncated, not read"
    assert cuts(found(SHOP)) == {what: 1}


def test_objects_that_lead_to_one_listener_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.discover.merged_claims.MAX_ORIGINS", 1)
    what = "objects that lead to one listener beyond the first 1,000: truncated, not read"
    assert cuts(found(SHOP)) == {what: 1}


def test_what_no_namespace_says_of_a_service_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.discover.index.MAX_LED", 0)
    discovery = found(ROUTER + SHOP)
    assert cuts(discovery) == {}
    assert "Service/shop/shop port https" in origins(next(each for each in discovery.endpoints if each.port == 8443))


def test_what_is_said_of_one_service_is_bounded_for_each_namespace_and_the_service_itself_is_never_cut() -> None:
    routes = "".join(route("passthrough").replace("name: shop, namespace", f"name: r{n}, namespace") for n in range(5))

    most, index.MAX_LED = index.MAX_LED, 3
    try:
        discovery = found(ROUTER + SHOP + routes)
    finally:
        index.MAX_LED = most
    assert list(cuts(discovery).values()) == [2]
    assert "Service/shop/shop port https" in origins(next(each for each in discovery.endpoints if each.port == 8443))
