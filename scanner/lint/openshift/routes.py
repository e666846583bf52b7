"""What rules on Routes share: how the API reads a Route (openshift/api route/v1, library-go ``pkg/route``)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Subject
from scanner.tls.certificate import CertificateFacts

TLS: Final = ("spec", "tls")
EXTERNAL: Final = (*TLS, "externalCertificate")
_DEFAULTED: Final[Mapping[str, str]] = {"Edge": "edge", "Passthrough": "passthrough", "Reencrypt": "reencrypt"}
"""Spellings that admission turns into the API's own (``pkg/route/defaulting``)."""
_MOST: Final = 16
"""Routers that may have admitted one Route."""

KEYS: Final = ("RSA", "ECDSA")
"""Of private keys that the router takes (openshift/router ``pkg/router/routeapihelpers/validation.go``)."""
_OLD: Final = ("SHA1", "MD5", "MD2")
_LABEL: Final = re.compile(r"-----BEGIN ([^\n-]{1,60})-----[^-]*-----END \1-----")
_BLOCKS: Final = frozenset(
    {
        *("CERTIFICATE", "EC PARAMETERS", "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY"),
        *("PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY"),
    }
)
"""What the router knows in PEM (``knownBlockDecoders``, the same file)."""


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


def rejected_signature(certificate: CertificateFacts) -> str | None:
    """Why the router takes none of what the certificate is in, in its words, or None. What signed itself it takes."""
    signed = certificate.signature_hash
    if signed in _OLD and not certificate.self_issued:
        return f"router does not support CA-signed certs using {signed}"
    return None


def unrecognized(text: str) -> str | None:
    """Why the router takes none of a text in PEM: a block that it does not know."""
    label = next((match[1] for match in _LABEL.finditer(text) if match[1] not in _BLOCKS), None)
    return f"unrecognized PEM block {label}" if label else None


def beside_key(holder: KubeObject) -> str | None:
    """Why the router takes no key of a Route or Secret: something else stands there too."""
    labels = holder.texts("adhere", "keyBlocks")
    return f"field contains invalid types {', '.join(labels)}" if labels else None


def served(subject: Subject) -> tuple[KubeObject, Steps] | None:
    """What holds the certificate of a Route, and the field that says so; None where it has none, or nobody saw it."""
    route = subject.object
    if name := external(route):
        found = secret_of(subject, name)
        return None if isinstance(found, Missing) else (found, EXTERNAL)
    own = inline(route)
    return (own, (*TLS, "certificate")) if own is not None else None
