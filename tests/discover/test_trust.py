"""Authority over a listener: its own namespace, the platform, administrators; other claims are recorded."""

from __future__ import annotations

import pytest

from scanner.discover.listener_claims import ClaimAuthority
from scanner.discover.truncation import Cuts
from scanner.discover.workloads import Place, Workloads
from scanner.model.components import Catalogue, Governor, Listener
from scanner.model.endpoint import Owner
from scanner.model.scan_policy import Selector
from tests.discover.objects import by_id, found, left_out, origins, snapshot
from tests.discover.samples import TARGET, monitor, static

KNOWN = Catalogue(
    listeners=(
        Listener(component="etcd", listener="peer", namespaces=("kube-system",), ports=(2380,), governor="flags"),
        Listener(
            component="kube-apiserver",
            listener="readyz",
            namespaces=("kube-system",),
            ports=(6080,),
            governor="own",
            speaks="plain",
        ),
    )
)
NODE = """
---
{kind: Node, metadata: {name: master-0},
 status: {addresses: [{type: InternalIP, address: 192.0.2.10}]}}
"""
ETCD = NODE + static("etcd", '"--listen-peer-urls=https://192.0.2.10:2380"')
PLAIN = NODE + static("kube-apiserver", "kube-apiserver", ", ports: [{containerPort: 6080}]")
PEER = "StaticPod/kube-system/etcd:2380"


def tenant(number: int, address: str = "192.0.2.10") -> str:
    """A Service ``shop/evil`` that leads anywhere, as does what its namespace may write about it."""
    return f"""
---
{{kind: Service, metadata: {{name: evil, namespace: shop, labels: {{skip: scan, app: evil}},
    annotations: {{service.beta.openshift.io/serving-cert-secret-name: x}}}},
  spec: {{clusterIP: None, ports: [{{name: https, port: 443, targetPort: {number}, appProtocol: https}}]}}}}
---
{{kind: EndpointSlice, metadata: {{name: evil-1, namespace: shop, labels: {{kubernetes.io/service-name: evil}}}},
  ports: [{{name: https, port: {number}}}], endpoints: [{{addresses: [{address}]}}]}}
---
{{kind: BackendTLSPolicy, metadata: {{name: evil, namespace: shop, labels: {{skip: scan}}}},
  spec: {{targetRefs: [{{kind: Service, name: evil}}], validation: {{hostname: evil.example}}}}}}
---
{{kind: Route, metadata: {{name: evil, namespace: shop, labels: {{skip: scan}}}},
  spec: {{host: evil.example, to: {{kind: Service, name: evil}}, tls: {{termination: passthrough}}}},
  status: {{ingress: [{{host: evil.example, routerName: x, conditions: [{{type: Admitted, status: "True"}}]}}]}}}}
---
{{kind: ServiceMonitor, metadata: {{name: evil, namespace: shop}}, spec: {{selector: {{matchLabels: {{app: evil}}}},
  endpoints: [{{port: https, scheme: https, tlsConfig: {{serverName: evil.example}}}}]}}}}
---
{{kind: APIService, metadata: {{name: v1.evil}}, spec: {{service: {{namespace: shop, name: evil}}}}}}
"""


def test_a_tenant_s_word_changes_nothing_of_a_listener_of_the_platform_but_its_origins() -> None:
    alone = by_id(found(ETCD, KNOWN))[PEER]
    others = by_id(found(ETCD + tenant(2380), KNOWN))
    assert [each for each in others if "2380" in each] == [PEER]
    one = others[PEER]
    for field in (
        "server_name",
        "certainty",
        "segment",
        "subject",
        "labels",
        "aliases",
        "owner",
        "candidates",
        "ready",
    ):
        assert getattr(one, field) == getattr(alone, field), field
    assert origins(one)[0].startswith("of another namespace: APIService/v1.evil")
    assert "of another namespace: BackendTLSPolicy/shop/evil" in origins(one)


@pytest.mark.parametrize("ready", [True, False])
def test_whether_somebody_else_s_pod_is_ready_says_the_pod(ready: bool) -> None:
    pod = f"""
---
{{kind: Pod, metadata: {{name: web, namespace: corp}}, spec: {{containers: [{{name: c}}]}},
  status: {{podIP: 10.128.0.9, conditions: [{{type: Ready, status: "{ready}"}}]}}}}
"""
    text = pod + tenant(8443, "10.128.0.9").replace("[10.128.0.9]", f"[10.128.0.9], conditions: {{ready: {not ready}}}")
    one = by_id(found(text))["Pod/corp/web:8443"]
    assert one.ready == ready


def authority(text: str = "", catalogue: Catalogue = KNOWN) -> ClaimAuthority:
    return ClaimAuthority(Workloads(snapshot(text), Cuts(), primary_only=False), catalogue)


def test_a_port_that_the_catalogue_knows_as_a_node_s_process_is_not_a_router_s() -> None:
    kubelet = Listener(
        component="kubelet", listener="api", namespaces=(), ports=(10250,), governor="kubelet", host_network=True
    )
    of = authority(catalogue=Catalogue(listeners=(kubelet,)))
    assert of.serving(Place("192.0.2.10", 10250, node="master-0")) == "other"
    assert of.serving(Place("192.0.2.10", 10251, node="master-0")) == "unknown"


@pytest.mark.parametrize(("host_network", "who"), [(True, "other"), (None, "other"), (False, "front")])
def test_what_the_catalogue_knows_of_a_pod_s_network_is_not_said_of_the_node_s(
    host_network: bool | None, who: str
) -> None:
    entry = Listener(
        component="etcd",
        listener="peer",
        namespaces=("kube-system",),
        ports=(2380,),
        governor="flags",
        host_network=host_network,
    )
    etcd = static("etcd", "etcd", ", ports: [{containerPort: 2380}]")
    of = authority(NODE + etcd, Catalogue(listeners=(entry,)))
    assert of.serving(Place("192.0.2.10", 2380, node="master-0")) == who


def test_a_tenant_s_word_does_not_confirm_what_only_the_catalogue_suggests() -> None:
    known = Catalogue(
        listeners=(Listener(component="crio", listener="stream", namespaces=(), ports=(10010,), governor="own"),)
    )
    assert by_id(found(NODE + tenant(10010), known))["Node/crio:10010"].certainty == "candidate"


@pytest.mark.parametrize(
    ("namespace", "owner", "may"),
    [
        ("shop", None, True),  # without an owner
        ("shop", Owner(kind="Service", name="web", namespace="shop"), True),
        ("shop", Owner(kind="Service", name="web", namespace="corp"), False),
        ("shop", Owner(kind="Router", name="f5"), True),
        (None, Owner(kind="Service", name="web", namespace="corp"), True),
    ],
)
def test_where_no_pod_is_known_its_owner_s_namespace_decides(
    namespace: str | None, owner: Owner | None, may: bool
) -> None:
    assert authority().may_decide(namespace, Place("203.0.113.7", 443, owner=owner)) == may


@pytest.mark.parametrize(("number", "who"), [(443, "front"), (8080, "front"), (444, "unknown")])
def test_any_port_of_a_node_s_pod_is_one_of_its_ports(number: int, who: str) -> None:
    pod = """
---
{kind: Pod, metadata: {name: web, namespace: shop}, spec: {nodeName: master-0, hostNetwork: true,
  containers: [{name: a, ports: [{containerPort: 8080}, {containerPort: 443}]}, {name: b}]},
  status: {podIP: 192.0.2.10}}
"""
    assert authority(NODE + pod).serving(Place("192.0.2.10", number, node="master-0")) == who


def test_a_tenant_s_labels_neither_select_nor_exclude_etcd() -> None:
    selector = Selector(labels=(("skip", "scan"),))
    assert PEER in by_id(found(ETCD + tenant(2380), KNOWN, exclude=[selector]))
    assert PEER not in by_id(found(ETCD + tenant(2380), KNOWN, include=[selector]))


def test_plaintext_that_the_catalogue_knows_stays_left_out_whoever_points_there() -> None:
    discovery = found(PLAIN + tenant(6080), KNOWN)
    assert not [each for each in discovery.endpoints if each.port == 6080]
    assert left_out(discovery)["ports that use no TLS according to the component catalogue"] == 1
    assert discovery.omitted == ()  # without ``everything``
    ((one, reason),) = found(PLAIN + tenant(6080), KNOWN, everything=True).omitted
    assert (one.port, reason) == (6080, "ports that use no TLS according to the component catalogue")


POD = """
---
{kind: Pod, metadata: {name: secret, namespace: openshift-x}, spec: {containers: [{name: c,
  ports: [{containerPort: 7000}]}]}, status: {podIP: 10.128.0.70}}
"""


@pytest.mark.parametrize("namespace", ["openshift-x", "blog"])
def test_pods_of_another_namespace_are_not_a_tenant_s_to_declare(namespace: str) -> None:
    one = by_id(found(POD.replace("openshift-x", namespace) + tenant(7000, "10.128.0.70")))[
        f"Pod/{namespace}/secret:7000"
    ]
    assert (one.certainty, one.server_name, one.segment, one.aliases) == ("candidate", None, None, ())


def test_in_its_own_namespace_all_of_it_counts() -> None:
    one = by_id(found(POD.replace("openshift-x", "shop") + tenant(7000, "10.128.0.70")))
    assert {"Pod/shop/secret:7000#evil.example", "Pod/shop/secret:7000#evil.shop.svc"} <= set(one)


def test_the_platform_speaks_for_nodes_and_for_all_namespaces() -> None:
    text = (POD + tenant(7000, "10.128.0.70")).replace("namespace: shop", "namespace: openshift-monitoring")
    one = by_id(found(text))
    assert one["Pod/openshift-x/secret:7000#evil.example"].certainty == "declared"


@pytest.mark.parametrize(
    ("monitors", "pods", "certainty"),
    [
        ("shop", "shop", "declared"),
        ("monitoring", "shop", "declared"),
        ("monitoring", "openshift-x", "candidate"),
        ("openshift-monitoring", "openshift-x", "declared"),
    ],
)
@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_a_monitor_declares_for_users_and_only_the_platform_s_for_the_platform(
    kind: str, monitors: str, pods: str, certainty: str
) -> None:
    selection = "selector: {}, namespaceSelector: {any: true}"
    text = monitor("port: metrics, scheme: https, tlsConfig: {serverName: a.b}", selection, kind)
    text = TARGET.replace("namespace: shop", f"namespace: {pods}") + text.replace("shop", monitors)
    (one,) = found(text).endpoints
    assert (one.certainty, one.server_name) == (certainty, "a.b" if certainty == "declared" else None)


def published(kind: str, where: str, number: int = 443) -> str:
    if kind == "Gateway":
        return f"""
---
{{kind: Gateway, metadata: {{name: g, namespace: shop}}, spec: {{listeners: [{{name: a, port: {number},
  protocol: HTTPS, hostname: evil.example}}]}}, status: {{addresses: [{{value: {where}}}]}}}}
"""
    spec = "tls: [{hosts: [evil.example]}]" if kind == "Ingress" else "virtualhost: {fqdn: evil.example, tls: {a: b}}"
    return f"""
---
{{kind: {kind}, metadata: {{name: g, namespace: shop}}, spec: {{{spec}}},
  status: {{currentStatus: valid, loadBalancer: {{ingress: [{{ip: {where}}}]}}}}}}
"""


@pytest.mark.parametrize("kind", ["Ingress", "HTTPProxy", "Gateway"])
def test_who_publishes_a_pod_s_address_does_not_send_his_name_there(kind: str) -> None:
    text = POD.replace("7000", "443") + published(kind, "10.128.0.70")
    assert {each.server_name for each in found(text).endpoints} == {None}


def test_who_publishes_a_node_s_address_does_not_send_his_name_to_etcd() -> None:
    assert list(by_id(found(ETCD + published("Gateway", "192.0.2.10", 2380), KNOWN))) == [PEER]


def on_node(rest: str, *, host_network: bool) -> str:
    return f"""{NODE}
---
{{kind: Pod, metadata: {{name: nginx, namespace: ingress-nginx}}, spec: {{nodeName: master-0,
    hostNetwork: {str(host_network).lower()}, containers: [{{name: c, ports: [{{containerPort: 443 {rest}}}]}}]}},
  status: {{podIP: {"192.0.2.10" if host_network else "10.128.0.71"}}}}}
"""


@pytest.mark.parametrize(
    ("pod", "owner"),
    [
        (on_node("", host_network=True), "Pod/ingress-nginx/nginx"),
        (on_node(", hostPort: 443", host_network=False), "Node/master-0"),
        (NODE, "Ingress/shop/g"),
    ],
)
def test_a_controller_on_a_node_is_asked_by_the_names_of_all_namespaces(pod: str, owner: str) -> None:
    assert f"{owner}:443#evil.example" in by_id(found(pod + published("Ingress", "192.0.2.10")))


def test_backends_of_a_route_that_no_router_admitted_are_not_followed() -> None:
    text = POD.replace("openshift-x", "shop") + tenant(7000, "10.128.0.70").replace('"True"', '"False"')
    text = "---".join(each for each in text.split("---") if "kind: Route" in each or "Pod" in each or "Slice" in each)
    ports = "{clusterIP: None, ports: [{name: https, port: 7000}]}"
    text += f"---\n{{kind: Service, metadata: {{name: evil, namespace: shop}}, spec: {ports}}}"
    one = by_id(found(text))["Pod/shop/secret:7000"]
    assert (one.certainty, one.segment) == ("hinted", None)


def test_what_nobody_is_known_to_be_behind_is_each_owner_s_own() -> None:
    api = """
---
{kind: Service, metadata: {name: kubernetes, namespace: default}, spec: {ports: [{name: https, port: 443}]}}
---
{kind: EndpointSlice, metadata: {name: kubernetes, namespace: default,
 labels: {kubernetes.io/service-name: kubernetes}},
 ports: [{name: https, port: 6443}], endpoints: [{addresses: [10.130.0.1]}]}
"""
    endpoints = by_id(found(api + tenant(6443, "10.130.0.1")))
    assert {"Service/default/kubernetes:6443", "Service/shop/evil:6443#evil.example"} <= set(endpoints)
    assert endpoints["Service/default/kubernetes:6443"].labels == ()


@pytest.mark.parametrize(("governor", "asked"), [("ingress", True), ("gateway", True), ("own", False)])
def test_routers_and_gateways_of_the_platform_have_the_names_of_all_namespaces(governor: Governor, asked: bool) -> None:
    """Known routers count alone; without a catalogue entry, no pod of the platform."""
    known = Catalogue(
        listeners=(
            Listener(component="front", listener="tls", namespaces=("openshift-x",), ports=(443,), governor=governor),
        )
    )
    text = POD.replace("7000", "443") + published("Ingress", "10.128.0.70")
    assert ("evil.example" in {each.server_name for each in found(text, known).endpoints}) == asked


@pytest.mark.parametrize(
    ("namespace", "decides"),
    [("default", False), ("openshift", True), ("openshift-x", True), ("kube-x", True), ("openshifted", False)],
)
def test_only_the_platform_s_namespaces_decide_about_nodes_and_default_is_everybody_s(
    namespace: str, decides: bool
) -> None:
    text = ETCD + tenant(2380).replace("namespace: shop", f"namespace: {namespace}")
    named = {name for name in by_id(found(text, KNOWN)) if name.startswith(f"{PEER}#")}
    assert bool(named) == decides


def test_a_port_of_a_node_that_a_router_shares_with_another_is_not_a_routers() -> None:
    """Two pods that claim one port: which of them answers is not known, so others' names are not sent there."""
    router = Listener(
        component="front", listener="tls", namespaces=("ingress-nginx",), ports=(443,), governor="ingress"
    )
    other = Listener(component="own", listener="tls", namespaces=("kube-x",), ports=(443,), governor="own")
    known = Catalogue(listeners=(router, other))
    alone = on_node("", host_network=True)
    both = alone + alone.removeprefix(NODE).replace("ingress-nginx", "kube-x").replace("name: nginx", "name: own")
    ask = published("Ingress", "192.0.2.10")
    assert "evil.example" in {each.server_name for each in found(alone + ask, known).endpoints}
    assert "evil.example" not in {each.server_name for each in found(both + ask, known).endpoints}


@pytest.mark.parametrize(("where", "asked"), [("198.51.100.9", True), ("10.128.0.70", False)])
def test_what_a_load_balancer_of_the_platform_leads_to_has_the_names_that_are_published_there(
    where: str, *, asked: bool
) -> None:
    """A pod of the platform without evidence that it is a router: its address alone proves nothing."""
    front = """
---
{kind: Service, metadata: {name: front, namespace: openshift-x}, spec: {type: LoadBalancer, clusterIP: 172.30.0.9,
  ports: [{name: https, port: 443}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.9}]}}}
---
{kind: EndpointSlice, metadata: {name: front-1, namespace: openshift-x, labels: {kubernetes.io/service-name: front}},
  ports: [{name: https, port: 443}], endpoints: [{addresses: [10.128.0.70]}]}
"""
    one = found(POD.replace("7000", "443") + front + published("Ingress", where))
    assert ("Pod/openshift-x/secret:443#evil.example" in by_id(one)) is asked
