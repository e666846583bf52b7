"""Nodes: the kubelet's port, and the listeners that every node of such a cluster is known to have."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.claims import NOWHERE
from scanner.discover.draft import Draft, Found, Place, Source
from scanner.discover.names import port
from scanner.discover.view import View
from scanner.discover.workloads import Node
from scanner.model.components import Listener
from scanner.model.endpoint import Owner
from scanner.model.kinds import NODE

KUBELET = Owner(kind="Node", name="kubelet")
"""Whose the kubelets' listeners are: they are replicas of each other, and nodes come and go."""


_MAY = ("tls", "both", "unknown")


def _find(view: View) -> Iterator[Found]:
    known = [each for each in view.catalogue.listeners if not each.namespaces and each.speaks in _MAY]
    for node in view.workloads.nodes.values():
        # The field really has a capital letter (core/v1 DaemonEndpoint).
        number = port(node.raw.at("status", "daemonEndpoints", "kubeletEndpoint", "Port"))
        if number:
            yield from _at(node, number, KUBELET, f"Node/{node.name} kubeletEndpoint", declared=True)
        for entry in known:
            for each in entry.ports:
                if each != number:
                    yield from _known(node, each, entry)


def _known(node: Node, number: int, entry: Listener) -> Iterator[Draft]:
    """What only the catalogue says: nothing in the cluster tells whether this node has it."""
    owner = Owner(kind="Node", name=entry.component)
    for draft in _at(node, number, owner, f"Node/{node.name} well-known {entry.component}", declared=False):
        draft.loopback, draft.guess = entry.loopback or None, True
        yield draft


def _at(node: Node, number: int, owner: Owner, origin: str, *, declared: bool) -> Iterator[Draft]:
    pattern = NOWHERE._replace(port=number, node=node.name, owner=owner, labels=node.labels)
    for each in node.addresses:
        place: Place = pattern._replace(address=each)
        yield Draft(place=place, certainty="declared" if declared else "candidate", origin=origin)


SOURCE = Source(name="Nodes", reads=(NODE,), find=_find)
