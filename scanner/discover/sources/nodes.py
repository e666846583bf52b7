"""Nodes: the kubelet's port, and the listeners that every node of such a cluster is known to have."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.draft import Claim, Draft, Found, Place, Source
from scanner.discover.names import port
from scanner.discover.view import View
from scanner.discover.workloads import Node
from scanner.kube.kinds import NODE
from scanner.model.components import Listener
from scanner.model.endpoint import Origin, Owner

KUBELET = Owner(kind="Node", name="kubelet")
"""Whose the kubelets' listeners are: they are replicas of each other, and nodes come and go."""


_MAY = ("tls", "both", "unknown")


def _find(view: View) -> Iterator[Found]:
    known = [each for each in view.catalogue.listeners if not each.namespaces and each.speaks in _MAY]
    for node in view.workloads.nodes.values():
        number = port(node.raw.kubelet_port)
        if number:
            claim = Claim(certainty="declared", origin=Origin(role="kubelet", reference=node.raw.reference))
            yield from _at(node, number, KUBELET, claim)
        for entry in known:
            for each in entry.ports:
                if each != number:
                    yield from _known(node, each, entry)


def _known(node: Node, number: int, entry: Listener) -> Iterator[Draft]:
    """What only the catalogue says: nothing in the cluster tells whether this node has it."""
    claim = Claim(
        certainty="candidate",
        origin=Origin(role="well-known", reference=node.raw.reference, part=entry.component),
        loopback=entry.loopback or None,
        guess=True,
    )
    yield from _at(node, number, Owner(kind="Node", name=entry.component), claim)


def _at(node: Node, number: int, owner: Owner, claim: Claim) -> Iterator[Draft]:
    for each in node.addresses:
        yield Draft(claim, Place(each, number, node=node.name, owner=owner, labels=node.labels))


SOURCE = Source(name="Nodes", reads=(NODE,), find=_find)
