"""A certificate where it was found: served by a listener, in an object of the cluster, or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.kube.objects import Reference
from scanner.tls.certificate import CertificateFacts

Role = Literal["leaf", "issuer", "trusted", "client", "request"]
"""``leaf``: first of a chain, with a key beside it or served. ``issuer``: sent or kept behind a leaf. ``trusted``: of a
bundle of CAs. ``client``: of a kubeconfig or another client. ``request``: of a CertificateSigningRequest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where it is."""

    role: Role
    reference: Reference | None = None
    """The object that holds it, or None."""
    field: str = ""
    """``data[tls.crt]``, ``webhooks[0].clientConfig.caBundle``; of several with its number: ``data[ca.crt] 2``."""
    endpoint: str = ""
    """Id of the listener that served it."""
    port: int | None = None
    """Of that listener."""
    component: str | None = None
    """Of that listener, in the component catalogue."""
    file: str = ""
    """Path, and what in it: ``ca.pem 2``, ``store.p12 alias web``."""
    user_provided: str | None = None
    """Why it is nobody's to generate: the object and field by which somebody gave it."""
    key_matches: bool | None = None
    """Whether the private key beside it is its own; None where there is none to be seen."""

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.reference or ""), self.field, self.endpoint, self.file)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCertificate:
    """One certificate in one place."""

    facts: CertificateFacts
    place: Place
    chain: tuple[CertificateFacts, ...] = ()
    """What follows it there, its issuer first; where that is known."""
