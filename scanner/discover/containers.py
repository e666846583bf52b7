"""What a container says of itself, read once for all replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scanner.discover.names import port
from scanner.kube.objects import Fields


class ContainerPort(NamedTuple):
    """A port that a container declares (core/v1 ContainerPort)."""

    number: int | None
    """None: it is none."""
    name: str
    protocol: str
    on_node: int | None
    """The node's port that leads there."""
    host: str
    """The node's address for that, where the object says one."""


@dataclass(slots=True, eq=False)
class Container:
    """A container that stays."""

    raw: Fields
    name: str
    ports: tuple[ContainerPort, ...]


def staying(containers: object, init_containers: object, ephemeral_containers: object) -> tuple[Container, ...]:
    """Regular containers, sidecars (init containers that restart always) and ephemeral ones."""
    started = (each for each in _each(init_containers) if each.text("restartPolicy") == "Always")
    every = (*_each(containers), *started, *_each(ephemeral_containers))
    return tuple(Container(each, each.text("name"), tuple(map(_port, each.each("ports")))) for each in every)


def named_ports(containers: tuple[Container, ...]) -> dict[str, int | None]:
    """The ports of all containers, by the names that they have."""
    found: dict[str, int | None] = {}
    for each in (one for container in containers for one in container.ports):
        found.setdefault(each.name, each.number)
    return found


def _each(value: object) -> Iterator[Fields]:
    return Fields({"items": value}).each("items")


def _port(said: Fields) -> ContainerPort:
    on_node = port(said.at("hostPort")) if "hostPort" in said.raw else None
    return ContainerPort(
        port(said.at("containerPort")),
        said.text("name"),
        said.text("protocol") or "TCP",
        on_node,
        said.text("hostIP") if on_node else "",
    )
