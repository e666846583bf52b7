"""Connect the probe to listeners inside of their network namespace.

A socket belongs to the namespace in which it was created (network_namespaces(7)). So this thread enters the namespace,
creates the socket and returns, all without an ``await``; then the socket connects like any other.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from scanner.errors import ResourceError
from scanner.node.proc_reader import Namespace
from scanner.probe.dial import Broken, Connection, Dialer, Where, connect_with, new_socket

_CLONE_NEWNET = 0x40000000
_OWN = "/proc/thread-self/ns/net"
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


class NamespaceRoutes:
    """Connections inside of network namespaces. Each is opened once and stays open until ``close``, so that it is the
    same one for the whole scan."""

    def __init__(self, proc: str) -> None:
        """Raises ``ResourceError`` where there are no network namespaces."""
        self._proc = Path(proc)
        self._open: dict[int, int] = {}
        try:
            self._own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ResourceError(
                f"{_OWN}: {error.strerror or error}", hint="adhere node runs on Linux, on the node that it scans"
            ) from error

    def close(self) -> None:
        """Close all namespaces."""
        for descriptor in (self._own, *self._open.values()):
            with suppress(OSError):
                os.close(descriptor)

    def refused(self, namespaces: Iterable[Namespace]) -> tuple[tuple[str, int], ...]:
        """Return why namespaces cannot be entered, each reason with their number: their listeners cannot be judged. One
        that is gone has none."""
        counts = Counter[str]()
        for each in namespaces:
            try:
                with self._inside(self._descriptor(each)):
                    pass
            except OSError as error:
                if error.errno != errno.ESRCH:
                    denied = error.errno in (errno.EACCES, errno.EPERM)
                    why = "permission denied" if denied else error.strerror
                    counts[f"network namespaces that cannot be entered: {why}"] += 1
        return tuple(counts.items())

    def dialer(self, namespace: Namespace, addresses: tuple[str, ...], port: int) -> Dialer:
        """Return the connector to a port at the first of ``addresses`` that exists in the namespace."""

        async def dial() -> Connection:
            for address in addresses[:-1]:
                try:
                    return await self._connect(namespace, address, port)
                except Broken as broken:
                    if broken.ending != "unreachable":
                        raise
            return await self._connect(namespace, addresses[-1], port)

        return dial

    async def _connect(self, namespace: Namespace, address: str, port: int) -> Connection:
        try:
            connecting = self._socket(namespace, address)
        except OSError as error:
            if error.errno in _OURS:
                raise ResourceError(
                    f"this machine cannot open another connection: {error.strerror}",
                    hint="raise the limit of open files (ulimit -n) or lower --concurrency",
                ) from error
            raise Broken("unreachable", f"its network namespace cannot be entered: {error.strerror}") from None
        return await connect_with(connecting, Where(address=address, port=port))

    def _socket(self, namespace: Namespace, address: str) -> socket.socket:
        """Raises ``OSError`` if the namespace cannot be entered."""
        with self._inside(self._descriptor(namespace)):
            return new_socket(address)

    @contextmanager
    def _inside(self, descriptor: int) -> Iterator[None]:
        _setns(descriptor)
        try:
            yield
        finally:
            try:
                _setns(self._own)
            except OSError as error:  # all that this thread opens later would be in a wrong network
                raise ResourceError(f"the scanner's own network namespace is lost: {error.strerror}") from error

    def _descriptor(self, namespace: Namespace) -> int:
        """Open a namespace through one of its processes, and check that it is still the same one."""
        if namespace.inode in self._open:
            return self._open[namespace.inode]
        last: OSError = OSError(errno.ESRCH, "all of its processes have ended")
        for pid in namespace.pids:
            try:
                descriptor = os.open(self._proc / str(pid) / "ns" / "net", os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                last = error if error.errno not in (errno.ENOENT, errno.ESRCH) else last
                continue
            if os.fstat(descriptor).st_ino == namespace.inode:
                self._open[namespace.inode] = descriptor
                return descriptor
            os.close(descriptor)  # another process has this number now
        raise last


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _setns(descriptor: int) -> None:
    """Move this thread into a network namespace (setns(2)); ``os.setns`` is not in Python 3.11."""
    if _libc().setns(descriptor, _CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
