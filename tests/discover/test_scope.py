"""The dial scope: the cluster's own addresses, and those that it publishes."""

from __future__ import annotations

import pytest

from scanner.discover import discover
from scanner.model.endpoint import Owner
from tests.discover.objects import NOTHING, by_id, found, instances, left_out, snapshot
from tests.discover.samples import NODE, static

CLUSTER = f"""{NODE}
---
{{kind: Pod, metadata: {{name: a, namespace: s}}, spec: {{containers: [{{name: c, ports: [{{containerPort: 8443}}]}}]}},
  status: {{podIP: 198.18.0.7}}}}
---
{{kind: Service, metadata: {{name: a, namespace: s}}, spec: {{clusterIP: 198.18.1.1, externalIPs: [203.0.113.99],
  ports: [{{port: 443}}]}}, status: {{loadBalancer: {{ingress: [{{ip: 198.51.100.3}}]}}}}}}
---
{{kind: Ingress, metadata: {{name: a, namespace: s}}, spec: {{tls: [{{hosts: [a.b]}}]}},
  status: {{loadBalancer: {{ingress: [{{ip: 198.51.100.4}}]}}}}}}
---
{{kind: HTTPProxy, metadata: {{name: a, namespace: s}}, spec: {{virtualhost: {{fqdn: a.b, tls: {{}}}}}},
  status: {{loadBalancer: {{ingress: [{{ip: 198.51.100.7}}]}}}}}}
---
{{kind: Gateway, metadata: {{name: a, namespace: s}}, spec: {{gatewayClassName: c, listeners: [{{port: 8443}}]}},
  status: {{addresses: [{{value: 198.51.100.5}}]}}}}
---
{{kind: GatewayClass, metadata: {{name: c}}, status: {{conditions: [{{type: Accepted, status: "True"}}]}}}}
---
{{kind: EndpointSlice, metadata: {{name: kubernetes, namespace: default,
  labels: {{kubernetes.io/service-name: kubernetes}}}},
  ports: [{{name: https, port: 6443}}], endpoints: [{{addresses: [198.51.100.6]}}]}}
---
{{kind: Service, metadata: {{name: kubernetes, namespace: default}}, spec: {{ports: [{{name: https, port: 443}}]}}}}
"""


@pytest.mark.parametrize(
    "address",
    [
        "10.129.0.1",  # Network clusterNetwork
        "172.30.5.5",  # Network serviceNetwork
        "10.244.0.9",  # Node podCIDRs
        "192.0.2.5",  # Node, inside
        "203.0.113.5",  # Node, outside
        "198.18.0.7",  # a pod
        "::ffff:10.129.0.1",
    ],
)
def test_the_cluster_s_own_addresses_may_be_dialled(address: str) -> None:
    assert found(CLUSTER).scope.refusal(address) is None


PUBLISHED = [
    ("198.18.1.1", 443, "Service"),
    ("198.51.100.4", 443, "Ingress"),
    ("198.51.100.5", 8443, "Gateway"),
    ("198.51.100.7", 443, "HTTPProxy"),
]
API = Owner(kind="Service", name="kubernetes", namespace="default")


@pytest.mark.parametrize(("address", "port", "kind"), PUBLISHED)
def test_what_an_object_publishes_is_open_to_itself_on_its_own_ports(address: str, port: int, kind: str) -> None:
    scope, owner = found(CLUSTER).scope, Owner(kind=kind, name="a", namespace="s")
    assert scope.refusal(address, port, owner) is None
    assert scope.refusal(address, port + 1, owner)
    assert scope.refusal(address, port, Owner(kind=kind, name="b", namespace="s"))
    assert scope.refusal(address)


def test_the_api_server_s_own_slice_counts_and_no_other_of_its_service() -> None:
    assert found(CLUSTER).scope.refusal("198.51.100.6", 6443, API) is None
    text = CLUSTER.replace("{name: kubernetes, namespace: default,\n", "{name: more, namespace: default,\n")
    assert found(text).scope.refusal("198.51.100.6", 6443, API)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gatewayClassName: c", "gatewayClassName: d"),
        ('type: Accepted, status: "True"', 'type: Accepted, status: "False"'),
        ("conditions: [{type: Accepted", "conditions: [{type: Odd"),
    ],
)
def test_a_gateway_of_no_accepted_class_publishes_nothing(old: str, new: str) -> None:
    assert old in CLUSTER
    assert found(CLUSTER.replace(old, new)).scope.refusal("198.51.100.5", 8443, GATEWAY_A)


GATEWAY_A = Owner(kind="Gateway", name="a", namespace="s")


def test_an_external_name_has_no_address_of_its_own() -> None:
    spec = "{type: ExternalName, clusterIP: 203.0.113.8, ports: [{port: 443}]}"
    text = f"{{kind: Service, metadata: {{name: a, namespace: s}}, spec: {spec}}}"
    scope = found(text).scope
    assert scope.refusal("203.0.113.8", 443, Owner(kind="Service", name="a", namespace="s"))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "203.0.113.99",  # an external IP: any tenant may write one
        "169.254.169.254",
        "fe80::1",
        "127.0.0.1",
        "::1",
        "0.0.0.0",
        "224.0.0.1",
        "not an address",
    ],
)
def test_nothing_else_may(address: str) -> None:
    assert found(CLUSTER).scope.refusal(address)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "::ffff:169.254.169.254",
        "::169.254.169.254",  # IPv4-compatible
        "::ffff:0:169.254.169.254",  # IPv4-translated
        "2002:a9fe:a9fe::1",  # 6to4
        "2001:0:a9fe:a9fe::1",  # Teredo's server
        "2001:0:808:808:0:0:5601:5601",  # Teredo's client, inverted
        "2001:db8::5efe:169.254.169.254",  # ISATAP
        "2001:db8::200:5efe:169.254.169.254",
        "64:ff9b:1::169.254.169.254",  # NAT64 of the network's operator, with each length of its prefix
        "64:ff9b:1:0:a9:fea9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1::127.0.0.1",
        "2002:6464:64c8::",
    ],
)
def test_metadata_and_loopback_are_never_dialled(address: str) -> None:
    assert found(CLUSTER, allow_external=True).scope.refusal(address)
    assert found(CLUSTER, allow_external=True).scope.refusal("8.8.8.8") is None


@pytest.mark.parametrize("address", ["64:ff9b:1::8.8.8.8", "2002:808:808::1", "2001:db8::1", "64:ff9b::8.8.8.8"])
def test_what_leads_to_a_public_address_is_dialled_where_that_is_allowed(address: str) -> None:
    assert found(CLUSTER, allow_external=True).scope.refusal(address) is None
    assert found(CLUSTER).scope.refusal(address)


@pytest.mark.parametrize("address", ["2002:a81:1::1", "64:ff9b:1::10.129.0.1", "::10.129.0.1"])
def test_what_leads_through_a_gateway_is_none_of_the_clusters_own_addresses(address: str) -> None:
    assert found(CLUSTER).scope.refusal("10.129.0.1") is None
    assert found(CLUSTER).scope.refusal(address)


@pytest.mark.parametrize(
    ("name", "key", "document"),
    [
        ("kubeadm-config", "ClusterConfiguration", "networking: {podSubnet: '100.66.0.0/16,fd01::/48'}"),
        ("kubeadm-config", "ClusterConfiguration", "networking: {serviceSubnet: 100.66.0.0/16}"),
        ("cluster-config-v1", "install-config", "networking: {clusterNetwork: [{cidr: 100.66.0.0/16}]}"),
        ("cluster-config-v1", "install-config", "networking: {serviceNetwork: [100.66.0.0/16]}"),
    ],
)
def test_networks_of_the_installation(name: str, key: str, document: str) -> None:
    text = f'{{kind: ConfigMap, metadata: {{name: {name}, namespace: kube-system}}, data: {{{key}: "{document}"}}}}'
    assert found(text).scope.refusal("100.66.1.1") is None


@pytest.mark.parametrize("document", ["[", "networking: 3", "networking: {podSubnet: x}", "a: &b 1", "\\u0000"])
def test_documents_that_are_none_add_nothing(document: str) -> None:
    text = (
        "{kind: ConfigMap, metadata: {name: kubeadm-config, namespace: kube-system}, "
        f'data: {{ClusterConfiguration: "{document}"}}}}'
    )
    assert len(found(text).scope.networks) == 2


@pytest.mark.parametrize("cidr", ["0.0.0.0/0", "::/0", "128.0.0.0/1", "2000::/3", "nonsense"])
def test_a_network_that_is_no_cluster_s_is_not_believed(cidr: str) -> None:
    text = f'{{kind: Network, metadata: {{name: cluster}}, spec: {{clusterNetwork: [{{cidr: "{cidr}"}}]}}}}'
    assert found(text).scope.refusal("203.0.113.1")
    assert found(text).scope.refusal("2001:db8::1")


OUTSIDE = """
---
{kind: Service, metadata: {name: db, namespace: s}, spec: {clusterIP: 172.30.0.9, ports: [{port: 6432}]}}
---
{kind: EndpointSlice, metadata: {name: db-1, namespace: s, labels: {kubernetes.io/service-name: db}},
 ports: [{port: 6432}], endpoints: [{addresses: [203.0.113.50]}]}
"""


def test_a_slice_that_points_outside_is_left_out_and_its_service_is_no_way_around() -> None:
    discovery = found(OUTSIDE)
    assert not discovery.endpoints
    (reason,) = left_out(discovery)
    assert reason.startswith("outside of the dial scope")
    assert instances(found(OUTSIDE, allow_external=True)) == ["Service/s/db:6432 @ 203.0.113.50:6432"]


def test_what_is_declared_outside_is_kept_so_that_it_is_reported() -> None:
    text = f"""{OUTSIDE}
---
{{kind: APIService, metadata: {{name: v1.a}}, spec: {{service: {{namespace: s, name: db, port: 6432}}}}}}
"""
    one = by_id(found(text))["Service/s/db:6432#db.s.svc"]
    assert (one.address, one.certainty) == ("203.0.113.50", "declared")


SAME = """
---
{kind: Ingress, metadata: {name: db, namespace: s}, spec: {tls: [{hosts: [a.b]}]},
 status: {loadBalancer: {ingress: [{ip: 203.0.113.50}]}}}
"""


def test_a_slice_does_not_profit_from_what_another_object_publishes() -> None:
    text = OUTSIDE.replace("port: 6432", "name: https, port: 443") + SAME
    discovery = found(text)
    refusals = {each.id: discovery.scope.refusal(each.address, each.port, each.owner) for each in discovery.endpoints}
    assert refusals.pop("Ingress/s/db:443#a.b") is None
    assert list(refusals) == ["Service/s/db:443"]
    assert refusals["Service/s/db:443"]


def test_what_is_hinted_outside_is_kept_too_and_only_a_candidate_is_left_out() -> None:
    one = by_id(found(OUTSIDE.replace("port: 6432", "name: https, port: 6432")))["Service/s/db:6432"]
    assert (one.address, one.certainty) == ("203.0.113.50", "hinted")
    assert not by_id(found(OUTSIDE))


LOOPBACK = """
---
{kind: Pod, metadata: {name: a, namespace: s}, spec: {containers: [{name: c, ports: [{containerPort: 8443}]}]},
 status: {podIP: 127.10.0.7}}
"""


def test_whatever_is_not_asked_for_is_off() -> None:
    text = LOOPBACK + LOOPBACK.replace("name: a,", "name: b,").replace("8443", "8080") + OUTSIDE
    text += static("x", "kube-scheduler, --secure-port=10259, --bind-address=127.0.0.1")
    assert discover(snapshot(text), NOTHING) == found(text, NOTHING)
    for option in ("allow_external", "loopback", "via_port_forward", "everything"):
        assert discover(snapshot(text), NOTHING, **{option: True}) != found(text, NOTHING), option  # type: ignore[arg-type] # all are flags


def test_a_cluster_on_loopback_is_dialled_only_when_asked_to() -> None:
    assert found(LOOPBACK).scope.refusal("127.10.0.7")
    assert not found(LOOPBACK.replace("8443", "8080")).endpoints
    discovery = found(LOOPBACK, loopback=True)
    assert instances(discovery) == ["Pod/s/a:8443 @ 127.10.0.7:8443"]
    assert discovery.scope.refusal("127.10.0.7") is None
    assert discovery.scope.refusal("127.0.0.1")


@pytest.mark.parametrize(("network", "open_to_the_scan"), [("10.0.0.0/8", True), ("10.0.0.0/7", False)])
def test_a_network_may_be_as_wide_as_the_widest_that_clusters_have(network: str, open_to_the_scan: bool) -> None:
    text = f"{{kind: Network, metadata: {{name: cluster}}, spec: {{serviceNetwork: [{network}]}}}}"
    assert (found(text).scope.refusal("10.200.0.1") is None) is open_to_the_scan


def test_an_ingress_without_tls_publishes_nothing_that_is_asked_by_tls() -> None:
    ingress = Owner(kind="Ingress", name="a", namespace="s")
    assert found(CLUSTER).scope.refusal("198.51.100.4", 443, ingress) is None
    assert found(CLUSTER.replace("tls: [{hosts: [a.b]}]", "rules: []")).scope.refusal("198.51.100.4", 443, ingress)
