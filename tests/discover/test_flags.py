"""Arguments that say where a process listens."""

from __future__ import annotations

import pytest

from scanner.discover.sources.flags import _WORD, _bounds
from tests.discover.objects import NOTHING, by_id, found, instances, left_out, origins
from tests.discover.samples import static


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--secure-port=6443", [(6443, "declared", "")]),
        ("--secure-port 6443", [(6443, "declared", "")]),
        ("kube-scheduler\n--secure-port\n10259\n--bind-address=127.0.0.1", [(10259, "declared", "127.0.0.1")]),
        ("exec hyperkube kube-controller-manager --secure-port=10257 2>&1 | tee", [(10257, "declared", "")]),
        ("--https-port=8443", [(8443, "declared", "")]),
        ("--secure-port=0", []),
        ("--insecure-port=8080 --not-secure-port=1", []),
        ("--secure-listen-address=0.0.0.0:9637", [(9637, "declared", "0.0.0.0")]),
        ("--secure-listen-address=:9103", [(9103, "declared", "")]),
        ("--secure-listen-address=[$(IP)]:9103", [(9103, "declared", "$(IP)")]),
        ('--secure-listen-address="[::1]:9103"', [(9103, "declared", "::1")]),
        ("--metrics-bind-address=:8443", [(8443, "candidate", "")]),
        ("--metrics-bind-address=0", []),  # controller-runtime: switched off
        ("--secure-listen-address=0.0.0.0:https", []),
        (
            "--listen-client-urls=https://127.0.0.1:2379,https://192.0.2.5:2379,http://127.0.0.1:2381",
            [(2379, "declared", "127.0.0.1"), (2379, "declared", "192.0.2.5")],
        ),
        ("--listen-peer-urls https://[::]:2380/", [(2380, "declared", "::")]),
        ("--listen-metrics-urls=https://[::1]:2381", [(2381, "declared", "::1")]),
        ("--listen-client-http-urls=https://127.0.0.1:2382", [(2382, "declared", "127.0.0.1")]),
        ("--listen-client-urls=unixs://sock, https://", []),
        ("--secure-port=99999 --secure-port=-1 --secure-port=6443x", []),
        ("--secure-port=6443 --bind-address=127.0.0.1 --bind-address=0.0.0.0", [(6443, "declared", "0.0.0.0")]),
        ("--secure-port=1 --bind-address=127.0.0.1 --secure-port=6443", [(6443, "declared", "127.0.0.1")]),
    ],
)
def test_flags(text: str, expected: list[tuple[int, str, str]]) -> None:
    assert [tuple(bound) for bound, _ in _bounds(_WORD.findall(text))] == expected


PROBE = ", livenessProbe: {httpGet: {host: 127.0.0.1, port: 10259, scheme: HTTPS}}"


def test_a_static_pod_is_called_without_its_node() -> None:
    one = by_id(found(static("kube-apiserver", "kube-apiserver, --secure-port=6443")))[
        "StaticPod/kube-system/kube-apiserver:6443"
    ]
    assert (one.certainty, one.node) == ("declared", "master-0")
    assert origins(one) == ["Pod/kube-system/kube-apiserver-master-0 container kube-apiserver --secure-port"]


def test_etcd_listens_where_its_urls_say() -> None:
    text = static(
        "etcd",
        '"--listen-client-urls=https://127.0.0.1:2379,https://192.0.2.10:2379", "--listen-metrics-urls=http://127.0.0.1:2381"',
    )
    assert instances(found(text)) == ["StaticPod/kube-system/etcd:2379 @ 192.0.2.10:2379 on master-0"]


def test_a_loopback_bind_is_no_address_of_the_node() -> None:
    text = static("kube-scheduler", "kube-scheduler, --bind-address=127.0.0.1", PROBE)
    assert not found(text, NOTHING).endpoints
    assert any("loopback" in reason for reason in left_out(found(text, NOTHING)))
    (one,) = found(text, NOTHING, via_port_forward=True).endpoints
    assert (one.certainty, one.address, one.port) == ("declared", "127.0.0.1", 10259)


def test_flags_beat_the_catalogue_on_loopback() -> None:
    text = static("x", "kube-scheduler, --bind-address=0.0.0.0", PROBE)
    assert instances(found(text, NOTHING)) == ["StaticPod/kube-system/x:10259 @ 192.0.2.10:10259 on master-0"]


def test_a_cluster_on_loopback_addresses_binds_to_its_own() -> None:
    text = static("etcd", '"--listen-client-urls=https://127.30.0.1:2379"').replace("192.0.2.10", "127.30.0.1")
    assert instances(found(text, loopback=True)) == ["StaticPod/kube-system/etcd:2379 @ 127.30.0.1:2379 on master-0"]


def test_long_arguments_are_read_to_their_limit() -> None:
    assert len(list(_bounds(_WORD.findall("--secure-port=6443 " * 10_000)))) == 1
    assert not found(static("x", f"{', '.join(['a' * 8000] * 9)}, --secure-port=6443")).endpoints


LED = """
---
{kind: Service, metadata: {name: s, namespace: kube-system}, spec: {clusterIP: 172.30.0.9,
  ports: [{port: 443, targetPort: 10259}]}}
---
{kind: EndpointSlice, metadata: {name: s-1, namespace: kube-system, labels: {kubernetes.io/service-name: s}},
 ports: [{port: 10259}], endpoints: [{addresses: [192.0.2.10], conditions: {ready: READY},
   targetRef: {kind: Pod, name: kube-scheduler-master-0}}]}
"""
ON_LOOPBACK = static("kube-scheduler", "kube-scheduler, --secure-port=10259, --bind-address=127.0.0.1")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (ON_LOOPBACK, False),
        (ON_LOOPBACK + LED.replace("READY", "true"), True),
        (ON_LOOPBACK + LED.replace("READY", "false"), False),
        (static("x", "x, --secure-port=10259, --bind-address=127.0.0.1", PROBE.replace("host: 127.0.0.1, ", "")), True),
        (static("x", "x, --secure-port=10259, --bind-address=127.0.0.1", PROBE), False),
    ],
)
def test_what_is_called_from_outside_is_not_on_loopback_whatever_a_flag_says(text: str, *, kept: bool) -> None:
    assert [each.port for each in found(text, NOTHING).endpoints] == ([10259] if kept else [])
