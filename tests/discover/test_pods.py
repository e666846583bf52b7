"""Pods: which ports, at which addresses, how certain."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from scanner.discover import discover
from scanner.discover.hints import transport
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Origin
from scanner.report.rows import origin_text
from tests.discover.objects import CATALOGUE, NOTHING, by_id, found, instances, left_out, of_objects, only, origins
from tests.yaml_documents import document


def pod(**container: object) -> str:
    """A Deployment's pod with one container that says this."""
    return str(
        yaml.safe_dump(
            {
                "kind": "Pod",
                "metadata": {
                    "name": "web-5d8f-x2x4z",
                    "namespace": "shop",
                    "labels": {"app": "web", "pod-template-hash": "5d8f"},
                    "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d8f", "controller": True}],
                },
                "spec": {"nodeName": "worker-0", "containers": [{"name": "app", **container}]},
                "status": {"podIPs": [{"ip": "10.128.0.7"}]},
            }
        )
    )


def test_a_container_port_is_a_candidate_of_the_deployment() -> None:
    one = only(found(pod(ports=[{"containerPort": 8080}])))
    assert (one.id, one.certainty, one.address) == ("Deployment/shop/web:8080", "candidate", "10.128.0.7")
    assert one.instance == "Deployment/shop/web:8080 @ 10.128.0.7:8080"
    assert origins(one) == ["Deployment/shop/web container app port 8080"]
    assert ("app", "web") in one.labels
    assert (one.node, one.runs_on) == (None, "worker-0")
    assert str(one.pod) == "Pod/shop/web-5d8f-x2x4z"


@pytest.mark.parametrize(
    ("port", "certainty"),
    [
        ({"containerPort": 8080, "name": "https"}, "hinted"),
        ({"containerPort": 8080, "name": "metrics-tls"}, "hinted"),
        ({"containerPort": 8443}, "hinted"),
        ({"containerPort": 8080, "name": "http"}, "candidate"),
    ],
)
def test_names_and_numbers_are_hints(port: dict[str, Any], certainty: str) -> None:
    assert only(found(pod(ports=[port]))).certainty == certainty


TLS_NUMBERS = (443, 465, 636, 853, 989, 990, 993, 995, 2376, 4443, 5061, 5671, 5986, 6443, 6514, 8443, 8883, 9443)


@pytest.mark.parametrize("number", [*TLS_NUMBERS, 10250, 10257, 10259])
def test_a_number_behind_which_there_is_mostly_tls_is_a_hint(number: int) -> None:
    assert only(found(pod(ports=[{"containerPort": number}]), NOTHING)).certainty == "hinted"


HTTPS = {"httpGet": {"scheme": "HTTPS", "port": "admin"}}


@pytest.mark.parametrize(
    "said",
    [
        {"livenessProbe": HTTPS},
        {"readinessProbe": HTTPS},
        {"startupProbe": HTTPS},
        {"lifecycle": {"postStart": HTTPS}},
        {"lifecycle": {"preStop": HTTPS}},
        {"livenessProbe": {"httpGet": {"scheme": "HTTPS", "port": 9000, "host": "10.128.0.7"}}},
        {"readinessProbe": {"grpc": {"port": 9000, "mode": "TLS"}}},
    ],
)
def test_what_the_kubelet_asks_by_tls_is_declared(said: dict[str, Any]) -> None:
    one = only(found(pod(ports=[{"containerPort": 9000, "name": "admin"}], **said)))
    assert (one.certainty, len(one.origins)) == ("declared", 2)


def test_a_grpc_probe_without_tls_leads_to_a_candidate_and_http_to_nothing() -> None:
    assert only(found(pod(readinessProbe={"grpc": {"port": 9000}}))).certainty == "candidate"
    for scheme in ({"scheme": "HTTP"}, {}):
        assert not found(pod(readinessProbe={"httpGet": {"port": 9000, **scheme}})).endpoints


@pytest.mark.parametrize("host", ["127.0.0.1", "10.99.0.1", "other.example"])
def test_a_probe_of_another_host_is_no_word_on_this_pod(host: str) -> None:
    said = {"httpGet": {"scheme": "HTTPS", "port": 9000, "host": host}}
    assert not found(pod(livenessProbe=said)).endpoints


def test_sidecars_and_ephemeral_containers_listen_and_other_init_containers_are_gone() -> None:
    raw = document(pod(ports=[]))
    raw["spec"]["initContainers"] = [
        {"name": "proxy", "restartPolicy": "Always", "ports": [{"containerPort": 8001}]},
        {"name": "setup", "ports": [{"containerPort": 8002}]},
    ]
    raw["spec"]["ephemeralContainers"] = [{"name": "debug", "ports": [{"containerPort": 8003}]}]
    assert [each.port for each in found(yaml.safe_dump(raw)).endpoints] == [8001, 8003]


def test_both_families_of_a_dual_stack_pod_are_asked() -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["status"]["podIPs"] = [{"ip": "10.128.0.7"}, {"ip": "FD01:0::7"}]
    assert instances(discover(of_objects([raw]), CATALOGUE)) == [
        "Deployment/shop/web:8443 @ 10.128.0.7:8443",
        "Deployment/shop/web:8443 @ [fd01::7]:8443",
    ]


def test_a_host_port_is_another_way_to_the_same_listener() -> None:
    node = "{kind: Node, metadata: {name: worker-0}, status: {addresses: [{type: InternalIP, address: 192.0.2.5}]}}"
    one = only(found(f"{pod(ports=[{'containerPort': 8443, 'hostPort': 443}])}\n---\n{node}\n", catalogue=NOTHING))
    assert one.aliases == ("192.0.2.5:443",)
    elsewhere = pod(ports=[{"containerPort": 8443, "hostPort": 443, "hostIP": "192.0.2.99"}])
    assert only(found(f"{elsewhere}\n---\n{node}\n", catalogue=NOTHING)).aliases != ("192.0.2.5:443",)


def test_a_host_port_on_a_node_that_was_not_read_is_no_other_way() -> None:
    assert only(found(pod(ports=[{"containerPort": 8443, "hostPort": 443}]), catalogue=NOTHING)).aliases == ()


def test_in_the_nodes_network_the_host_port_is_the_port_itself() -> None:
    raw = document(pod(ports=[{"containerPort": 8443, "hostPort": 8443}]))
    raw["spec"]["hostNetwork"] = True
    node = {"kind": "Node", "metadata": {"name": "worker-0"}}
    node["status"] = {"addresses": [{"type": "InternalIP", "address": "10.128.0.7"}]}
    one = only(discover(of_objects([raw, node]), NOTHING))
    assert (one.instance, one.aliases) == ("Deployment/shop/web:8443 @ 10.128.0.7:8443 on worker-0", ())


def test_udp_and_sctp_are_left_out_and_counted() -> None:
    discovery = found(pod(ports=[{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 99, "protocol": "SCTP"}]))
    assert not discovery.endpoints
    assert left_out(discovery) == {"UDP ports": 1, "SCTP ports": 1}


@pytest.mark.parametrize("number", [0, -1, 65536, 10**30, True, "http", None, 80.5])
def test_absurd_ports_are_no_listeners(number: object) -> None:
    discovery = found(pod(ports=[{"containerPort": number}]))
    assert not discovery.endpoints
    assert left_out(discovery) == {"invalid ports": 1}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Succeeded", "podIP": "10.128.0.7"}, "pods that have finished"),
        ({"phase": "Pending"}, "pods without an address"),
        ({"podIP": "not an address"}, "pods without an address"),
    ],
)
def test_pods_that_cannot_listen_are_counted(status: dict[str, str], reason: str) -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["status"] = status
    discovery = discover(of_objects([raw]), CATALOGUE)
    assert not discovery.endpoints
    assert left_out(discovery) == {reason: 1}


def test_a_pod_that_is_not_ready_is_asked_and_its_silence_is_expected() -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    assert not discover(of_objects([raw, document(NETWORK)]), CATALOGUE).endpoints[0].ready


NETWORK = "{kind: Network, metadata: {name: cluster}, status: {clusterNetwork: [{cidr: 10.128.0.0/14}]}}"


@pytest.mark.parametrize(
    ("port", "transport"),
    [
        (21, "ftp"),
        (25, "smtp"),
        (110, "pop3"),
        (143, "imap"),
        (389, "ldap"),
        (587, "smtp"),
        (3306, "mysql"),
        (5222, "xmpp"),
        (5269, "xmpp"),
        (5432, "postgres"),
        (5433, "tls"),
    ],
)
def test_protocols_that_upgrade_are_asked_in_their_own_way(port: int, transport: str) -> None:
    one = only(found(pod(ports=[{"containerPort": port}])))
    assert one.transport == transport
    assert one.id == f"Deployment/shop/web:{port}" + (f"/{transport}" if transport != "tls" else "")


@pytest.mark.parametrize(
    ("protocol", "upgraded"),
    [
        *((each, each) for each in ("ftp", "imap", "ldap", "mysql", "pop3", "postgres", "smtp", "xmpp")),
        *(("PostgreSQL", "postgres"), ("submission", "smtp"), ("xmpp-client", "xmpp"), ("xmpp-server", "xmpp")),
        *(("http", "tls"), ("", "tls")),
    ],
)
def test_the_protocol_of_a_port_decides_how_it_is_asked_before_its_number(protocol: str, upgraded: str) -> None:
    assert transport(9000, protocol) == upgraded
    assert transport(25, protocol) == (upgraded if upgraded != "tls" else "smtp")


@pytest.mark.parametrize("name", ["istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"])
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_what_a_mesh_takes_is_the_mesh_s(field: str, name: str) -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["spec"].setdefault(field, []).append({"name": name})
    assert only(discover(of_objects([raw]), CATALOGUE)).component == "mesh"


def test_no_annotation_makes_a_component_of_the_platform_a_mesh_s() -> None:
    raw = document(pod(ports=[{"containerPort": 10250}]))
    raw["metadata"] |= {"namespace": "openshift-monitoring", "annotations": {"ambient.istio.io/redirection": "enabled"}}
    raw["spec"]["containers"].append({"name": "istio-proxy"})
    assert only(discover(of_objects([raw]), CATALOGUE)).component == "metrics-server"


@pytest.mark.parametrize(
    ("metadata", "namespace", "mesh"),
    [
        ({"annotations": {"ambient.istio.io/redirection": "enabled"}}, {}, True),
        ({"labels": {"istio.io/dataplane-mode": "ambient"}}, {}, True),
        ({}, {"istio.io/dataplane-mode": "ambient"}, True),
        ({"labels": {"istio.io/dataplane-mode": "none"}}, {"istio.io/dataplane-mode": "ambient"}, False),
        ({}, {}, False),
    ],
)
def test_ambient_capture(metadata: dict[str, Any], namespace: dict[str, str], *, mesh: bool) -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["metadata"] |= metadata
    within = {"kind": "Namespace", "metadata": {"name": "shop", "labels": namespace}}
    assert (only(discover(of_objects([raw, within]), CATALOGUE)).component == "mesh") is mesh


def test_a_gateway_is_a_proxy_alone_and_in_no_mesh() -> None:
    raw = document(pod(ports=[{"containerPort": 8443}]))
    raw["spec"]["containers"][0]["name"] = "istio-proxy"
    assert only(discover(of_objects([raw]), CATALOGUE)).component is None


def test_replicas_share_the_id_and_a_new_roll_out_keeps_it() -> None:
    first = found(pod(ports=[{"containerPort": 8443}]))
    later = found(pod(ports=[{"containerPort": 8443}]).replace("5d8f", "77aa").replace("10.128.0.7", "10.128.3.9"))
    assert list(by_id(first)) == list(by_id(later))
    assert instances(first) != instances(later)


def test_a_name_that_the_catalogue_knows_is_asked_beside_the_listener_itself() -> None:
    known = Listener(
        component="x", listener="y", namespaces=("shop",), ports=(9000,), governor="own", server_names=("x.example",)
    )
    text = """
{kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: c, ports: [{containerPort: 9000}]}]},
 status: {podIP: 10.128.0.7}}
"""
    endpoints = by_id(found(text, Catalogue(listeners=(known,))))
    assert set(endpoints) == {"Pod/shop/web:9000", "Pod/shop/web:9000#x.example"}
    assert origins(endpoints["Pod/shop/web:9000#x.example"]) == [origin_text(Origin(role="catalogue", part="x y"))]


@pytest.mark.parametrize(("source", "owner"), [("", "Pod/shop/web-worker-0"), ("file", "StaticPod/shop/web")])
def test_only_a_static_pod_has_the_name_of_its_node_at_its_end(source: str, owner: str) -> None:
    """A user's pod may be called the same; without its end it would be another listener."""
    annotations = f"annotations: {{kubernetes.io/config.mirror: {source}}}" if source else ""
    text = f"""
---
{{kind: Node, metadata: {{name: worker-0}}}}
---
{{kind: Pod, metadata: {{name: web-worker-0, namespace: shop, {annotations}}},
  spec: {{nodeName: worker-0, containers: [{{name: c, ports: [{{containerPort: 8443}}]}}]}},
  status: {{podIP: 10.128.0.7}}}}
"""
    assert [each.id for each in found(text).endpoints if each.port == 8443] == [f"{owner}:8443"]
