"""Endpoints of made-up nodes: which pod a socket belongs to, and whether an object declares it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.assessment import READS, Assessment, Viewpoint, assess
from scanner.jobs import Surroundings
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import Scope, Selector
from scanner.node.node_listeners import NodeListeners, node_listeners, node_surroundings, with_listeners
from scanner.node.proc_reader import read_sockets
from tests.discover.objects import snapshot
from tests.node.proc_tree import Made, in_networks, row, tree

WEB, AGENT, STATIC = "11111111-2222-3333-4444-555555555555", "22222222-2222-3333-4444-555555555555", "ab" * 16
OBJECTS = f"""
---
{{kind: Node, metadata: {{name: w1}}, status: {{daemonEndpoints: {{kubeletEndpoint: {{Port: 10250}}}},
  addresses: [{{type: InternalIP, address: 192.0.2.5}}]}}}}
---
{{kind: Node, metadata: {{name: w2}}, status: {{addresses: [{{type: InternalIP, address: 192.0.2.6}}]}}}}
---
{{kind: Pod, metadata: {{name: web-1, namespace: shop, uid: {WEB}, labels: {{app: web}},
  ownerReferences: [{{kind: StatefulSet, name: web, controller: true}}]}},
  spec: {{nodeName: w1, containers: [{{name: c, ports: [{{containerPort: 8443, name: https}}]}}]}},
  status: {{phase: Running, podIPs: [{{ip: 10.128.0.9}}]}}}}
---
{{kind: Pod, metadata: {{name: agent-1, namespace: infra, uid: {AGENT},
  ownerReferences: [{{kind: DaemonSet, name: agent, controller: true}}]}},
  spec: {{nodeName: w1, hostNetwork: true, containers: [{{name: c, ports: [{{containerPort: 9100, name: https}}]}}]}},
  status: {{phase: Running, podIPs: [{{ip: 192.0.2.5}}]}}}}
---
{{kind: Pod, metadata: {{name: etcd-w1, namespace: kube-system, uid: 33333333-2222-3333-4444-555555555555,
  annotations: {{kubernetes.io/config.mirror: {STATIC}, kubernetes.io/config.hash: {STATIC}}},
  ownerReferences: [{{kind: Node, name: w1, controller: true}}]}},
  spec: {{nodeName: w1, hostNetwork: true, containers: [{{name: etcd}}]}},
  status: {{phase: Running, podIPs: [{{ip: 192.0.2.5}}]}}}}
"""


def cgroup(uid: str) -> str:
    return f"0::/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice/crio-{'cd' * 32}.scope\n"


def assessed() -> Assessment:
    found: Snapshot = snapshot(OBJECTS)
    view = Viewpoint(everything=True)
    objects = {**dict.fromkeys((*READS, SECRET), ()), **found.objects}
    return assess(Snapshot(taken_at=found.taken_at, origin=found.origin, objects=objects), view)


NODE = Made(pid=1, comm="systemd")
POD = Made(pid=40, net=2000, comm="web", cgroup=cgroup(WEB))
HOST = Made(pid=50, comm="agent", cgroup=cgroup(AGENT))
ETCD = Made(pid=60, comm="etcd", cgroup=cgroup(STATIC))


def scanned(
    place: Path, *processes: Made, every: bool = False, scope: Scope | None = None, alone: bool = False
) -> NodeListeners:
    pids = {each.pid for each in processes}
    rest = () if alone else (each for each in (NODE, POD, HOST, ETCD) if each.pid not in pids)
    sockets = read_sockets(tree(place, *in_networks(*processes, *rest)), order="little")
    return node_listeners(sockets, "w1", None if alone else assessed(), scope=scope or Scope(), every=every)[0]


def with_sockets(process: Made, *locals_: str) -> Made:
    inodes = tuple(range(process.pid * 100, process.pid * 100 + len(locals_)))
    return Made(
        pid=process.pid,
        net=process.net,
        comm=process.comm,
        cgroup=process.cgroup,
        sockets=inodes,
        tcp=tuple(row(local, inode) for local, inode in zip(locals_, inodes, strict=True)),
    )


def only(listeners: NodeListeners) -> Endpoint:
    (found,) = listeners.endpoints
    return found


def test_a_port_that_no_object_declares_belongs_to_the_pod_of_its_network(tmp_path: Path) -> None:
    found = scanned(tmp_path, with_sockets(POD, "00000000:270F", "00000000:20FB"))
    one = only(found)
    assert (one.id, one.instance) == (
        "StatefulSet/shop/web:9999",
        "StatefulSet/shop/web:9999 @ 127.0.0.1:9999 in web-1",
    )
    assert (one.certainty, str(one.pod), one.network, one.node, one.runs_on) == (
        "candidate", "Pod/shop/web-1", "pod shop/web-1", None, "w1",
    )  # fmt: skip
    assert one.labels == (("app", "web"),)
    assert [each.part for each in one.origins] == [f"socket 0.0.0.0:9999 on node w1, process web, container {'cd' * 6}"]
    assert [count for _, count in found.left_out] == [1]


def test_a_declared_port_is_probed_here_on_request_with_the_id_of_its_cluster(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(POD, "00000000:20FB"), every=True))
    assert (one.id, one.certainty) == ("StatefulSet/shop/web:8443", "hinted")
    assert [each.role for each in one.origins] == ["port", "socket"]


def test_a_declared_port_that_is_only_on_loopback_is_probed(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(POD, "0100007F:20FB")))
    assert (one.id, [each.role for each in one.origins]) == ("StatefulSet/shop/web:8443", ["port", "socket"])


def test_loopback_behind_a_proxy_on_the_same_port_is_another_listener(tmp_path: Path) -> None:
    """As OpenShift's node exporter: TLS at the address of the node, and plaintext on loopback."""
    found = scanned(tmp_path, with_sockets(HOST, "050200C0:238C", "0100007F:238C"))
    one = only(found)
    assert (one.id, one.instance) == ("DaemonSet/infra/agent:9100", "DaemonSet/infra/agent:9100 @ 127.0.0.1:9100 on w1")
    assert [each.role for each in one.origins] == ["socket"]
    assert one.node == "w1"
    assert [count for _, count in found.left_out] == [1]


def test_an_address_that_a_scan_of_the_cluster_does_not_dial_is_probed(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(POD, "0900800A:20FB", "0900A8C0:20FB")))  # the pod's, and another
    assert (one.address, one.id) == ("192.168.0.9", "StatefulSet/shop/web:8443")


def test_a_static_pod_is_known_by_the_hash_of_its_configuration(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(ETCD, "0100007F:094D")))
    assert (one.id, one.pod and one.pod.name) == ("StaticPod/kube-system/etcd:2381", "etcd-w1")


def test_a_process_of_the_node_itself(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(Made(pid=70, comm="crio"), "0100007F:ABCD")))
    assert (one.id, one.network) == ("Node/crio:43981", "node w1")


def test_a_network_of_no_pod_of_the_cluster(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, with_sockets(Made(pid=70, net=3000, comm="podman"), "00000000:1F90")))
    assert (one.instance, one.pod) == ("Node/podman:8080 @ 127.0.0.1:8080 in network namespace 3000 on w1", None)


def test_without_a_cluster_every_listener_is_named_after_its_process(tmp_path: Path) -> None:
    sockets = with_sockets(POD, "00000000:20FB", "0100007F:1F90")
    found = scanned(tmp_path, NODE, sockets, alone=True)
    assert [each.id for each in found.endpoints] == ["Node/web:8080", "Node/web:8443"]
    assert {each.certainty for each in found.endpoints} == {"candidate", "hinted"}
    assert found.left_out == ()


def test_ipv4_and_ipv6_of_one_program_are_one_listener(tmp_path: Path) -> None:
    both = Made(
        pid=70,
        net=3000,
        comm="sshd",
        sockets=(5, 6),
        tcp=(row("00000000:0016", 5),),
        tcp6=(row(f"{'0' * 32}:0016", 6),),
    )
    found = read_sockets(tree(tmp_path, NODE, both), order="little")
    listeners, destinations = node_listeners(found, "w1")
    assert destinations[only(listeners).instance].addresses == ("127.0.0.1", "::1")


def test_two_programs_of_one_name_are_two_listeners(tmp_path: Path) -> None:
    tcp, tcp6 = (row("00000000:0016", 5),), (row(f"{'0' * 32}:0016", 6),)
    four = Made(pid=70, net=3000, comm="sshd", sockets=(5,), tcp=tcp, tcp6=tcp6)
    six = Made(pid=71, net=3000, comm="sshd", sockets=(6,), tcp=tcp, tcp6=tcp6)
    found = read_sockets(tree(tmp_path, NODE, four, six), order="little")
    listeners, _ = node_listeners(found, "w1")
    assert {each.address for each in listeners.endpoints} == {"127.0.0.1", "::1"}


NONE = "0" * 32


@pytest.mark.parametrize(
    ("local", "others", "dialled"),
    [
        ("00000000", (), ("127.0.0.1",)),
        ("00000000", ("0100007F", "0200007F"), ("127.0.0.3",)),
        (NONE, (), ("::1", "127.0.0.1")),
        (NONE, ("00000000", "0100007F"), ("::1",)),
        (NONE, (f"{'0' * 24}01000000",), ("127.0.0.1",)),
        (NONE, ("00000000", f"{'0' * 24}01000000"), None),
    ],
)
def test_a_socket_on_all_addresses_is_dialled_where_no_other_socket_answers(
    tmp_path: Path, local: str, others: tuple[str, ...], dialled: tuple[str, ...] | None
) -> None:
    """By SO_REUSEPORT, another program can have the same port on one address, and it answers there."""
    every = [(each, number) for number, each in enumerate((local, *others))]
    made = [
        Made(
            pid=70 + number,
            net=3000,
            comm=f"web{number}",
            sockets=(number,),
            tcp=tuple(row(f"{each}:0016", inode) for each, inode in every if len(each) == 8),
            tcp6=tuple(row(f"{each}:0016", inode) for each, inode in every if len(each) == 32),
        )
        for _, number in every
    ]
    listeners, destinations = node_listeners(read_sockets(tree(tmp_path, NODE, *made), order="little"), "w1")
    found = {each.owner.name: destinations[each.instance].addresses for each in listeners.endpoints}
    assert found.get("web0") == dialled
    gap = "listeners on all addresses, with other sockets of the same port on each loopback address"
    assert listeners.unread == (((gap, 1),) if dialled is None else ())


def test_a_name_of_a_process_is_no_part_of_an_id(tmp_path: Path) -> None:
    one = only(scanned(tmp_path, NODE, with_sockets(Made(pid=70, comm="a/b:1#\x1b[31m"), "0100007F:1F90"), alone=True))
    assert one.id.count("/") == 1
    assert one.id.endswith(":8080")
    assert one.id.isprintable()


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    "scope",
    [Scope(exclude=(Selector(ports=(9999,)),)), Scope(include=(Selector(names=("other",)),))],
    ids=["exclude", "include"],
)
def test_the_scope_of_the_policy_counts(tmp_path: Path, scope: Scope, alone: bool) -> None:
    found = scanned(tmp_path, NODE, with_sockets(POD, "00000000:270F"), scope=scope, alone=alone)
    assert (found.endpoints, found.left_out) == ((), (("excluded", 1),))


def test_a_namespace_of_users_has_a_limit_and_the_platform_is_first(tmp_path: Path) -> None:
    many = with_sockets(POD, *(f"0100007F:{port:04X}" for port in range(9001, 9006)))
    found = scanned(tmp_path, many, with_sockets(ETCD, "0100007F:094B"), scope=Scope(endpoints_per_namespace=2))
    assert [each.owner.namespace for each in found.endpoints] == ["kube-system", "shop", "shop"]
    reason = "listeners of the namespace shop beyond the first 2 (scope.endpointsPerNamespace)"
    assert (found.left_out, found.truncated) == (((reason, 3),), 3)
    assert with_listeners(assessed(), [found]).discovery.truncated == 3, "the scan is incomplete"


def test_pods_without_a_process_are_a_gap(tmp_path: Path) -> None:
    """As without hostPID, or in a sandbox with a kernel of its own."""
    found = read_sockets(tree(tmp_path, NODE, HOST), order="little")
    listeners, _ = node_listeners(found, "w1", assessed())
    assert listeners.unread == (("pods of the node without a visible process", 2),)
    around = node_surroundings(Surroundings(), [listeners])
    assert [(each.gap, each.reason) for each in around.unreadable] == [
        ("failed", "node w1: pods of the node without a visible process (2)")
    ]
    assert around.cluster == {
        "name": "node w1",
        "read": "node w1: 1 network namespace, 2 processes, 0 listening sockets read",
    }


@pytest.mark.parametrize("every", [True, False])
def test_every_endpoint_has_an_expectation(tmp_path: Path, every: bool) -> None:
    cluster = assessed()
    sockets = (
        with_sockets(POD, "00000000:20FB", "0100007F:1F90"),
        with_sockets(HOST, "0100007F:238C"),
        with_sockets(Made(pid=70, comm="kubelet"), "00000000:280A", "0100007F:2808"),
    )
    listeners = scanned(tmp_path, *sockets, every=every)
    found = with_listeners(cluster, [listeners])
    jobs = list(found.jobs())
    assert [job.endpoint for job in jobs] == list(listeners.endpoints)
    for job in jobs:
        assert job.owes(job.endpoint).standing == ("user" if job.endpoint.pod else "platform")
