"""Sockets, processes and pods from made-up trees of /proc."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.node import proc_reader
from scanner.node.proc_reader import parse_address, read_sockets
from tests.node.proc_tree import HEAD, Made, row, tree

UID = "0b6ff33e-5d05-4f2d-8b5a-0e4b0f5d8e11"
SYSTEMD = UID.replace("-", "_")
CONTAINER = "ab" * 32


def test_a_socket_has_its_namespace_process_and_address(tmp_path: Path) -> None:
    proc = tree(
        tmp_path,
        Made(pid=1, comm="systemd", tcp=(row("0100007F:1F90", 11), row("0100007F:0050", 12, state="01"))),
        Made(pid=70, net=2000, comm="web", sockets=(21,), tcp=(row("00000000:20FB", 21),)),
    )
    found = read_sockets(proc, order="little")
    assert [(str(each.address), each.port, each.namespace.inode) for each in found.sockets] == [
        ("127.0.0.1", 8080, 1000),
        ("0.0.0.0", 8443, 2000),
    ]
    node, pod = found.sockets
    assert node.is_loopback
    assert node.process is None
    assert node.namespace.of_node
    assert pod.process
    assert (pod.process.pid, pod.process.name) == (70, "web")
    assert not pod.namespace.of_node
    assert (len(found.namespaces), found.processes, found.unread) == (2, 2, ())


@pytest.mark.parametrize(
    ("text", "order", "address"),
    [
        ("0100007F", "little", "127.0.0.1"),
        ("7F000001", "big", "127.0.0.1"),
        ("00000000000000000000000001000000", "little", "::1"),
        ("00000000000000000000000000000001", "big", "::1"),
        ("0000000000000000FFFF00000100007F", "little", "127.0.0.1"),
        ("B80D0120000000000000000001000000", "little", "2001:db8::1"),
    ],
)
def test_addresses_in_the_byte_order_of_the_machine(text: str, order: str, address: str) -> None:
    assert str(parse_address(text, "big" if order == "big" else "little")) == address


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SYSTEMD}.slice/cri-containerd-{CONTAINER}.scope",
        f"0::/kubepods.slice/kubepods-pod{SYSTEMD}.slice/crio-{CONTAINER}.scope",
        f"0::/kubepods.slice/kubepods-pod{SYSTEMD}.slice/crio-{CONTAINER}.scope/container",
        f"0::/kubepods/besteffort/pod{UID}/{CONTAINER}",
        f"0::/../../kubepods-besteffort.slice/kubepods-besteffort-pod{SYSTEMD}.slice/cri-containerd-{CONTAINER}.scope",
        f"12:pids:/kubepods/burstable/pod{UID}/{CONTAINER}\n11:cpu:/kubepods/burstable/pod{UID}/{CONTAINER}\n0::/",
        f"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod{SYSTEMD}.slice:cri-containerd:{CONTAINER}",
        (
            f"0::/docker/{'cd' * 32}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{SYSTEMD}.slice/"
            f"cri-containerd-{CONTAINER}.scope"
        ),
        f"0::/kubepods/pod{UID}/{'cd' * 32}/kubepods/pod{UID}/{CONTAINER}/kubepods",
    ],
)
def test_the_pod_and_container_of_a_cgroup(tmp_path: Path, cgroup: str) -> None:
    proc = tree(tmp_path, Made(pid=1, cgroup=cgroup, sockets=(5,), tcp=(row("00000000:20FB", 5),)))
    (found,) = read_sockets(proc, order="little").sockets
    assert found.process
    assert found.process.pods == (UID,)
    assert found.process.container == CONTAINER
    assert found.namespace.pods == (UID,)


def test_a_static_pod_has_the_hash_of_its_configuration(tmp_path: Path) -> None:
    cgroup = f"0::/kubepods.slice/kubepods-pod{'1f' * 16}.slice/crio-{CONTAINER}.scope"
    assert read_sockets(tree(tmp_path, Made(pid=1, cgroup=cgroup))).pods == {"1f" * 16}


@pytest.mark.parametrize("cgroup", ["", "0::/system.slice/sshd.service", "0::/user.slice/pod-1", "nonsense"])
def test_a_process_of_no_pod(tmp_path: Path, cgroup: str) -> None:
    assert read_sockets(tree(tmp_path, Made(pid=1, cgroup=cgroup))).pods == frozenset()


def test_a_socket_of_another_namespace_belongs_to_the_process_that_has_it(tmp_path: Path) -> None:
    """As ztunnel, which creates its listeners inside of the networks of pods."""
    proc = tree(
        tmp_path,
        Made(pid=1),
        Made(pid=8, net=2000, comm="pause", tcp=(row("00000000:3A98", 77),)),
        Made(pid=9, net=3000, comm="ztunnel", sockets=(77,)),
    )
    (found,) = read_sockets(proc, order="little").sockets
    assert (found.namespace.inode, found.process and found.process.name) == (2000, "ztunnel")


def test_sockets_of_systemd_belong_to_the_service(tmp_path: Path) -> None:
    table = (row("00000000:0016", 5),)
    proc = tree(tmp_path, Made(pid=1, comm="systemd", sockets=(5,), tcp=table), Made(pid=44, comm="sshd", sockets=(5,)))
    (found,) = read_sockets(proc, order="little").sockets
    assert found.process
    assert found.process.name == "sshd"


def test_a_process_that_ends_while_it_is_read_is_no_gap(tmp_path: Path) -> None:
    proc = tree(tmp_path, Made(pid=1), Made(pid=7, net=2000), Made(pid=8, net=2000, tcp=(row("00000000:0050", 3),)))
    shutil.rmtree(tmp_path / "7" / "net")
    (tmp_path / "9").mkdir()
    found = read_sockets(proc, order="little")
    assert [each.port for each in found.sockets] == [80]
    assert found.unread == ()


def test_a_kernel_without_ipv6(tmp_path: Path) -> None:
    proc = tree(tmp_path, Made(pid=1, tcp=(row("00000000:0050", 3),), tcp6=None))
    found = read_sockets(proc, order="little")
    assert (len(found.sockets), found.unread) == (1, ())


def test_what_is_refused_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc = tree(tmp_path, Made(pid=1), Made(pid=6, net=2000), Made(pid=7, net=3000))
    known = Path.readlink

    def refused(path: Path) -> Path:
        if path.parent.parent.name in ("6", "7"):
            raise PermissionError(13, "Permission denied")
        return known(path)

    monkeypatch.setattr(Path, "readlink", refused)
    assert read_sockets(proc).unread == (("processes whose network namespace is not known: permission denied", 2),)


def test_a_tree_without_the_first_process_is_incomplete(tmp_path: Path) -> None:
    found = read_sockets(tree(tmp_path, Made(pid=5)))
    assert [reason.split(",")[0] for reason, _ in found.unread] == ["the first process (PID 1)"]


@pytest.mark.parametrize(
    ("limit", "reason", "sockets"),
    [
        ("MAX_PROCESSES", "processes beyond the first 1", 2),
        ("MAX_SOCKETS", "listening sockets beyond the first 1", 1),
        ("MAX_LINES", "tables of sockets beyond 1 lines", 1),
        ("MAX_DESCRIPTORS", "open files beyond the first 1", 4),
    ],
)
def test_what_is_beyond_a_limit_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str, sockets: int
) -> None:
    monkeypatch.setattr(proc_reader, limit, 1)
    table = (row("00000000:0050", 3), row("00000000:0051", 4))
    proc = tree(tmp_path, Made(pid=1, tcp=table, sockets=(3, 4)), Made(pid=2, net=2000, tcp=table))
    found = read_sockets(proc, order="little")
    assert reason in dict(found.unread)
    assert len(found.sockets) == sockets


def test_a_directory_without_processes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has no process"):
        read_sockets(str(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        read_sockets(str(tmp_path / "none"))


@given(
    table=st.binary(max_size=300),
    cgroup=st.binary(max_size=200),
    comm=st.binary(max_size=40),
    link=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40),
)
def test_no_content_of_proc_is_an_error(table: bytes, cgroup: bytes, comm: bytes, link: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        proc = tree(Path(place), Made(pid=1, tcp=(row("00000000:20FB", 5),), sockets=(5,)), Made(pid=2))
        for pid in ("1", "2"):
            (Path(place) / pid / "net" / "tcp6").write_bytes(HEAD.encode() + table)
            (Path(place) / pid / "cgroup").write_bytes(cgroup)
            (Path(place) / pid / "comm").write_bytes(comm)
        (Path(place) / "2" / "ns" / "net").unlink()
        (Path(place) / "2" / "ns" / "net").symlink_to(link)
        found = read_sockets(proc, order="little")
        assert any(each.port == 8443 for each in found.sockets)
        assert all(each.process is None or each.process.name.isprintable() for each in found.sockets)


@given(table=st.lists(st.text(st.sampled_from("0123456789ABCDEFx-+: _"), max_size=40), min_size=1, max_size=12))
def test_no_line_of_a_table_is_an_error(table: list[str]) -> None:
    line = " ".join(("0:", table[0], "0", "0A", *table[1:])) + "\n"
    with tempfile.TemporaryDirectory() as place:
        read_sockets(tree(Path(place), Made(pid=1, tcp=(line,))))
