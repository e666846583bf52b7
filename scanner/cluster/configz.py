"""What each kubelet was told, by way of the API server: ``/api/v1/nodes/NODE/proxy/configz`` (opt-in: nodes/proxy)."""

from __future__ import annotations

import re
from collections.abc import Iterable

import trio

from scanner.cluster.client import Client
from scanner.errors import ClusterError
from scanner.kube.objects import Fields, KubeObject
from scanner.model.local_files import KUBELET_CONFIGZ

_AT_ONCE = 8
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KEPT = ("tlsMinVersion", "tlsCipherSuites", "serverTLSBootstrap", "featureGates")
"""Of ``kubeletconfig`` (k8s.io/kubelet config/v1beta1, KubeletConfiguration). The rest is nobody's business here."""


async def configz(client: Client, nodes: Iterable[str]) -> tuple[tuple[KubeObject, ...], list[str]]:
    """The answers, as objects that are named after their nodes; and the nodes of which none was had, with why."""
    found: dict[str, KubeObject] = {}
    missed: list[str] = []
    limit = trio.CapacityLimiter(_AT_ONCE)

    async def ask(node: str) -> None:
        async with limit:
            try:
                answer = await client.get(f"/api/v1/nodes/{node}/proxy/configz")
            except ClusterError as error:
                missed.append(f"{node}: {error.message}")
                return
        told = Fields(answer if isinstance(answer, dict) else {}).fields("kubeletconfig")
        kept = {name: told.at(name) for name in _KEPT if told.has(name)}
        found[node] = KubeObject({"metadata": {"name": node}, "kubeletconfig": kept}, KUBELET_CONFIGZ)

    async with trio.open_nursery() as nursery:
        for node in nodes:
            if _NAME.fullmatch(node):
                nursery.start_soon(ask, node)
    return tuple(found[node] for node in sorted(found)), sorted(missed)
