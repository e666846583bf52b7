"""An API server and what is needed to talk to it: its URL, whom to trust, the proxy between, and who we are."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from typing import Protocol

from scanner.errors import ClusterError, InputError


@dataclass(frozen=True, slots=True)
class Pair:
    """A client certificate and its key, both PEM. The key is never shown, and never put on a disk."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """Who we are to the API server. Nothing set: anonymous."""

    token: str | None = field(default=None, repr=False)
    pair: Pair | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Impersonation, as ``kubectl --as`` has it."""


class Source(Protocol):
    """Where a credential comes from, and comes from again when it has expired."""

    async def credential(self, *, renew: bool = False) -> Credential:
        """The credential to use now; ``renew``: the API server refused the last one. Raises ``ScannerError``."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the API server proves that it is the one."""

    authorities: bytes | None = None
    """PEM; None: those of the system."""
    server_name: str | None = None
    """``tls-server-name``: sent as SNI and looked for in the certificate instead of the URL's host."""
    verify: bool = True
    """False is ``insecure-skip-tls-verify``: anybody between here and there can read the credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One cluster's API, and the right to read it. The credential goes to ``server`` and to nobody else."""

    name: str
    """What the user calls the cluster: the context of the kubeconfig, or ``in-cluster``."""
    server: str
    """``https://host:port/prefix``, without credentials."""
    source: Source = field(repr=False)
    trust: Trust = Trust()
    proxy: str | None = field(default=None, repr=False)
    """URL of an HTTP proxy, which may hold a password."""
    namespace: str = "default"
    origin: str = ""
    """For error messages: the file, context, cluster and user that this is made of."""
    warnings: tuple[str, ...] = ()
    """What the user should know before a token travels."""


def ssl_context(access: Access, pair: Pair | None) -> ssl.SSLContext:
    """The client's TLS settings. Raises ``InputError`` for CA certificates, and ``ClusterError`` for a client
    certificate, that OpenSSL does not take."""
    trust = access.trust
    try:
        context = ssl.create_default_context(cadata=trust.authorities.decode("ascii") if trust.authorities else None)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            f"{access.origin}: the certificate authority is no PEM certificate: {error}",
            hint="certificate-authority-data is base64 of PEM; certificate-authority names a PEM file",
        ) from None
    # SSLKEYLOGFILE of the environment would write this connection's secrets into a file.
    context.keylog_filename = None  # type: ignore[assignment]
    # Python 3.13 made RFC 5280's every MUST mandatory; the CAs of many clusters lack a key identifier.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        _load(context, pair, access.origin)
    return context


def _load(context: ssl.SSLContext, pair: Pair, origin: str) -> None:
    """OpenSSL's Python binding takes keys from files only: this one lives in memory and has no name on any disk."""
    descriptor = os.memfd_create("adhere", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(pair.certificate.rstrip() + b"\n" + pair.key.rstrip() + b"\n")
        # Without ``password`` OpenSSL asks the terminal for the one of an encrypted key, and a scan would hang.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=b"")
    except (ssl.SSLError, ValueError, OSError) as error:
        raise ClusterError(
            f"{origin}: the client certificate or its key is not usable: {_without_paths(error)}",
            hint="both are PEM, the key is not encrypted, and they belong together",
        ) from None
    finally:
        os.close(descriptor)


def _without_paths(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)
