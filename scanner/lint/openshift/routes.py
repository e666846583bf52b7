"""What rules on Routes share: how the API reads a Route (openshift/api route/v1, library-go ``pkg/route``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.model.objects import KubeObject

TLS: Final = ("spec", "tls")
EXTERNAL: Final = (*TLS, "externalCertificate")
_DEFAULTED: Final[Mapping[str, str]] = {"Edge": "edge", "Passthrough": "passthrough", "Reencrypt": "reencrypt"}
"""Spellings that admission turns into the API's own (``pkg/route/defaulting``)."""


def has_tls(route: KubeObject) -> bool:
    """Whether it is served by TLS at all."""
    return route.has(*TLS)


def termination(route: KubeObject) -> str:
    """As the API server stores it; "" where it would be refused for having none."""
    said = route.text(*TLS, "termination")
    if not said and not route.text(*TLS, "destinationCACertificate"):
        return "edge"
    return _DEFAULTED.get(said, said)


def terminates(route: KubeObject) -> bool:
    """Whether the router answers the handshake: edge and re-encrypt."""
    return has_tls(route) and termination(route) in ("edge", "reencrypt")


def external(route: KubeObject) -> str:
    """The Secret that the router takes the certificate from, or "". An empty reference is none."""
    return route.text(*EXTERNAL, "name") if terminates(route) else ""
