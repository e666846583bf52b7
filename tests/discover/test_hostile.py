"""Hostile objects: discovery never fails, and its results stay bounded."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scanner.discover import READS, Discovery, discover
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from tests.discover import api_server, gateways, mounts, probes
from tests.discover.objects import CATALOGUE, NETWORKS, of_objects
from tests.discover.samples import BACKEND, ENVOY, NODE, ROUTER, SHOP, TARGET, ingress, monitor, proxy, route, webhook
from tests.properties import at_most
from tests.yaml_documents import documents

WORDS = st.sampled_from(
    ["", "a", "shop", "web", "kubernetes", "default", "cluster", "True", "HTTPS", "TLS", "TCP", "https", "Service",
     "Pod", "Passthrough", "10.128.0.1", "fd01::1", "127.0.0.1", "169.254.169.254", "*.ex.com", "a.b.svc", "443",
     "None", "https://a.b.svc/", "https://[", "Node", "ReplicaSet", "kubernetes.io/config.mirror",
     "--secure-port=1", "Always", "passthrough", "reencrypt", "Webhook", "\x00\n\u202e", "x" * 300]
)  # fmt: skip
KEYS = st.sampled_from(
    ["name", "namespace", "labels", "annotations", "ownerReferences", "kind", "containers", "initContainers",
     "ports", "containerPort", "hostPort", "protocol", "podIPs", "podIP", "ip", "hostNetwork", "nodeName",
     "addresses", "address", "type", "clusterIP", "clusterIPs", "port", "targetPort", "nodePort", "endpoints",
     "conditions", "ready", "targetRef", "loadBalancer", "ingress", "hostname", "host", "tls", "termination", "to",
     "routerName", "status", "listeners", "mode", "parentRef", "parentRefs", "hostnames", "rules", "backendRefs",
     "virtualhost", "fqdn", "routes", "services", "scheme", "selector", "matchLabels", "matchExpressions", "key",
     "operator", "values", "webhooks", "clientConfig", "service", "url", "conversion", "strategy", "webhook",
     "args", "command", "httpGet", "livenessProbe", "grpc", "lifecycle", "cidr", "clusterNetwork",
     "kubernetes.io/service-name", "data", "ClusterConfiguration", "names", "servingCerts", "namedCertificates",
     "passthrough", "daemonEndpoints", "kubeletEndpoint", "Port", "targetRefs", "validation", "domain", "hosts",
     "apiServerURL", "frontend", "default", "perPort", "tcpproxy", "any", "matchNames"]
)  # fmt: skip
SCALARS = st.one_of(WORDS, st.integers(-1, 70_000), st.booleans(), st.none(), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.one_of(st.dictionaries(KEYS, JSON, max_size=5), JSON)},
    optional={
        "spec": st.dictionaries(KEYS, JSON, max_size=8),
        "status": st.dictionaries(KEYS, JSON, max_size=6),
        "webhooks": JSON,
        "endpoints": JSON,
        "ports": JSON,
        "data": JSON,
    },
)


@at_most(60)
@given(
    st.lists(st.tuples(st.sampled_from(READS), OBJECTS), max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_discovery_takes_any_objects(found: list[tuple[Kind, dict[str, Any]]], tunnels: bool, external: bool) -> None:
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in READS}
    for kind, raw in found:
        objects[kind].append(KubeObject(raw, kind))
    snapshot = Snapshot(
        taken_at=of_objects([]).taken_at,
        origin=Origin(name="hostile"),
        objects={kind: tuple(each) for kind, each in objects.items()},
    )
    discovery = discover(snapshot, CATALOGUE, via_port_forward=tunnels, allow_external=external)
    check(discovery)


def check(discovery: Discovery) -> None:
    """Invariants for any objects."""
    for each in discovery.endpoints:
        assert 0 < each.port < 65536
        assert each.address or each.host
        assert each.id.isprintable()
        assert (
            each.certainty != "candidate"
            or each.tunnel
            or not each.address
            or not discovery.scope.refusal(each.address, each.port, each.owner)
        )
    assert len({each.instance for each in discovery.endpoints}) == len(discovery.endpoints)


SOUND = documents(
    "---\n".join(
        (
            NETWORKS,
            NODE,
            ROUTER,
            SHOP,
            route("passthrough"),
            BACKEND,
            webhook("service: {namespace: guard, name: policy}"),
            webhook("url: 'https://203.0.113.9/'", "MutatingWebhookConfiguration"),
            gateways.SERVICE,
            gateways.gateway(gateways.HTTPS, gateways.PASS),
            gateways.ROUTE,
            ENVOY,
            proxy("secretName: a", ", routes: [{services: [{name: app, port: 8080, protocol: tls}]}]"),
            ingress("{ip: 198.51.100.8}"),
            TARGET,
            monitor("port: metrics, scheme: https"),
            monitor("port: metrics, scheme: https", kind="PodMonitor"),
            probes.static("https://db.shop.svc:9000", "https://203.0.113.9/"),
            probes.probe("ingress: {selector: {}}", ", prober: {url: 'db.shop.svc:9000', scheme: https}"),
            mounts.pod(mounts.SECRET),
            mounts.CERTIFICATE,
            api_server.SERVICE,
            api_server.SLICE,
            api_server.OPENSHIFT,
            api_server.MASTER,
        )
    )
)


def _steps(value: object, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if steps or key != "kind":
            yield (*steps, key)
            yield from _steps(each, (*steps, key))


PLACES = [(number, steps) for number, raw in enumerate(SOUND) for steps in _steps(raw)]


@at_most(250)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=3), st.booleans())
def test_no_field_of_a_sound_cluster_can_hurt(changes: list[tuple[Any, Any]], tunnels: bool) -> None:
    raws = copy.deepcopy(SOUND)
    for (number, steps), value in changes:
        within: Any = raws[number]
        for step in steps[:-1]:
            reachable = isinstance(within, dict) and step in within
            reachable = reachable or (isinstance(within, list) and isinstance(step, int) and step < len(within))
            within = within[step] if reachable else None
        if isinstance(within, dict) or (
            isinstance(within, list) and isinstance(steps[-1], int) and within[steps[-1] :]
        ):
            within[steps[-1]] = value
    check(discover(of_objects(raws), CATALOGUE, via_port_forward=tunnels))


def test_much_of_everything_stays_bounded() -> None:
    raws: list[dict[str, Any]] = [
        {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "s"},
            "spec": {"containers": [{"name": "c", "ports": [{"containerPort": n} for n in range(1, 5000)]}]},
            "status": {"podIPs": [{"ip": f"10.128.0.{n}"} for n in range(200)]},
        },
        {
            "kind": "Gateway",
            "metadata": {"name": "g", "namespace": "s"},
            "spec": {"listeners": [{"name": f"l{n}", "port": 443, "protocol": "HTTPS"} for n in range(5000)]},
            "status": {"addresses": [{"value": f"198.51.100.{n}"} for n in range(250)]},
        },
    ]
    raws += [
        {"kind": "Route", "metadata": {"name": f"r{n}", "namespace": "s"},
         "spec": {"tls": {}, "host": "a.ex.com"},
         "status": {"ingress": [{"routerName": f"x{m}", "conditions": [{"type": "Admitted", "status": "True"}]}
                                for m in range(100)]}}
        for n in range(30)
    ]  # fmt: skip
    discovery = discover(of_objects(raws), CATALOGUE)
    assert len(discovery.endpoints) <= 300 * 8 + 32 + 30
    assert max(len(each.origins) for each in discovery.endpoints) <= 1_000
    assert discovery.truncated
