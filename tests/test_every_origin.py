"""Every object that leads to a listener is judged, however many there are: discovered, resolved and judged together."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scanner.assessment import READS, Assessment, Viewpoint, assess
from scanner.discover import merged_claims
from scanner.judge import judge
from scanner.kube.kinds import INGRESS, KINDS, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.rule import Case
from scanner.model.scan_policy import Policy, ScanPolicy
from scanner.tls.certificate import parse_certificate
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import CONFORMING, PROFILE

pytestmark = pytest.mark.crypto

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
GOOD, BAD = Authority("Good", now=NOW - timedelta(days=2)), Authority("Bad", now=NOW - timedelta(days=2))
LEAF = parse_certificate(GOOD.leaf(names=("web.shop.svc", "web.example")).der)
KIND = {**{each.name: each for each in KINDS}, "Ingress": INGRESS}
MANY = 25
Raw = dict[str, Any]


def metadata(name: str, namespace: str = "shop") -> Raw:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


PLACE: list[Raw] = [
    {"kind": "Network", "metadata": {"name": "cluster"}, "status": {"clusterNetwork": [{"cidr": "10.128.0.0/14"}]}},
    {
        "kind": "Service",
        "metadata": metadata("web"),
        "spec": {"clusterIP": "172.30.0.5", "ports": [{"name": "https", "port": 443}]},
    },
    {
        "kind": "EndpointSlice",
        "metadata": {**metadata("web-1"), "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"name": "https", "port": 8443}],
        "endpoints": [{"addresses": ["10.128.0.7"], "targetRef": {"kind": "Pod", "name": "web"}}],
    },
    {
        "kind": "Pod",
        "metadata": metadata("web"),
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 8443}]}]},
        "status": {"podIP": "10.128.0.7"},
    },
    {"kind": "IngressController", "metadata": metadata("default", "openshift-ingress-operator")},
]
SERVICE = {"namespace": "shop", "name": "web"}


def bundle(authority: Authority) -> str:
    return b64encode(authority.pem).decode()


def conversion(number: int, authority: Authority) -> list[Raw]:
    webhook = {"clientConfig": {"service": SERVICE, "caBundle": bundle(authority)}}
    spec = {"conversion": {"strategy": "Webhook", "webhook": webhook}}
    return [{"kind": "CustomResourceDefinition", "metadata": metadata(f"c{number}", ""), "spec": spec}]


def webhook(number: int, authority: Authority) -> list[Raw]:
    client = {"service": SERVICE, "caBundle": bundle(authority)}
    raw = {"kind": "ValidatingWebhookConfiguration", "metadata": metadata(f"c{number}", "")}
    return [{**raw, "webhooks": [{"name": "first.example", "clientConfig": client}]}]


def route(number: int, authority: Authority) -> list[Raw]:
    tls = {"termination": "reencrypt", "destinationCACertificate": authority.pem.decode()}
    admitted = {"routerName": "default", "conditions": [{"type": "Admitted", "status": "True"}]}
    spec = {"host": f"h{number}.example", "to": {"kind": "Service", "name": "web"}, "tls": tls}
    return [{"kind": "Route", "metadata": metadata(f"c{number}"), "spec": spec, "status": {"ingress": [admitted]}}]


def policy(number: int, authority: Authority) -> list[Raw]:
    reference = {"group": "", "kind": "ConfigMap", "name": f"ca{number}"}
    spec = {
        "targetRefs": [{"group": "", "kind": "Service", "name": "web"}],
        "validation": {"hostname": "web.example", "caCertificateRefs": [reference]},
    }
    return [
        {"kind": "BackendTLSPolicy", "metadata": metadata(f"c{number}"), "spec": spec},
        {"kind": "ConfigMap", "metadata": metadata(f"ca{number}"), "data": {"ca.crt": authority.pem.decode()}},
    ]


Maker = Callable[[int, Authority], list[Raw]]


def surveyed(*raws: Raw) -> Assessment:
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in READS}
    for raw in raws:
        objects[KIND[raw["kind"]]].append(KubeObject(raw, KIND[raw["kind"]]))
    snapshot = Snapshot(
        taken_at=NOW, origin=Origin(name="test"), objects={kind: tuple(found) for kind, found in objects.items()}
    )
    return assess(snapshot, Viewpoint(policy=ScanPolicy(), default_profile=PROFILE))


def callers(found: Assessment) -> list[tuple[str, tuple[str, ...]]]:
    """What ``cert-clients`` says of the Service's backend, once for each of its names."""
    told: list[tuple[str, tuple[str, ...]]] = []
    for each in found.discovery.endpoints:
        if each.port == 8443:
            observation = replace(CONFORMING, instance=each.instance, chain=(LEAF,))
            owed = found.expectations.of(each)
            case = Case(
                endpoint=each,
                expectation=owed,
                observation=observation,
                policy=Policy(),
                now=NOW,
            )
            told += [(one.verdict, one.observed) for one in judge(case).findings if one.rule == "cert-clients"]
    return told


@pytest.mark.parametrize("wrong", [20, MANY - 1])
@pytest.mark.parametrize("maker", [conversion, webhook, route, policy])
def test_a_client_with_another_ca_fails_whatever_its_place(maker: Maker, wrong: int) -> None:
    raws = [raw for n in range(MANY) for raw in maker(n, BAD if n == wrong else GOOD)]
    ((verdict, observed),) = callers(surveyed(*PLACE, *raws))
    assert verdict == "fail"
    (only,) = observed
    assert f"/c{wrong} " in only or f"/c{wrong}," in only


@pytest.mark.parametrize("maker", [conversion, webhook, route, policy])
def test_clients_that_all_have_the_right_one_pass(maker: Maker) -> None:
    found = surveyed(*PLACE, *(raw for n in range(MANY) for raw in maker(n, GOOD)))
    assert [verdict for verdict, _ in callers(found)] == ["pass"]
    assert found.discovery.truncated == 0


def test_what_is_too_much_for_one_listener_is_counted_and_the_scan_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merged_claims, "MAX_ORIGINS", 20)
    found = surveyed(*PLACE, *(raw for n in range(MANY) for raw in conversion(n, GOOD)))
    ((reason, times),) = [each for each in found.discovery.left_out if "lead to one listener" in each[0]]
    assert reason.endswith(": truncated, not read")
    assert (times, found.discovery.truncated) == (times, times)
    assert times >= MANY - 20


def behind(number: int, namespace: str = "shop") -> list[Raw]:
    """One more Service of the listener."""
    service = metadata(f"s{number}", namespace)
    ports = [{"name": "https", "port": 443}]
    address = f"172.30.{1 + number // 250}.{number % 250}"
    labels = {"kubernetes.io/service-name": f"s{number}"}
    return [
        {"kind": "Service", "metadata": service, "spec": {"clusterIP": address, "ports": ports}},
        {
            "kind": "EndpointSlice",
            "metadata": {**service, "labels": labels},
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": [{"addresses": ["10.128.0.7"]}],
        },
    ]


def test_too_many_services_of_one_listener_are_counted_and_the_scan_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merged_claims, "MAX_ALIASES", 20)
    found = surveyed(*PLACE, *(raw for n in range(MANY) for raw in behind(n)))
    ((reason, times),) = [each for each in found.discovery.left_out if "addresses of Services" in each[0]]
    assert reason.endswith(": truncated, not read")
    assert found.discovery.truncated == times > 0


def test_of_other_namespaces_only_the_first_are_kept_and_that_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merged_claims, "MAX_FOREIGN", 3)
    elsewhere: list[Raw] = [
        {
            "kind": "Service",
            "metadata": metadata(f"s{n}", "till"),
            "spec": {"clusterIP": f"172.30.1.{n}", "ports": [{"name": "https", "port": 443}]},
        }
        for n in range(10)
    ]
    elsewhere += [
        {
            "kind": "EndpointSlice",
            "metadata": {**metadata(f"s{n}", "till"), "labels": {"kubernetes.io/service-name": f"s{n}"}},
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": [{"addresses": ["10.128.0.7"]}],
        }
        for n in range(10)
    ]
    found = surveyed(*PLACE, *elsewhere)
    (one,) = (each for each in found.discovery.endpoints if each.port == 8443)
    assert [each.foreign for each in one.origins].count(True) == 3
    assert [times for reason, times in found.discovery.left_out if "of other namespaces" in reason] == [7]
    assert found.discovery.truncated == 0


def test_every_tls_route_of_a_passthrough_leads_to_its_backends() -> None:
    """Twenty-five TLSRoutes have one name, and any of them may answer: the backends of all are compared."""
    gateway: list[Raw] = [
        {
            "kind": "Gateway",
            "metadata": metadata("edge"),
            "spec": {
                "gatewayClassName": "x",
                "listeners": [{"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"}}],
            },
            "status": {"addresses": [{"value": "198.51.100.9"}]},
        }
    ]
    for n in range(MANY):
        name, where = f"b{n}", f"10.128.1.{n}"
        gateway += [
            {"kind": "Service", "metadata": metadata(name), "spec": {"ports": [{"name": "https", "port": 443}]}},
            {
                "kind": "EndpointSlice",
                "metadata": {**metadata(name), "labels": {"kubernetes.io/service-name": name}},
                "ports": [{"name": "https", "port": 8443}],
                "endpoints": [{"addresses": [where], "targetRef": {"kind": "Pod", "name": name}}],
            },
            {
                "kind": "Pod",
                "metadata": metadata(name),
                "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 8443}]}]},
                "status": {"podIP": where},
            },
            {
                "kind": "TLSRoute",
                "metadata": metadata(f"r{n}"),
                "spec": {
                    "parentRefs": [{"name": "edge"}],
                    "hostnames": ["web.example"],
                    "rules": [{"backendRefs": [{"name": name, "port": 443}]}],
                },
            },
        ]
    found = surveyed(PLACE[0], *gateway)
    (front,) = (each for each in found.discovery.endpoints if each.server_name == "web.example" and each.port == 443)
    passed = found.expectations.of(front).passed_on
    assert passed is not None
    assert {each.partition("/shop/")[2] for each in passed.backends} == {f"b{n}:8443#web.example" for n in range(MANY)}
