"""An endpoint: something that should speak TLS, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Transport = Literal["tls", "postgres", "mysql", "smtp", "imap", "pop3", "ldap", "ftp", "xmpp"]
"""``tls`` is TLS from the first byte; the others upgrade by the protocol's STARTTLS."""

Certainty = Literal["declared", "hinted", "candidate"]
"""``declared``: a person or an object says that it is TLS. ``hinted``: a name or port suggests it. ``candidate``:
an open port, no more: plaintext there is not applicable, not a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The object that the listener belongs to; for a target list, the target itself."""

    kind: str
    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One listener at one address."""

    id: str
    """The workload's listener, the same from run to run: no IP of a pod, no pod hash. Replicas share it."""
    instance: str
    """``id`` with the address (and vantage) that was dialled: one observation each."""
    address: str
    """The IP address that is dialled, without brackets."""
    port: int
    server_name: str | None = None
    """What is sent as SNI (RFC 6066, section 3), or None for no server_name extension."""
    transport: Transport = "tls"
    host: str = ""
    """What the user or the object called it, before name resolution; what a certificate must be valid for."""
    owner: Owner
    component: str | None = None
    """Name in the component catalogue, where one matched."""
    segment: str | None = None
    """``Frontend`` or ``Backend``, as GEP-2907 uses the words, where a gateway or router is involved."""
    certainty: Certainty = "declared"
    origins: tuple[str, ...] = ()
    """Every object, file line or argument that led here."""
