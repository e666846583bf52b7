"""A kubelet's port-forward, by the kubelet's own code (servers/kubelet), without a container runtime.

What is real is everything in front of it, too: the API server that authorizes, dials the node with its client
certificate and passes the connections on, or the error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.assets import programs
from tests.e2e.control_plane import KUBELET_PORT, ControlPlane
from tests.zoo.processes import Launch, serving


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The program while it runs."""

    log: Path

    @property
    def asked(self) -> list[str]:
        """Method, path and ``Upgrade`` of every request."""
        return [line for line in self.log.read_text().splitlines() if " /portForward/" in line]


@asynccontextmanager
async def kubelet(plane: ControlPlane, address: str, ports: Mapping[int, str]) -> AsyncIterator[Kubelet]:
    """Be the kubelet of the node at ``address``. ``ports``: where the ports of its pods lead to; others refuse."""
    program = programs() / "kubelet"
    if not program.exists():
        pytest.skip(f"{program} is not built: `make e2e` does it")
    credential = plane.kubelet_authority.leaf(names=(address,))
    with TemporaryDirectory(prefix="kubelet-") as name:
        directory = Path(name)
        (directory / "kubelet.crt").write_bytes(credential.pem)
        (directory / "kubelet.key").write_bytes(credential.key_pem)
        argv = [str(program), "-address", f"{address}:{KUBELET_PORT}"]
        argv += ["-certificate", f"{directory}/kubelet.crt", "-key", f"{directory}/kubelet.key"]
        argv += [f"{port}={target}" for port, target in ports.items()]
        async with serving(Launch(argv=argv), address, KUBELET_PORT, directory / "log"):
            yield Kubelet(directory / "log")
