"""The embedded cluster: its objects are of one piece, and every address in them leads to what its description says."""

from __future__ import annotations

import base64
import errno
import json
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import trio
from cryptography import x509
from OpenSSL import SSL

from scanner.assessment import READS, Viewpoint, assess
from scanner.certificates import Certificates
from scanner.cluster import Access, access, read
from scanner.config.component_catalogue import load_catalogue
from scanner.demo import cluster as module
from scanner.demo.cluster import ClusterListener, demo_cluster, sockets, unexpected
from scanner.demo.layout import lay_out
from scanner.demo.listening import bind, bind_exactly
from scanner.demo.objects import objects
from scanner.demo.workload_types import Outcome
from scanner.discover import discover
from scanner.errors import ResourceError
from scanner.kube import kinds
from scanner.kube.kinds import KINDS
from scanner.kube.objects import KubeObject
from scanner.model.observation import Reach
from scanner.model.report import EndpointRow
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile
from scanner.scan import Settings, scan
from scanner.values import replace
from tests.demo.api.small import NOW
from tests.demo.client import Seen, shake_hands
from tests.report import samples
from tests.shared import LiveDemo

pytestmark = pytest.mark.crypto

TLS10, TLS11, TLS12, TLS13 = 0x0301, 0x0302, 0x0303, 0x0304


def _access(demo: LiveDemo) -> Access:
    return access(str(demo.kubeconfig), None)


# --- objects ----------------------------------------------------------------------------------------------------------

LAYOUT = lay_out(10, NOW)
OBJECTS = {kind: [KubeObject(each, kind) for each in several] for kind, several in objects(LAYOUT).items()}


def test_no_object_holds_a_private_key() -> None:
    text = json.dumps([each.raw for several in OBJECTS.values() for each in several])
    assert "PRIVATE" not in text
    assert '"key"' not in text
    assert text.count("BEGIN CERTIFICATE") >= 7


def test_objects_are_where_their_kind_says() -> None:
    for kind, several in OBJECTS.items():
        assert several, kind
        assert len({(each.namespace, each.name) for each in several}) == len(several), kind
        for each in several:
            assert each.name, kind
            assert bool(each.namespace) is kind.namespaced, each.reference
    names = {each.name for each in OBJECTS[kinds.NAMESPACE]}
    used = {each.namespace for several in OBJECTS.values() for each in several if each.namespace}
    assert used - names <= {
        "kube-system",
        "openshift-config-managed",
        "openshift-service-ca",
        "openshift-ingress-operator",
        "openshift-kube-apiserver-operator",
        "openshift-kube-controller-manager-operator",
    }


def test_pods_are_on_their_network_or_on_their_node() -> None:
    nodes = {each.name: next(each.each("status", "addresses")).text("address") for each in OBJECTS[kinds.NODE]}
    (network,) = OBJECTS[kinds.NETWORK]
    pods = ip_network(next(network.each("status", "clusterNetwork")).text("cidr"))
    for pod in OBJECTS[kinds.POD]:
        address, node = pod.text("status", "podIP"), pod.text("spec", "nodeName")
        if pod.flag("spec", "hostNetwork"):
            assert address == nodes[node], pod.reference
        else:
            assert ip_address(address) in pods, pod.reference
        assert pod.text("status", "hostIP") == nodes[node]


def test_what_is_published_leads_somewhere() -> None:
    services = {(each.namespace, each.name): each for each in OBJECTS[kinds.SERVICE]}
    for route in OBJECTS[kinds.ROUTE]:
        service = services[route.namespace, route.text("spec", "to", "name")]
        ports = {each.text("name") for each in service.each("spec", "ports")}
        assert route.text("spec", "port", "targetPort") in ports, route.reference
    for kind in (kinds.VALIDATING_WEBHOOK, kinds.MUTATING_WEBHOOK):
        for configuration in OBJECTS[kind]:
            for hook in configuration.each("webhooks"):
                inside = hook.fields("clientConfig", "service")
                assert not inside.raw or (inside.text("namespace"), inside.text("name")) in services
    sliced = {(each.namespace, each.labels["kubernetes.io/service-name"]) for each in OBJECTS[kinds.ENDPOINT_SLICE]}
    assert sliced == {key for key, each in services.items() if each.text("spec", "type") != "ExternalName"}


def test_every_ready_endpoint_is_listened_on_or_plainly_closed() -> None:
    open_places = set(sockets(LAYOUT))
    closed = [
        (address, port.number("port"))
        for each in OBJECTS[kinds.ENDPOINT_SLICE]
        for endpoint in each.each("endpoints")
        for address in endpoint.texts("addresses")
        for port in each.each("ports")
        if (address, port.number("port")) not in open_places
    ]
    assert [port for _, port in closed] == [9444]


def test_the_same_cluster_each_time() -> None:
    again = objects(lay_out(10, NOW))
    bundles = {kinds.CONFIG_MAP, kinds.VALIDATING_WEBHOOK, kinds.MUTATING_WEBHOOK, kinds.API_SERVICE}
    for kind in OBJECTS.keys() - bundles - {kinds.CUSTOM_RESOURCE_DEFINITION}:  # those hold new certificates
        assert [each.raw for each in OBJECTS[kind]] == list(again[kind]), kind


# --- listeners --------------------------------------------------------------------------------------------------------

LOWEST = {
    "openshift-monitoring/metrics-server": TLS12,
    "openshift-operators/backup-operator-controller-manager:8443": TLS12,
    "openshift-ingress/router-default:10443": TLS12,
    "openshift-ingress/router-legacy:11443": TLS11,
    "openshift-console/console#": TLS12,
    "shop/web#": TLS12,
    "shop/catalog#": TLS12,
    "mainframe/bridge#": TLS11,
    "kubelet/worker-0": TLS12,
    "kubelet/worker-1": TLS12,
    "shop/web:8443": TLS12,
}
"""The lowest version that a listener accepts, where that is not TLS 1.3; ``#`` stands for its Route's frontend."""


def lowest(listener: ClusterListener) -> int:
    if listener.outcome.failing_rules and listener.owner == "shop/checkout":
        return TLS10
    if listener.server_name:
        return LOWEST.get(f"{listener.owner}#", TLS13)
    return LOWEST.get(f"{listener.owner}:{listener.port}", LOWEST.get(listener.owner, TLS13))


async def ask(listener: ClusterListener, version: int) -> Seen:
    sockaddr = listener.address, listener.port
    return await shake_hands(sockaddr, server_name=listener.server_name, versions=(version, version))


async def test_every_listener_speaks_as_its_story_says(demo: LiveDemo) -> None:
    spoke, silent = 0, []
    for listener in (*demo.listeners, *demo.not_scanned):
        if listener.outcome.reach in {Reach.PLAINTEXT, Reach.CLOSED, Reach.UNREACHABLE}:
            silent.append(listener)
            continue
        for version in (TLS10, TLS11, TLS12, TLS13):
            accepted = (await ask(listener, version)).completed
            assert accepted is (version >= lowest(listener)), (listener, hex(version))
        spoke += 1
    for listener in silent:
        await _says_no_tls(listener)
    assert (spoke, len(silent)) == (40, 10)


async def _says_no_tls(listener: ClusterListener) -> None:
    if listener.outcome.reach is Reach.UNREACHABLE:
        assert not listener.address.startswith("127.")  # a connection there would leave this machine
    elif listener.outcome.reach is Reach.CLOSED:
        with pytest.raises(OSError, match="connect"):
            await trio.open_tcp_stream(listener.address, listener.port)
    else:
        async with await trio.open_tcp_stream(listener.address, listener.port) as stream:
            await stream.send_all(b"GET / HTTP/1.0\r\n\r\n")
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 400"), listener


async def test_etcd_wants_a_certificate_and_the_api_server_does_without(demo: LiveDemo) -> None:
    for listener in demo.listeners:
        if listener.owner == "openshift-etcd/etcd" and listener.port != 9980:
            seen = await ask(listener, TLS13)
            assert (seen.certificate_requested, seen.said, seen.alerts) == (True, b"", [116]), listener.port
        if listener.port == 6443 and listener.owner.startswith("openshift-kube"):
            seen = await ask(listener, TLS13)
            assert (seen.certificate_requested, seen.alerts) == (True, [0])  # close_notify: that is no HTTP/1.1


async def test_certificates_are_their_signers_and_end_when_they_should() -> None:
    async with demo_cluster() as cluster:
        leaves = {}
        for each in cluster.listeners:
            if each.outcome.reach in {Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED}:
                leaf = x509.load_der_x509_certificate((await ask(each, TLS13)).chain[0])
                leaves[each.owner, each.port, each.server_name] = leaf
        bundle = cluster.store.get(kinds.CONFIG_MAP, "signing-cabundle", "openshift-service-ca")
        hooks = cluster.store.get(kinds.VALIDATING_WEBHOOK, "backup-operator")
    assert bundle is not None
    assert hooks is not None
    service_ca = x509.load_pem_x509_certificate(bundle["data"]["ca-bundle.crt"].encode())
    leaves["openshift-monitoring/node-exporter", 9100, None].verify_directly_issued_by(service_ca)
    webhook = leaves["openshift-operators/backup-operator-controller-manager", 9443, None]
    webhook_ca = base64.b64decode(hooks["webhooks"][0]["clientConfig"]["caBundle"])
    webhook.verify_directly_issued_by(x509.load_pem_x509_certificate(webhook_ca))
    assert webhook.not_valid_after_utc < min(
        leaf.not_valid_after_utc for leaf in leaves.values() if leaf is not webhook
    )
    assert _names(leaves["shop/web", 10443, "shop.apps.demo.example"]) == ["shop.apps.demo.example"]
    assert _names(leaves["shop/catalog", 10443, "catalog.apps.demo.example"]) == ["*.apps.demo.example"]
    # The login page has the router's certificate under its Route's host, and the service CA's for clients inside.
    oauth = "openshift-authentication/oauth-openshift"
    assert _names(leaves[oauth, 10443, "oauth-openshift.apps.demo.example"]) == ["*.apps.demo.example"]
    assert "oauth-openshift.openshift-authentication.svc" in _names(leaves[oauth, 6443, None])


async def test_the_signers_of_the_platform_are_known_by_name(demo: LiveDemo) -> None:
    """They are called as the operators of a real cluster call them."""
    certificates = Certificates(await read(_access(demo), READS))
    found = {each.name for each in certificates.inventory.entries()}
    assert {"kube-apiserver-lb-signer", "etcd-signer", "csr-signer-ca", "service-ca", "root-ca"} <= found


def _names(leaf: x509.Certificate) -> list[str]:
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


# --- the API ----------------------------------------------------------------------------------------------------------


async def test_adhere_reads_it_and_finds_every_story(demo: LiveDemo) -> None:
    read_now = await read(_access(demo), KINDS)
    told, not_scanned = (
        {(each.address, each.port) for each in listeners} for listeners in (demo.listeners, demo.not_scanned)
    )
    assert {kind.name for kind, gap in read_now.unreadable.items() if gap.gap == "forbidden"} >= {"NetworkPolicy"}
    assert {kinds.HOSTED_CLUSTER, kinds.HTTP_PROXY, kinds.LISTENER_SET} <= read_now.absent
    assert read_now.origin.git_version.startswith("v1.35.")
    found = discover(read_now, load_catalogue("openshift"), loopback=True)
    places = {(each.address, each.port) for each in found.endpoints}
    assert told <= places
    assert not_scanned.isdisjoint(places)
    more = {each.certainty for each in found.endpoints if (each.address, each.port) not in told}
    assert more <= {"candidate"}
    outside = next(each for each in found.endpoints if each.address.startswith("198."))
    assert found.scope.refusal(outside.address) is not None
    assert all(found.scope.refusal(each.address) is None for each in found.endpoints if each is not outside)


async def test_secrets_are_forbidden(demo: LiveDemo) -> None:
    wanted = [("openshift-ingress", "shop")]
    found = await read(_access(demo), [kinds.SECRET, kinds.POD], secrets=wanted, permitted=["secrets"])
    assert found.unreadable[kinds.SECRET].gap == "forbidden"
    assert len(found.every(kinds.POD)) == 23


async def test_a_listener_on_loopback_is_reached_by_port_forward(demo: LiveDemo) -> None:
    from scanner.cluster.client import Client
    from scanner.cluster.portforward import NotForwarded
    from tests.forwarding import forward

    hidden = next(each for each in demo.not_scanned if each.forwarded)
    namespace, pod = hidden.forwarded or ("", "")
    async with Client(_access(demo)) as client:
        async with forward(client, namespace, pod, hidden.port) as stream:
            await stream.send(_hello())
            assert (await stream.receive()).startswith(b"\x16\x03\x03")
        with pytest.raises(NotForwarded, match="refused"):
            async with forward(client, namespace, pod, 1) as stream:
                await stream.receive()


def _hello() -> bytes:
    connection = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
    connection.set_connect_state()
    with pytest.raises(SSL.WantReadError):
        connection.do_handshake()
    return connection.bio_read(65536)


@pytest.mark.slow
async def test_a_scan_tells_every_story(demo: LiveDemo, tmp_path: Path) -> None:
    limits = Limits(timeout=5)
    found = assess(await read(_access(demo), READS), Viewpoint(loopback=True))
    with RowFile(tmp_path / "rows.jsonl") as rows:
        report = await scan(found.jobs(), Settings(limits=limits), rows, lambda _: None, Gate(limits))
        assert unexpected(report.rows(), demo.listeners) == []
    across = [(each["rule"], each["status"], each["about"]) for each in report.findings]
    assert across == [("replicas-differ", "readiness", "Deployment/shop/checkout:8443#checkout.apps.demo.example")]


# --- coming up --------------------------------------------------------------------------------------------------------


async def test_two_at_once_do_not_meet() -> None:
    async with demo_cluster() as one, demo_cluster() as other:
        assert one.server != other.server
        assert one.token != other.token
        places = [{each.address for each in cluster.listeners} for cluster in (one, other)]
        assert {each for each in places[0] & places[1] if each.startswith("127.")} == set()


async def test_the_kubeconfig_is_for_its_owner_alone_and_replaces_nothing(tmp_path: Path) -> None:
    async with demo_cluster() as cluster:
        path = cluster.kubeconfig(tmp_path / "kubeconfig")
        assert path.stat().st_mode & 0o777 == 0o600
        assert cluster.token in path.read_text()
        with pytest.raises(FileExistsError):
            cluster.kubeconfig(path)


async def test_a_system_with_one_loopback_address_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(address: str, port: int) -> trio.SocketListener:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(module, "bind_exactly", refused)
    with pytest.raises(ResourceError, match=r"cannot listen on 127\.10\.192\.10:6443: Cannot assign") as caught:
        async with demo_cluster():
            pass
    assert "127.0.0.0/8" in caught.value.hint


@pytest.mark.parametrize(("port", "tries"), [(6443, 90), (9100, 3)])
async def test_a_port_that_is_taken_everywhere_is_named(monkeypatch: pytest.MonkeyPatch, port: int, tries: int) -> None:
    asked: list[int] = []

    async def taken(address: str, number: int) -> trio.SocketListener:
        asked.append(number)
        if number == port:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        listener = await bind("127.0.0.1")
        kept.append(listener)
        return listener

    kept: list[trio.SocketListener] = []
    monkeypatch.setattr(module, "bind_exactly", taken)
    with pytest.raises(ResourceError, match=f"cannot listen on port {port}: another program") as caught:
        async with demo_cluster():
            pass
    assert "--outcomes" in caught.value.hint
    assert asked.count(port) == tries
    assert all(each.socket.fileno() == -1 for each in kept)


async def test_a_block_that_somebody_has_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(address: str, port: int) -> trio.SocketListener:
        if address.startswith("127.10.") and port == 2379:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        return await bind_exactly(address, port)

    monkeypatch.setattr(module, "bind_exactly", busy)
    async with demo_cluster() as cluster:
        assert not cluster.server.startswith("https://127.10.")


# --- comparison with a scan -------------------------------------------------------------------------------------------

LISTENER = ClusterListener(address="127.10.0.4", port=8443, owner="ns/web")
NAMED = replace(
    LISTENER,
    server_name="a.example",
    outcome=Outcome(verdict="fail", status="violation", failing_rules=("tls-version",)),
)


def row(**more: Any) -> EndpointRow:  # noqa: ANN401
    found = next(samples.report().rows())
    plain = {"address": "127.10.0.4", "port": 8443, "server_name": None, "verdict": "pass", "reach": "tls"}
    found.update({**plain, "status": "ok", "findings": [], **more})  # type: ignore[typeddict-item]
    return found


def test_an_expected_row_is_no_difference() -> None:
    assert unexpected([row(server_name="other.example")], [LISTENER]) == []


def test_another_verdict_reach_or_status_is_a_difference() -> None:
    for more in ({"verdict": "inconclusive"}, {"reach": "closed"}, {"status": "readiness"}):
        (line,) = unexpected([row(**more)], [LISTENER])
        assert ": expected pass tls ok, observed " in line


def test_a_server_name_has_its_own_outcome() -> None:
    rows = [row(), row(server_name="a.example", verdict="fail", status="violation")]
    (line,) = unexpected(rows, [LISTENER, NAMED])
    assert "expected failures of tls-version" in line


def test_a_listener_that_was_not_found_is_a_difference() -> None:
    assert unexpected([], [LISTENER]) == ["ns/web at 127.10.0.4:8443 was not found; this is a bug in adhere"]


def test_a_row_without_a_listener_may_only_be_not_applicable() -> None:
    assert unexpected([row(verdict="not_applicable")], []) == []
    (line,) = unexpected([row()], [])
    assert "is no listener of the demo" in line
