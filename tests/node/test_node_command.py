"""``adhere node`` on real network namespaces: the reports, what is saved, and one report of several nodes."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scanner.node import namespace_route
from scanner.node.proc_reader import _Reader
from tests.cli.calling import Call
from tests.node.conftest import PORT, Network

PODS = ("11111111-2222-3333-4444-555555555555", "22222222-2222-3333-4444-555555555555")
OBJECTS = "\n---\n".join(
    (
        *(
            f"{{apiVersion: v1, kind: Node, metadata: {{name: w{number}}}, "
            f"status: {{addresses: [{{type: InternalIP, address: 192.0.2.{number}}}]}}}}"
            for number in (1, 2)
        ),
        *(
            f"""{{apiVersion: v1, kind: Pod, metadata: {{name: web-{number}, namespace: shop, uid: {uid},
  ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: a, controller: true}}]}},
  spec: {{nodeName: w{number}, containers: [{{name: c, ports: [{{containerPort: {PORT}, name: https}}]}}]}},
  status: {{phase: Running, podIPs: [{{ip: 10.128.0.{number}}}]}}}}"""
            for number, uid in enumerate(PODS, start=1)
        ),
    )
)


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    """The cluster's objects, as a directory for ``--snapshot``."""
    place = tmp_path / "objects"
    place.mkdir()
    (place / "all.yaml").write_text(OBJECTS)
    return place


@pytest.fixture
def seen(networks: list[Network], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the reader see only the processes of some networks, as those of the pods of a node."""
    known = {each.inode: uid for each, uid in zip(networks, PODS, strict=True)}
    read = _Reader._namespace

    def cgroup(reader: _Reader, pid: int) -> tuple[tuple[str, ...], str]:
        inode = read(reader, pid)
        return ((known[inode],), "") if inode in known else ((), "")

    def only(*shown: Network) -> None:
        def namespace(reader: _Reader, pid: int) -> int | None:
            inode = read(reader, pid)
            return inode if inode in {each.inode for each in shown} else None

        monkeypatch.setattr(_Reader, "_namespace", namespace)
        monkeypatch.setattr(_Reader, "_cgroup", cgroup)

    return only


def leaves(document: dict[str, Any]) -> dict[str, str | None]:
    """The leaf of each endpoint, by its instance."""
    return {
        each["instance"]: (each["observed"]["chain"] or [{"sha256": None}])[0]["sha256"]
        for each in document["endpoints"]
    }


def test_each_namespace_has_its_own_certificate(call: Call, networks: list[Network], seen: Callable[..., None]) -> None:
    """The same address and port is two listeners."""
    seen(*networks)
    answer = call("node", "--node", "here", "--format", "json")
    found = leaves(answer.document)
    for network in networks:
        place = f"@ 127.0.0.1:{PORT} in network namespace {network.inode} on here"
        (instance,) = (each for each in found if each.endswith(place))
        assert found[instance] == sha256(network.certificate).hexdigest()
        plain = instance.replace(f":{PORT}", ":8080")
        (http,) = (each for each in answer.document["endpoints"] if each["instance"] == plain)
        assert (http["reach"], http["verdict"]) == ("plaintext", "not_applicable")
    assert "2 network namespaces" in answer.document["cluster"]["read"]
    assert "adhere: node here: " in answer.err


def test_what_is_on_loopback_of_a_pod(
    call: Call, networks: list[Network], seen: Callable[..., None], objects: Path
) -> None:
    seen(networks[0])
    answer = call("node", "--snapshot", objects, "--node", "w1", "--format", "json")
    found = {each["id"]: each for each in answer.document["endpoints"]}
    declared, other = found[f"StatefulSet/shop/web:{PORT}"], found["StatefulSet/shop/web:8080"]
    assert declared["instance"] == f"StatefulSet/shop/web:{PORT} @ 127.0.0.1:{PORT} in web-1"
    assert (declared["certainty"], other["certainty"]) == ("hinted", "candidate")
    assert declared["standing"] == "user"
    commands = [each["reproduce"] for each in declared["findings"] if each["reproduce"]]
    assert all(each.endswith("  # in the network of pod shop/web-1") for each in commands)


def test_one_report_of_all_nodes(
    call: Call, networks: list[Network], seen: Callable[..., None], objects: Path, tmp_path: Path
) -> None:
    results = tmp_path / "nodes"
    results.mkdir()
    seen(networks[0])
    call("node", "--snapshot", objects, "--node", "w1", "--save", results / "w1")
    alone = call("merge", results, "--format", "json")
    assert alone.document["coverage"]["interrupted"] == "missing nodes w2"
    assert "missing nodes w2" in alone.err
    seen(networks[1])
    call("node", "--snapshot", objects, "--node", "w2", "--save", results / "w2")
    both = call("merge", results, "--save", tmp_path / "merged", "--format", "json").document
    assert both["coverage"]["interrupted"] is None
    expected = {
        f"StatefulSet/shop/web:{PORT} @ 127.0.0.1:{PORT} in web-{number}": sha256(each.certificate).hexdigest()
        for number, each in enumerate(networks, start=1)
    }
    assert {k: v for k, v in leaves(both).items() if v} == expected
    assert both["cluster"]["read"].startswith("2 nodes: 2 network namespaces")
    again = call("merge", tmp_path / "merged", "--format", "json").document
    assert again["endpoints"] == both["endpoints"]
    assert call("whatif", tmp_path / "merged", "--profile", "modern").code in (0, 1, 3)


def test_nodes_in_an_object_store(
    call: Call, networks: list[Network], seen: Callable[..., None], tmp_path: Path
) -> None:
    pytest.importorskip("fsspec", reason="the extra s3 is not installed")
    seen(networks[0])
    call("node", "--node", "w1", "--save", tmp_path / "w1")
    store = f"file://{tmp_path}/store"
    made = call("merge", tmp_path / "w1", "--save", store, "--format", "json").document
    assert call("merge", store, "--format", "json").document["endpoints"] == made["endpoints"]


def test_nodes_with_the_scan_of_their_cluster(
    call: Call, networks: list[Network], seen: Callable[..., None], objects: Path, tmp_path: Path
) -> None:
    """An endpoint of each scan is in the report, and nothing of them is missing."""
    call("scan", "--snapshot", objects, "--timeout", 1, "--save", tmp_path / "cluster")
    seen(networks[0])
    call("node", "--snapshot", objects, "--node", "w1", "--save", tmp_path / "w1")
    document = call(
        "merge", tmp_path / "cluster", tmp_path / "w1", "--save", tmp_path / "both", "--format", "json"
    ).document
    instances = [each["instance"] for each in document["endpoints"]]
    assert f"StatefulSet/shop/web:{PORT} @ 10.128.0.1:{PORT}" in instances
    assert f"StatefulSet/shop/web:{PORT} @ 127.0.0.1:{PORT} in web-1" in instances
    assert len(instances) == len(set(instances))
    again = call("merge", tmp_path / "both", "--format", "json").document
    assert [each["instance"] for each in again["endpoints"]] == instances


def test_nodes_with_a_part_of_their_cluster(
    call: Call, networks: list[Network], seen: Callable[..., None], objects: Path, tmp_path: Path
) -> None:
    """A scan of a node leaves declared listeners to the scan of the cluster, which here leaves out some of them."""
    seen(networks[0])
    call("node", "--snapshot", objects, "--node", "w1", "--save", tmp_path / "w1")
    for option, value in (("--namespace", "shop"), ("--include", "port=8443"), ("--exclude", "port=1")):
        part = tmp_path / option
        call("scan", "--snapshot", objects, option, value, "--timeout", 1, "--save", part)
        answer = call("merge", part, tmp_path / "w1")
        assert (answer.code, "a part of the listeners" in answer.err) == (2, True)


def test_without_a_cluster_too(call: Call, networks: list[Network], seen: Callable[..., None], tmp_path: Path) -> None:
    for number, network in enumerate(networks, start=1):
        seen(network)
        call("node", "--node", f"w{number}", "--save", tmp_path / f"w{number}")
    document = call("merge", tmp_path / "w1", tmp_path / "w2", "--format", "json").document
    assert {each for each in leaves(document).values() if each} == {
        sha256(each.certificate).hexdigest() for each in networks
    }


def test_a_scan_of_a_node_is_not_resumed_elsewhere(
    call: Call, networks: list[Network], seen: Callable[..., None], tmp_path: Path
) -> None:
    seen(networks[0])
    call("node", "--node", "w1", "--save", tmp_path / "w1")
    answer = call("scan", "--resume", tmp_path / "w1")
    assert (answer.code, "run adhere node --save again" in answer.err) == (2, True)
    (tmp_path / "w1" / "nodes.json").write_text("[{}]")
    assert call("merge", tmp_path / "w1").code == 2
    (tmp_path / "w1" / "nodes.json").unlink()
    assert call("merge", tmp_path / "w1").code == 2


def test_scans_that_are_no_one_report(
    call: Call, networks: list[Network], seen: Callable[..., None], tmp_path: Path
) -> None:
    seen(networks[0])
    for name in ("a", "b"):
        call("node", "--node", "w1", "--save", tmp_path / name)
    answer = call("merge", tmp_path / "a", tmp_path / "b")
    assert (answer.code, "the node w1 is in two of the scans" in answer.err) == (2, True)
    call("scan", "--timeout", 1, "127.0.0.1:9", "--save", tmp_path / "targets")
    answer = call("merge", tmp_path / "targets", tmp_path / "a")
    assert (answer.code, "scans of nodes and of targets" in answer.err) == (2, True)


def test_namespaces_that_cannot_be_entered_make_the_scan_incomplete(
    call: Call, networks: list[Network], seen: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without SYS_ADMIN: their listeners are candidates, which would not count otherwise."""
    seen(*networks)

    def refused(_: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(namespace_route, "_setns", refused)
    answer = call("node", "--node", "w1", "--format", "json")
    assert answer.code == 3
    unread = answer.document["coverage"]["discovery"]["unreadable"]
    assert [each["reason"] for each in unread if "entered" in each["reason"]] == [
        "node w1: network namespaces that cannot be entered: permission denied (2)"
    ]


def test_nothing_is_dialled_in_a_dry_run(call: Call, networks: list[Network], seen: Callable[..., None]) -> None:
    seen(networks[0])
    answer = call("node", "--node", "w1", "--dry-run")
    assert "would be probed, nothing dialled" in answer.out
    assert f":{PORT}" in answer.out


SILENT = """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
listening = [socket.create_server(("127.0.0.1", 20000 + number)) for number in range(12)]
print("ready", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def silent(networks: list[Network]) -> Iterator[None]:
    """Twelve sockets of the first network that accept connections and send nothing."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", networks[0].name, sys.executable, "-c", SILENT], stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        yield
        server.kill()


def test_what_is_left_at_the_time_limit_is_not_tested(
    call: Call, networks: list[Network], seen: Callable[..., None], silent: None, tmp_path: Path
) -> None:
    seen(networks[0])
    options = ("--timeout", 60, "--per-host", 3, "--time-limit", 1, "--save", tmp_path / "w1", "--format", "json")
    answer = call("node", "--node", "w1", *options, "--fail-on", "never")  # the other two may have been judged
    assert (
        "adhere: probes 14 listeners in 1 network namespace, in at most 1 s: 50 at once, 3 in each namespace, "
        "200 new connections per second, each with a timeout of 60 s\n"
    ) in answer.err
    found = [f for each in answer.document["endpoints"] for f in each["findings"] if each["port"] >= 20000]
    limit = "the time limit of the scan (1 s) was reached; raise --time-limit"
    begun = [each for each in found if each["message"].startswith("not finished: the deadline was reached")]
    assert all(each["evidence"] == [limit] for each in begun)
    assert {each["message"] for each in found if each not in begun} == {f"not tested: {limit}"}
    assert {each["status"] for each in found} == {"not-tested"}
    assert (answer.code, len(found), len(begun) <= 3) == (3, 12, True)
    merged = call("merge", tmp_path / "w1", "--format", "json", "--fail-on", "never")
    assert (merged.code, merged.document["summary"]) == (3, answer.document["summary"])


def test_a_timeout_longer_than_the_deadline(call: Call, networks: list[Network], seen: Callable[..., None]) -> None:
    seen(networks[0])
    assert call("node", "--timeout", 3, "--deadline", 2).code == 2
    assert call("node", "--deadline", "0.5", "--dry-run").code in (0, 3)


def test_a_node_that_the_cluster_does_not_have(call: Call, objects: Path, tmp_path: Path) -> None:
    answer = call("node", "--snapshot", objects, "--node", "w9")
    assert (answer.code, "set --node to one of: w1, w2" in answer.err) == (2, True)
    assert call("node", "--proc", tmp_path).code == 2
    assert call("node", "--proc", tmp_path / "none").code == 2
