"""Read the listening TCP sockets of every network namespace, and their processes and pods, from a tree of /proc.

Pure reading (proc(5), cgroups(7)): nothing is started, entered or dialled. Of a process only its name, cgroup, network
namespace and sockets are read, never its command line or environment, which have secrets. Processes end while they are
read; that is no gap. What was refused, or is beyond a limit, is counted in ``unread``.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from scanner.errors import InputError

MAX_PROCESSES = 200_000
MAX_SOCKETS = 100_000
"""Limit of listening sockets."""
MAX_LINES = 5_000_000
"""Limit of lines of all tables of sockets; connections have lines too."""
MAX_DESCRIPTORS = 5_000_000
MAX_REMEMBERED = 8
"""Processes of a namespace through which it is opened later."""
_LINE = 1024
"""Bytes of one line of a table; the kernel writes about 150."""
_SMALL = 64 * 1024
"""Bytes that are read of a cgroup file."""

_ENDED = frozenset({errno.ENOENT, errno.ESRCH, errno.EINVAL})
"""Errors of a process that ended meanwhile, or of a zombie."""
_DENIED = frozenset({errno.EACCES, errno.EPERM})
_LISTEN = b"0A"
"""TCP_LISTEN (Linux, include/net/tcp_states.h)."""
_LINK = re.compile(r"(?:net|socket):\[(\d{1,19})\]")
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?=[/.:]|$)", re.MULTILINE)
"""UID in the cgroup of a pod: ``/kubepods/burstable/podUID/`` (cgroupfs), ``kubepods-burstable-podUID.slice`` (systemd,
with underscores). Static pods have the hash of their configuration."""
_CONTAINER = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])")
"""``cri-containerd-ID.scope``, ``crio-ID.scope``, ``docker-ID.scope``, or the ID alone (cgroupfs)."""


class Process(Struct, frozen=True, kw_only=True):
    """A process that has a listening socket."""

    pid: int
    name: str
    """From ``comm``, at most 15 characters; any process can choose its own."""
    pods: tuple[str, ...] = ()
    """UIDs of the pods of its cgroup, the outermost first: a node can run in a container of another node."""
    container: str = ""
    """ID of its container."""


class Namespace(Struct, frozen=True, kw_only=True):
    """A network namespace with at least one process."""

    inode: int
    pids: tuple[int, ...]
    """Some of its processes, through which it can be opened."""
    of_node: bool = False
    """True for that of the first process: the node's own network."""
    pods: tuple[str, ...] = ()
    """UIDs of the pods of its processes."""


class ListeningSocket(Struct, frozen=True, kw_only=True):
    """An address and port where processes of a namespace listen."""

    namespace: Namespace
    address: IPv4Address | IPv6Address
    port: int
    process: Process | None = None
    """None: a socket of the kernel, or of a process that could not be read."""

    @property
    def is_loopback(self) -> bool:
        """True if only processes of the same namespace can connect."""
        return self.address.is_loopback


class NodeSockets(Struct, frozen=True, kw_only=True):
    """The sockets of a node, and what was read for them."""

    namespaces: tuple[Namespace, ...]
    processes: int
    sockets: tuple[ListeningSocket, ...]
    """Each address and port of a namespace once, sorted."""
    unread: tuple[tuple[str, int], ...] = ()
    """Reasons and counts of what could not be read: listeners may be missing."""
    pods: frozenset[str] = frozenset()
    """UIDs of all pods that have a process."""


def read_sockets(proc: str = "/proc", *, order: Literal["little", "big"] = sys.byteorder) -> NodeSockets:
    """Read the listening sockets below ``proc``. ``order``: byte order of the machine whose tree it is. Raises
    ``InputError`` if it is no tree of /proc."""
    return _Reader(Path(proc), order).read()


class _Row(Struct):
    """A row of a table of sockets, before its process is known."""

    namespace: int
    address: IPv4Address | IPv6Address
    port: int
    inode: int


class _Reader(Struct):
    proc: Path
    order: Literal["little", "big"]
    unread: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    cgroups: dict[int, tuple[tuple[str, ...], str]] = field(default_factory=dict)

    def read(self) -> NodeSockets:
        pids = self._pids()
        members: dict[int, list[int]] = {}
        seen = 0
        for pid in pids:
            inode = self._namespace(pid)
            if inode is not None:
                members.setdefault(inode, []).append(pid)
                self.cgroups[pid] = self._cgroup(pid)
                seen += 1
        own = next((inode for inode, every in members.items() if 1 in every), None)
        if own is None:
            self.unread["the first process (PID 1), so the node's own network is not known"] += 1
        namespaces = {
            inode: Namespace(
                inode=inode,
                pids=tuple(every[:MAX_REMEMBERED]),
                of_node=inode == own,
                pods=tuple(dict.fromkeys(uid for pid in every for uid in self.cgroups[pid][0])),
            )
            for inode, every in members.items()
        }
        rows: list[_Row] = []
        for row in (row for inode, every in members.items() for row in self._listening(inode, every)):
            if len(rows) < MAX_SOCKETS:
                rows.append(row)
            else:
                self.unread[f"listening sockets beyond the first {MAX_SOCKETS:,}"] += 1
        owners = self._owners(pids, {row.inode for row in rows})
        found: dict[tuple[int, str, int], ListeningSocket] = {}
        for row in rows:
            key = row.namespace, str(row.address), row.port
            if key not in found or found[key].process is None:  # several processes share an address by SO_REUSEPORT
                found[key] = ListeningSocket(
                    namespace=namespaces[row.namespace],
                    address=row.address,
                    port=row.port,
                    process=owners.get(row.inode),
                )
        return NodeSockets(
            namespaces=tuple(namespaces.values()),
            processes=seen,
            sockets=tuple(found[key] for key in sorted(found)),
            unread=tuple(sorted(self.unread.items())),
            pods=frozenset(uid for pods, _ in self.cgroups.values() for uid in pods),
        )

    def _pids(self) -> list[int]:
        try:
            with os.scandir(self.proc) as entries:
                found = sorted(int(each.name) for each in entries if re.fullmatch(r"[0-9]{1,10}", each.name, re.ASCII))
        except OSError as error:
            raise InputError(
                f"{self.proc}: cannot be read: {error.strerror or error}", hint="use the /proc of the node: --proc DIR"
            ) from error
        if not found:
            raise InputError(f"{self.proc}: it has no process", hint="use the /proc of the node: --proc DIR")
        if len(found) > MAX_PROCESSES:
            self.unread[f"processes beyond the first {MAX_PROCESSES:,}"] += len(found) - MAX_PROCESSES
        return found[:MAX_PROCESSES]

    def _namespace(self, pid: int) -> int | None:
        try:
            found = _LINK.fullmatch(str((self.proc / str(pid) / "ns" / "net").readlink()))
        except OSError as error:
            self._missing(error, "processes whose network namespace is not known")
            return None
        if found is None:
            self.unread["processes whose network namespace is not known"] += 1
            return None
        return int(found[1])

    def _missing(self, error: OSError, what: str) -> None:
        """Count what could not be read, unless the process ended."""
        if error.errno in _ENDED:
            return
        why = "permission denied" if error.errno in _DENIED else error.strerror or "error"
        self.unread[f"{what}: {why}"] += 1

    def _cgroup(self, pid: int) -> tuple[tuple[str, ...], str]:
        """The pods and the container of a process (cgroups v1: a line for each hierarchy; v2: one)."""
        try:
            with (self.proc / str(pid) / "cgroup").open("rb") as file:
                text = file.read(_SMALL).decode("utf-8", "replace")
        except OSError as error:
            self._missing(error, "processes whose pod is not known")
            return (), ""
        for line in text.splitlines():
            pods = tuple(dict.fromkeys(each.replace("_", "-") for each in _POD.findall(line)))
            if pods:
                containers = _CONTAINER.findall(line)
                return pods, containers[-1] if containers else ""
        return (), ""

    def _listening(self, inode: int, pids: list[int]) -> Iterator[_Row]:
        """The rows of a namespace, through the first of its processes that still runs."""
        last: OSError | None = None
        for pid in pids:
            try:
                rows = list(self._table(inode, pid, "tcp"))
            except OSError as error:
                last = error
                continue
            yield from rows
            try:
                yield from list(self._table(inode, pid, "tcp6"))
            except OSError as error:
                if error.errno not in _ENDED or not self._is_running(pid):
                    last = error
                    continue  # it ended between the two; the rows of tcp that come again are the same
            return
        if last is not None and last.errno not in _ENDED:
            self._missing(last, "network namespaces whose sockets are not known")

    def _is_running(self, pid: int) -> bool:
        try:
            (self.proc / str(pid) / "net" / "tcp").stat()
        except OSError:
            return False
        return True

    def _table(self, namespace: int, pid: int, name: str) -> Iterator[_Row]:
        with (self.proc / str(pid) / "net" / name).open("rb") as file:
            file.readline(_LINE)
            while line := file.readline(_LINE):
                self.lines += 1
                if self.lines > MAX_LINES:
                    self.unread[f"tables of sockets beyond {MAX_LINES:,} lines"] += 1
                    return
                parts = line.split()
                if len(parts) > 3 and parts[3] != _LISTEN:
                    continue
                try:
                    address, _, port = parts[1].decode("ascii").partition(":")
                    row = _Row(namespace, parse_address(address, self.order), int(port, 16), int(parts[9]))
                except (ValueError, IndexError, OverflowError):
                    self.unread["lines in tables of sockets that have another form"] += 1
                    continue
                if 0 < row.port < 65536:
                    yield row

    def _owners(self, pids: list[int], wanted: set[int]) -> dict[int, Process]:
        """The first process of each socket; PID 1 is last, because systemd keeps the sockets of its units."""
        found: dict[int, Process] = {}
        left = MAX_DESCRIPTORS
        for pid in sorted(pids, key=lambda each: (each == 1, each)):
            if not wanted or left <= 0:
                break
            process: Process | None = None
            for inode in self._sockets_of(pid, left):
                left -= 1
                if inode in wanted:
                    process = process or self._process(pid)
                    found[inode] = process
                    wanted.discard(inode)
        if left <= 0:
            self.unread[f"open files beyond the first {MAX_DESCRIPTORS:,}"] += 1
        return found

    def _sockets_of(self, pid: int, most: int) -> Iterator[int]:
        """The inode of each open file that is a socket, else 0."""
        place = self.proc / str(pid) / "fd"
        try:
            with os.scandir(place) as entries:
                for _, each in zip(range(most), entries, strict=False):
                    try:
                        link = _LINK.fullmatch(str(Path(each.path).readlink()))
                    except OSError:  # it was closed
                        link = None
                    yield int(link[1]) if link else 0
        except OSError as error:
            self._missing(error, "processes whose open files are not known")

    def _process(self, pid: int) -> Process:
        try:
            with (self.proc / str(pid) / "comm").open("rb") as file:
                name = file.read(64)
        except OSError:
            name = b""
        pods, container = self.cgroups.get(pid) or self._cgroup(pid)
        return Process(pid=pid, name=_printable(name), pods=pods, container=container)


def parse_address(text: str, order: Literal["little", "big"]) -> IPv4Address | IPv6Address:
    """Parse an address of /proc/net/tcp: words of 32 bits in the byte order of the machine. An IPv4 address in IPv6 is
    returned as IPv4. Raises ``ValueError``."""
    if len(text) not in (8, 32):
        raise ValueError(text)
    words = [int(text[place : place + 8], 16) for place in range(0, len(text), 8)]
    packed = b"".join(each.to_bytes(4, "big" if order == "big" else "little") for each in words)
    if len(packed) == 4:
        return IPv4Address(packed)
    found = IPv6Address(packed)
    return found.ipv4_mapped or found


def _printable(name: bytes) -> str:
    text = name.rstrip(b"\n").decode("utf-8", "replace")
    return "".join(each if each.isprintable() else "?" for each in text)[:32]
