"""The like of ``together`` for Services (k8s.io/kubernetes ``pkg/apis/core/validation``, ``validateService``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from scanner.kube.objects import Fields
from scanner.lint.fields.names import LABELS
from scanner.lint.fields.shape import Clash

_HOST: Final = re.compile(rf"{LABELS}\.?\Z")
_HOST_AT_MOST: Final = 253


def _external(spec: Fields) -> bool:
    return spec.text("type") == "ExternalName"


def _headless(spec: Fields) -> bool:
    addresses = spec.at("clusterIPs")
    return spec.at("clusterIP") == "None" or (isinstance(addresses, list) and addresses[:1] == ["None"])


def _no_host(spec: Fields) -> bool:
    name = spec.text("externalName")
    return _external(spec) and not (_HOST.match(name) and len(name.removesuffix(".")) <= _HOST_AT_MOST)


def _twice(of: Callable[[Fields], tuple[object, ...]]) -> Callable[[Fields], bool]:
    """Whether two ports say the same by ``of``, of those that say something last."""

    def found(spec: Fields) -> bool:
        said = [each for each in map(of, spec.each("ports")) if each[-1]]
        return len({*said}) < len(said)

    return found


def _protocol(port: Fields) -> str:
    return port.text("protocol") or "TCP"


def _nameless(spec: Fields) -> bool:
    ports = list(spec.each("ports"))
    return len(ports) > 1 and not all(port.text("name") for port in ports)


SERVICE: Final = (
    Clash(
        lambda spec: not spec.at("ports") and not _external(spec) and not _headless(spec),
        "there must be ports",
        ("ports",),
        fix="give its ports",
    ),
    Clash(_nameless, "each of several ports must have a name", ("ports",), fix="name the ports"),
    Clash(_twice(lambda port: (port.text("name"),)), "Duplicate value: two ports of one name", ("ports",)),
    Clash(
        _twice(lambda port: (_protocol(port), port.number("port"))),
        "Duplicate value: one port twice for one protocol",
        ("ports",),
    ),
    Clash(
        _twice(lambda port: (_protocol(port), port.number("nodePort"))),
        "Duplicate value: one nodePort twice for one protocol",
        ("ports",),
    ),
    Clash(
        lambda spec: (
            spec.text("type") in ("", "ClusterIP") and any(port.number("nodePort") for port in spec.each("ports"))
        ),
        "nodePort may not be used when type is ClusterIP",
        ("ports",),
        fix="remove nodePort, or say NodePort or LoadBalancer",
    ),
    Clash(
        _no_host,
        "a Service of type ExternalName must give a DNS name in lower case",
        ("externalName",),
        fix="give the name",
    ),
)
