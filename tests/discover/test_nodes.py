"""Nodes: a port of a node is one listener, however many pods share the node's network."""

from __future__ import annotations

from scanner.config.component_catalogue import load_catalogue
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Owner, Tunnel
from tests.discover.objects import CATALOGUE, NOTHING, by_id, found, instances, left_out, only, origins
from tests.discover.samples import NODE


def host_pod(name: str, port: int, *, owner: str = "agent", namespace: str = "infra") -> str:
    return f"""
---
{{kind: Pod, metadata: {{name: {name}, namespace: {namespace}, ownerReferences: [{{kind: DaemonSet, name: {owner}}}]}},
  spec: {{nodeName: worker-0, hostNetwork: true, containers: [{{name: c, ports: [{{containerPort: {port}}}]}}]}},
  status: {{podIPs: [{{ip: 192.0.2.5}}]}}}}
"""


def test_the_kubelet_is_found_by_the_node_s_status() -> None:
    discovery = found(NODE)
    kubelets = [each for each in discovery.endpoints if each.port == 10250]
    assert [each.instance for each in kubelets] == [
        "Node/kubelet:10250 @ 192.0.2.5:10250 on worker-0",
        "Node/kubelet:10250 @ [2001:db8::5]:10250 on worker-0",
    ]
    assert {(each.component, each.certainty, each.expects, each.node) for each in kubelets} == {
        ("kubelet", "declared", "requested", "worker-0")
    }
    assert ("node-role.kubernetes.io/worker", "") in kubelets[0].labels


def test_a_service_that_leads_to_the_kubelets_does_not_own_them() -> None:
    text = """
---
{kind: Service, metadata: {name: kubelet, namespace: kube-system}, spec: {clusterIP: None, ports: [{name: https-metrics,
 port: 10250}]}}
---
{kind: EndpointSlice, metadata: {name: k-1, namespace: kube-system, labels: {kubernetes.io/service-name: kubelet}},
 ports: [{name: https-metrics, port: 10250}], endpoints: [{addresses: [192.0.2.5]}]}
"""
    assert {each.id for each in found(NODE + text).endpoints if each.port == 10250} == {"Node/kubelet:10250"}


def test_each_node_has_its_own() -> None:
    second = NODE.replace("worker-0", "worker-1").replace("192.0.2.5", "192.0.2.6").replace("db8::5", "db8::6")
    kubelets = [each for each in found(NODE + second).endpoints if each.port == 10250]
    assert {(each.address, each.node) for each in kubelets} == {
        *(("192.0.2.5", "worker-0"), ("2001:db8::5", "worker-0")),
        *(("192.0.2.6", "worker-1"), ("2001:db8::6", "worker-1")),
    }


def test_what_only_the_catalogue_suggests_is_a_candidate_and_plain_ports_are_none() -> None:
    crio = by_id(found(NODE))["Node/crio:10010"]
    assert (crio.component, crio.certainty) == ("crio", "candidate")
    assert "Node/crio:9537" not in by_id(found(NODE))


def test_a_host_network_port_belongs_to_whom_declares_it() -> None:
    one = by_id(found(NODE + host_pod("agent-x", 9100)))["DaemonSet/infra/agent:9100"]
    assert (one.node, one.runs_on, one.candidates) == ("worker-0", "worker-0", ())
    assert one.instance == "DaemonSet/infra/agent:9100 @ 192.0.2.5:9100 on worker-0"


def test_a_port_that_several_pods_declare_is_asked_once_with_all_candidates() -> None:
    text = NODE + host_pod("b", 9100, owner="beta") + host_pod("a", 9100, owner="alpha")
    one = [each for each in found(text).endpoints if each.port == 9100]
    assert len(one) == 1
    assert one[0].owner == Owner(kind="DaemonSet", name="alpha", namespace="infra")
    assert [each.name for each in one[0].candidates] == ["alpha", "beta"]


def test_the_catalogue_decides_between_several() -> None:
    text = NODE + host_pod("a", 2379, owner="alpha") + host_pod("e", 2379, owner="etcd", namespace="openshift-etcd")
    one = by_id(found(text))["DaemonSet/openshift-etcd/etcd:2379"]
    assert (one.component, one.expects) == ("etcd", "required")
    assert len(one.candidates) == 2


def test_a_port_that_nobody_declares_has_every_host_network_workload_as_candidate() -> None:
    text = f"""{NODE}{host_pod("a", 9100)}
---
{{kind: Service, metadata: {{name: s, namespace: infra}}, spec: {{clusterIP: None, ports: [{{port: 9999}}]}}}}
---
{{kind: EndpointSlice, metadata: {{name: s-1, namespace: infra, labels: {{kubernetes.io/service-name: s}}}},
  ports: [{{port: 9999}}], endpoints: [{{addresses: [192.0.2.5]}}]}}
"""
    one = by_id(found(text, NOTHING))["Node/worker-0:9999"]
    assert (one.node, [each.name for each in one.candidates]) == ("worker-0", ["agent"])
    assert one.labels == (("node-role.kubernetes.io/worker", ""),)
    on_nodes = Listener(component="x", listener="y", namespaces=(), ports=(9999,), governor="own", host_network=True)
    assert by_id(found(text, Catalogue(listeners=(on_nodes,))))["Node/x:9999"].component == "x"


def test_what_the_node_s_status_names_has_its_port_whichever_pod_declares_it_and_a_guess_has_not() -> None:
    """The catalogue may know the kubelet as a process of nodes alone."""
    kubelet = Listener(
        component="kubelet", listener="api", namespaces=(), ports=(10250,), governor="kubelet", host_network=True
    )
    ports = by_id(found(NODE + host_pod("x", 10250), Catalogue(listeners=(kubelet,))))
    assert ports["Node/kubelet:10250"].component == "kubelet"
    assert "DaemonSet/infra/agent:10250" not in ports
    assert "DaemonSet/infra/agent:10010" in by_id(found(NODE + host_pod("x", 10010)))


def test_the_kubelet_s_port_is_the_kubelet_s_whatever_service_leads_there() -> None:
    text = f"""{NODE}
---
{{kind: Service, metadata: {{name: kubelet, namespace: kube-system}}, spec: {{clusterIP: None,
 ports: [{{name: https-metrics, port: 10250}}]}}}}
---
{{kind: EndpointSlice, metadata: {{name: k, namespace: kube-system, labels: {{kubernetes.io/service-name: kubelet}}}},
  ports: [{{name: https-metrics, port: 10250}}], endpoints: [{{addresses: [192.0.2.5], targetRef: {{kind: Node,
    name: worker-0}}}}]}}
"""
    kubelets = [each for each in found(text).endpoints if each.port == 10250]
    assert {each.id for each in kubelets} == {"Node/kubelet:10250"}
    assert "Service/kube-system/kubelet port https-metrics" in origins(kubelets[0])


def test_metrics_server_on_10250_is_no_kubelet() -> None:
    text = """
{kind: Pod, metadata: {name: metrics-server-7c-a, namespace: openshift-monitoring, labels: {pod-template-hash: 7c},
                       ownerReferences: [{kind: ReplicaSet, name: metrics-server-7c}]},
 spec: {nodeName: worker-0, containers: [{name: c, ports: [{containerPort: 10250}]}]}, status: {podIP: 10.128.0.8}}
"""
    one = only(found(text))
    assert (one.component, one.certainty) == ("metrics-server", "declared")


def test_plain_ports_of_the_catalogue_are_left_out() -> None:
    discovery = found(NODE + host_pod("mcs", 22624, namespace="openshift-mco"), CATALOGUE)
    assert not [each for each in discovery.endpoints if each.port == 22624]
    assert left_out(discovery)["ports that use no TLS according to the component catalogue"] == 1


LOOPBACK = host_pod("policy", 10357, namespace="openshift-policy")


def test_a_listener_on_loopback_needs_a_port_forward() -> None:
    direct = found(NODE + LOOPBACK)
    assert not [each for each in direct.endpoints if each.port == 10357]
    assert any("--via port-forward" in reason for reason in left_out(direct))
    one = by_id(found(NODE + LOOPBACK, via_port_forward=True))["DaemonSet/openshift-policy/agent:10357"]
    assert (one.address, one.node) == ("127.0.0.1", "worker-0")
    assert one.instance == "DaemonSet/openshift-policy/agent:10357 @ 127.0.0.1:10357 on worker-0"
    assert one.tunnel is not None
    assert (one.tunnel.namespace, one.tunnel.pod, one.tunnel.port) == ("openshift-policy", "policy", 10357)


MICROSHIFT = load_catalogue("microshift")


def test_a_process_of_the_node_on_loopback_is_reached_through_any_pod_of_its_network() -> None:
    leaving = """
---
{kind: Pod, metadata: {name: a-first, namespace: infra, deletionTimestamp: "2026-01-01T00:00:00Z"},
  spec: {nodeName: worker-0, hostNetwork: true, containers: [{name: c}]}, status: {podIPs: [{ip: 192.0.2.5}]}}
"""
    text = NODE + leaving + host_pod("resolver", 9100)
    etcd = by_id(found(text, MICROSHIFT, via_port_forward=True))["Node/etcd:2379"]
    assert etcd.instance == "Node/etcd:2379 @ 127.0.0.1:2379 on worker-0"
    assert etcd.tunnel == Tunnel(namespace="infra", pod="resolver", port=2379)
    assert etcd.pod is None


def test_without_a_pod_in_the_node_s_network_nothing_leads_to_its_loopback() -> None:
    discovery = found(NODE, MICROSHIFT, via_port_forward=True)
    assert not [each for each in discovery.endpoints if each.port == 2379]
    reasons = [each for each in left_out(discovery) if "loopback" in each]
    assert reasons == [
        "listeners on loopback of nodes without a pod on the host network: not reachable by port-forward"
    ]


def test_host_network_listeners_are_dialled_directly_and_pods_by_tunnel() -> None:
    pod = """
---
{kind: Pod, metadata: {name: a, namespace: s}, spec: {containers: [{name: c, ports: [{containerPort: 8443}]}]},
 status: {podIPs: [{ip: 10.128.0.8}, {ip: "fd01::8"}]}}
"""
    discovery = found(NODE + host_pod("agent-x", 9100) + pod, via_port_forward=True)
    tunnels = {each.instance: each.tunnel is not None for each in discovery.endpoints if each.pod}
    assert tunnels == {
        "DaemonSet/infra/agent:9100 @ 192.0.2.5:9100 on worker-0": False,
        "Pod/s/a:8443 @ 10.128.0.8:8443": True,
    }


def test_a_host_network_pod_without_a_node_name_is_on_the_node_of_its_address() -> None:
    text = NODE + host_pod("agent-x", 9100).replace("nodeName: worker-0, ", "")
    assert "DaemonSet/infra/agent:9100 @ 192.0.2.5:9100 on worker-0" in instances(found(text))
