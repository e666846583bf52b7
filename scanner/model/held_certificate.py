"""A certificate and its place: served by a listener, in an object of the cluster, or in a file."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from scanner.kube.objects import Reference
from scanner.tls.certificate import CertificateFacts

Role = Literal["leaf", "issuer", "trusted", "client", "request"]
"""``leaf``: first of a chain, with a key or served. ``issuer``: sent or stored after a leaf. ``trusted``: in a
bundle of CAs. ``client``: of a kubeconfig or another client. ``request``: of a CertificateSigningRequest."""


class Place(Struct, frozen=True, kw_only=True):
    """The place of a certificate."""

    role: Role
    reference: Reference | None = None
    """Its object, or None."""
    field: str = ""
    """``data[tls.crt]``, ``webhooks[0].clientConfig.caBundle``; one of several with its number: ``data[ca.crt] 2``."""
    endpoint: str = ""
    """Id of the listener that served it."""
    port: int | None = None
    """Port of that listener."""
    component: str | None = None
    """Component of that listener in the catalogue."""
    file: str = ""
    """Path, and the entry in it: ``ca.pem 2``, ``store.p12 alias web``."""
    user_provided: str | None = None
    """The object and field by which a user provided it; None: generated."""
    key_matches: bool | None = None
    """True if the private key beside it matches; None if there is none."""

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.reference or ""), self.field, self.endpoint, self.file)))


class HeldCertificate(Struct, frozen=True, kw_only=True):
    """One certificate in one place."""

    facts: CertificateFacts
    place: Place
    chain: tuple[CertificateFacts, ...] = ()
    """Certificates after it, its issuer first, if known."""
