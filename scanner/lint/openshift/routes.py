"""What rules on Routes share: how the API reads a Route (openshift/api route/v1, library-go ``pkg/route``)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from typing import Final

from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.located import Steps
from scanner.model.object_rule import Subject

TLS: Final = ("spec", "tls")
EXTERNAL: Final = (*TLS, "externalCertificate")
_DEFAULTED: Final[Mapping[str, str]] = {"Edge": "edge", "Passthrough": "passthrough", "Reencrypt": "reencrypt"}
"""Spellings that admission turns into the API's own (``pkg/route/defaulting``)."""
_MOST: Final = 16
"""Routers that may have admitted one Route."""


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


def hosts(route: KubeObject) -> tuple[str, ...]:
    """The names by which clients reach it, those that routers admitted too; of a wildcard the whole subdomain."""
    said = (route.text("spec", "host"), *(each.text("host") for each in islice(route.each("status", "ingress"), _MOST)))
    names = dict.fromkeys(name.lower() for name in said if name)
    if route.text("spec", "wildcardPolicy") == "Subdomain":
        names = dict.fromkeys(f"*.{name.partition('.')[2]}" for name in names if "." in name)
    return tuple(names)


def inline(route: KubeObject) -> KubeObject | None:
    """The Route's own certificate in the shape of what holds one in ``tls.crt``, under the Route's name."""
    text = route.text(*TLS, "certificate")
    if not text or not terminates(route):
        return None
    coded = b64encode(text.encode()).decode()
    return KubeObject({"metadata": route.at("metadata"), "binaryData": {"tls.crt": coded}}, ROUTE)


def served(subject: Subject) -> tuple[KubeObject, Steps] | None:
    """What holds the certificate of a Route, and the field that says so; None where it has none, or nobody saw it."""
    route = subject.object
    if name := external(route):
        found = secret_of(subject, name)
        return None if isinstance(found, Missing) else (found, EXTERNAL)
    own = inline(route)
    return (own, (*TLS, "certificate")) if own is not None else None
