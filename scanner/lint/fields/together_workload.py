"""The like of ``together`` for pods and what makes them (k8s.io/kubernetes ``pkg/apis/core/validation``)."""

from __future__ import annotations

from typing import Final

from scanner.kube.objects import Fields
from scanner.lint.fields.shape import Clash

HANDLERS: Final = ("exec", "grpc", "httpGet", "sleep", "tcpSocket")
"""Ways to ask a container."""


def _handlers(probe: Fields) -> int:
    return sum(probe.has(each) for each in HANDLERS)


def _same_name(container: Fields) -> bool:
    names = [name for port in container.each("ports") if (name := port.text("name"))]
    return len({*names}) < len(names)


def _not_selected(spec: Fields) -> bool:
    labels = spec.words("template", "metadata", "labels")
    return not spec.words("selector", "matchLabels").items() <= labels.items()


PROBE: Final = (
    Clash(lambda probe: _handlers(probe) == 0, "must specify a handler type", fix="say how the container is asked"),
    Clash(lambda probe: _handlers(probe) > 1, "may not specify more than 1 handler type", fix="leave one of them"),
)
CONTAINER: Final = (Clash(_same_name, "Duplicate value: two ports of one name", ("ports",)),)
WORKLOAD: Final = (
    Clash(
        _not_selected,
        "`selector` does not match template `labels`",
        ("selector",),
        fix="give the template the labels that are selected",
    ),
)
