"""Services: their backends are the endpoints, their addresses only other ways there."""

from __future__ import annotations

import pytest

from scanner.discover.services import Services
from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Workloads
from scanner.kube.kinds import ENDPOINT_SLICE
from scanner.kube.objects import Reference
from scanner.model.endpoint import Origin
from tests.discover.objects import by_id, found, instances, left_out, only, origins, snapshot

PODS = """
---
{kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}, ownerReferences: [{kind: StatefulSet,
 name: web}]},
 spec: {nodeName: worker-0, containers: [{name: app, ports: [{name: web, containerPort: 9000}]}]},
 status: {podIPs: [{ip: 10.128.0.7}, {ip: "fd01::7"}]}}
---
{kind: Pod, metadata: {name: web-2, namespace: shop, labels: {app: web}, ownerReferences: [{kind: StatefulSet,
 name: web}]},
 spec: {nodeName: worker-1, containers: [{name: app}]}, status: {podIP: 10.128.1.7}}
"""
SERVICE = """
---
{kind: Service, metadata: {name: web, namespace: shop, labels: {tier: front}},
 spec: {type: LoadBalancer, clusterIPs: [172.30.0.9, "fd02::9"], externalIPs: [203.0.113.7], selector: {app: web},
        ports: [{name: https, port: 443, targetPort: web, nodePort: 30443}, {name: dns, port: 53, protocol: UDP}]},
 status: {loadBalancer: {ingress: [{ip: 198.51.100.3}, {hostname: LB.Example.}]}}}
"""
SLICE = """
---
{kind: EndpointSlice, metadata: {name: web-a, namespace: shop, labels: {kubernetes.io/service-name: web}},
 ports: [{name: dns, port: 53, protocol: UDP}, {name: https, port: 9000}],
 endpoints: [{addresses: [10.128.0.7], targetRef: {kind: Pod, name: web-1}},
             {addresses: [10.128.1.7], conditions: {ready: false}, targetRef: {kind: Pod, name: web-2}}]}
---
{kind: EndpointSlice, metadata: {name: web-b, namespace: shop, labels: {kubernetes.io/service-name: web}},
 ports: [{name: https, port: 9000}], endpoints: [{addresses: ["fd01::7"], targetRef: {kind: Pod, name: web-1}}]}
"""
CLUSTER = PODS + SERVICE + SLICE


def test_each_backend_is_an_endpoint_once() -> None:
    discovery = found(CLUSTER)
    assert instances(discovery) == [
        "StatefulSet/shop/web:9000 @ 10.128.0.7:9000",
        "StatefulSet/shop/web:9000 @ 10.128.1.7:9000",
        "StatefulSet/shop/web:9000 @ [fd01::7]:9000",
    ]
    assert {each.certainty for each in discovery.endpoints} == {"hinted"}
    assert left_out(discovery) == {"UDP ports": 1}


def test_every_balanced_address_is_an_alias_and_none_is_an_endpoint() -> None:
    assert found(CLUSTER).endpoints[0].aliases == (
        "web.shop.svc:443",
        "172.30.0.9:443",
        "[fd02::9]:443",
        "198.51.100.3:443",
        "lb.example:443",
        "203.0.113.7:443",
        "any-node:30443",
    )


def test_all_objects_that_led_there_are_origins() -> None:
    assert found(CLUSTER).endpoints[0].origins == (
        Origin(role="port", reference=Reference(kind="Service", name="web", namespace="shop"), part="https"),
        Origin(
            role="port",
            reference=Reference(kind="StatefulSet", name="web", namespace="shop"),
            container="app",
            part="9000",
        ),
    )


def test_a_backend_that_is_not_ready_is_known_to_be_so() -> None:
    ready = {each.address: each.ready for each in found(CLUSTER).endpoints}
    assert ready == {"10.128.0.7": True, "10.128.1.7": False, "fd01::7": True}


def test_ports_of_slices_are_matched_by_name() -> None:
    discovery = found(CLUSTER.replace("{name: https, port: 9000}", "{name: other, port: 9000}"))
    # The Service leads nowhere then; what the pod declares is still there.
    assert [each.id for each in discovery.endpoints] == [
        "Service/shop/web:443",
        "StatefulSet/shop/web:9000",
        "StatefulSet/shop/web:9000",
    ]


def test_a_slice_port_without_a_number_means_the_target_port() -> None:
    text = CLUSTER.replace("targetPort: web", "targetPort: 9000").replace(", port: 9000}", "}")
    assert "StatefulSet/shop/web:9000 @ 10.128.1.7:9000" in instances(found(text))


def test_a_service_without_endpoints_is_there_and_nothing_listens() -> None:
    one = only(found(SERVICE))
    assert (one.id, one.address, one.certainty) == ("Service/shop/web:443", "172.30.0.9", "hinted")
    assert (one.ready, one.sampled) == (False, False)
    assert one.labels == (("tier", "front"),)


WEB = {"10.128.0.7", "10.128.1.7", "fd01::7"}


@pytest.mark.parametrize(
    ("old", "new", "backends"),
    [
        ("targetPort: web", "targetPort: web", {("10.128.0.7", 9000), ("fd01::7", 9000)}),  # web-2 has no such port
        ("targetPort: web", "targetPort: 9000", {(each, 9000) for each in WEB}),
        (", targetPort: web", "", {(each, 443) for each in WEB}),
        ("selector: {app: web},", "", set()),  # its backends could be anything
        ("selector: {app: web}", "selector: {app: other}", {("172.30.0.9", 443)}),
    ],
)
def test_without_slices_the_selected_pods_are_the_backends(old: str, new: str, backends: set[tuple[str, int]]) -> None:
    discovery = found(PODS + SERVICE.replace(old, new), gaps={ENDPOINT_SLICE: "forbidden"})
    claim_counts = [each for each in discovery.endpoints if "Service/shop/web port https" in origins(each)]
    assert {(each.address, each.port) for each in claim_counts} == backends
    assert all(each.certainty == "hinted" for each in claim_counts)
    assert [each.sampled for each in claim_counts] == [len(backends) == 1] * len(backends)


def test_where_no_backend_can_be_known_the_service_is_a_sample() -> None:
    one = only(found(SERVICE, gaps={ENDPOINT_SLICE: "forbidden"}))
    assert (one.address, one.sampled, one.ready) == ("172.30.0.9", True, True)


HEADLESS = """
---
{kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: None, ports: [{port: 6432}]}}
"""


def test_a_service_without_a_selector_leads_where_its_slices_say() -> None:
    text = f"""{HEADLESS}
---
{{kind: EndpointSlice, metadata: {{name: db-1, namespace: shop, labels: {{kubernetes.io/service-name: db}}}},
  ports: [{{port: 6432}}], endpoints: [{{addresses: [10.130.0.4, 10.130.0.5]}}]}}
"""
    assert instances(found(text)) == [
        "Service/shop/db:6432 @ 10.130.0.4:6432",
        "Service/shop/db:6432 @ 10.130.0.5:6432",
    ]


def test_a_headless_service_without_endpoints_has_no_address() -> None:
    assert left_out(found(HEADLESS)) == {"Services with neither an address nor endpoints": 1}
    unread = found(HEADLESS, gaps={ENDPOINT_SLICE: "forbidden"})
    assert left_out(unread) == {"Services without a selector, whose backends could not be read": 1}


def test_a_headless_service_whose_tls_is_declared_is_reported_with_its_labels() -> None:
    one = only(found(HEADLESS.replace("namespace: shop}", f"namespace: shop, labels: {{tier: data}}, {CA}}}")))
    assert (one.address, one.host, one.labels, one.ready) == ("", "db.shop.svc", (("tier", "data"),), False)


def test_an_external_name_is_only_a_name() -> None:
    text = "{kind: Service, metadata: {name: e, namespace: s}, spec: {type: ExternalName, ports: [{port: 443}]}}"
    assert left_out(found(text)) == {"Services of type ExternalName": 1}


def test_a_slice_that_claims_another_s_pod_by_name_does_not_get_it() -> None:
    text = CLUSTER.replace("addresses: [10.128.1.7]", "addresses: [10.128.0.7]")
    assert {each.pod.name for each in found(text).endpoints if each.pod and each.address == "10.128.0.7"} == {"web-1"}


@pytest.mark.parametrize(
    ("port", "certainty"),
    [
        ("{port: 80, appProtocol: https}", "hinted"),
        ("{port: 80, appProtocol: kubernetes.io/wss}", "hinted"),
        ("{port: 80, appProtocol: kubernetes.io/h2c}", "candidate"),
        ("{port: 443, targetPort: 8080}", "candidate"),
        ("{port: 80, targetPort: 8443}", "hinted"),
        ("{port: 80, name: webhook-server}", "hinted"),
        ("{port: 80}", "candidate"),
    ],
)
def test_certainty_of_service_ports(port: str, certainty: str) -> None:
    text = f"{{kind: Service, metadata: {{name: a, namespace: s}}, spec: {{clusterIP: 172.30.0.1, ports: [{port}]}}}}"
    assert only(found(text)).certainty == certainty


CA = "annotations: {service.beta.openshift.io/serving-cert-secret-name: tls}"


def test_the_service_ca_annotation_declares_tls_under_the_service_s_name() -> None:
    one = by_id(found(CLUSTER.replace("labels: {tier: front}", CA)))["StatefulSet/shop/web:9000#web.shop.svc"]
    assert (one.certainty, one.server_name) == ("declared", "web.shop.svc")
    assert origins(one)[0] == "Service/shop/web service-ca annotation"


def test_of_several_ports_the_annotation_means_those_that_look_like_tls() -> None:
    text = f"""
{{kind: Service, metadata: {{name: a, namespace: s, {CA}}},
  spec: {{clusterIP: 172.30.0.1, ports: [{{name: https, port: 8443}}, {{name: http, port: 8080}},
                                         {{name: db, port: 5432}}]}}}}
"""
    assert {each.port: (each.certainty, each.server_name, each.transport) for each in found(text).endpoints} == {
        8443: ("declared", "a.s.svc", "tls"),
        5432: ("candidate", "a.s.svc", "tls"),
        8080: ("candidate", None, "tls"),
    }


@pytest.mark.parametrize("target", ["0", "''", "[1]", "null"])
def test_a_target_port_that_is_none_is_the_port_itself(target: str) -> None:
    spec = f"{{ports: [{{port: 9, targetPort: {target}}}]}}"
    held = snapshot(f"{{kind: Service, metadata: {{name: s, namespace: shop}}, spec: {spec}}}")
    (one,) = Services(held, Workloads(held, Cuts(), primary_only=False), Cuts()).by_name["shop", "s"].ports
    assert (one.number, one.target) == (9, 9)
