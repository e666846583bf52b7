"""Origins of an endpoint as people read them: ``Route/shop/web reencrypt backend``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.model.endpoint import Origin, Role

_LONGEST: Final = 300
_MOST: Final = 20
"""Origins shown of one endpoint; all of them decide."""
_OBJECT: Final = "{object} {container} "
_FORMS: Final[Mapping[Role, str]] = {
    "frontend": _OBJECT + "{part}",
    "backend": _OBJECT + "{part} backend",
    "listener": _OBJECT + "listener {part} {through}",
    "fallback": _OBJECT + "fallback",
    "policy": _OBJECT,
    "webhook": _OBJECT + "webhook {part}",
    "conversion": _OBJECT + "conversion",
    "aggregation": _OBJECT,
    "port": _OBJECT + "port {part}",
    "probe": _OBJECT + "{part}",
    "flag": _OBJECT + "--{part}",
    "mount": _OBJECT + "mounts {through} {part}",
    "service-ca": _OBJECT + "service-ca annotation",
    "prober": _OBJECT + "prober",
    "target": _OBJECT + "target {part}",
    "ingress": _OBJECT + "of {through}",
    "kubelet": _OBJECT + "kubeletEndpoint",
    "well-known": _OBJECT + "well-known {part}",
    "api-server": "the API server, by {object} {part}",
    "catalogue": "catalogue: {part}",
    "user": "{part}",
}


def origin_text(origin: Origin) -> str:
    """One origin in one line."""
    text = _FORMS[origin.role].format(
        object=origin.reference or "",
        container=f"container {origin.container}" if origin.container else "",
        part=origin.part,
        through=origin.through or "",
    )
    return " ".join((*(["of another namespace:"] if origin.foreign else []), *text.split()))[:_LONGEST]


def origin_texts(origins: tuple[Origin, ...]) -> list[str]:
    """The first of them, and how many more there are."""
    shown = [origin_text(each) for each in origins[:_MOST]]
    more = len(origins) - len(shown)
    return [*shown, f"and {more} more"] if more else shown
