"""An API server and how to reach it: URL, trust, credential, and the HTTP proxy between."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

import httpx2

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


_PORTS = {"http": 80, "https": 443}


def environment_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy for ``server`` by HTTPS_PROXY or HTTP_PROXY and NO_PROXY (or in lower case), or None.

    Loopback addresses are never proxied. ALL_PROXY is not read: neither kubectl nor oc do.
    """
    url = urlsplit(server)
    scheme = url.scheme or "https"
    proxy = _variable(environment, f"{scheme}_proxy")
    if not proxy or _direct(url, _variable(environment, "no_proxy")):
        return None
    return checked(proxy if "://" in proxy else f"http://{proxy}", f"{scheme.upper()}_PROXY")


def checked(proxy: str, origin: str) -> str:
    """``proxy`` if it is one that we can use. Raises ``InputError``, without the URL: it may hold a password."""
    try:
        url = urlsplit(proxy)
        scheme, usable = url.scheme, understood(proxy) and (url.port or 0) >= 0
    except ValueError:
        scheme, usable = "http", False
    if scheme not in _PORTS:
        raise InputError(f"{origin}: a proxy of the scheme {scheme[:20]!r} is not supported", hint="use an HTTP proxy")
    if not usable:
        raise InputError(f"{origin}: the proxy is not a URL that can be asked", hint="write http://host:port")
    return proxy


def understood(url: str) -> bool:
    """Whether the HTTP client can ask at this URL: it is stricter than most, about international names for one."""
    try:
        host = httpx2.URL(url).host
        return bool(host and (":" in host or host.encode("idna")))
    except (httpx2.InvalidURL, ValueError):
        return False


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _direct(url: SplitResult, no_proxy: str) -> bool:
    host = (url.hostname or "").rstrip(".").lower()
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    port = url.port or _PORTS.get(url.scheme, 0)
    return any(_excepts(entry.strip().lower(), host, address, port) for entry in no_proxy.split(","))


def _excepts(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _split(entry)
    if wanted and wanted != str(port):
        return False
    meant = _address(name)
    if meant is not None or address is not None:
        return meant == address
    bare = name.removeprefix("*")
    return host.endswith(bare) if bare.startswith(".") else host == bare or host.endswith(f".{bare}")


def _split(entry: str) -> tuple[str, str]:
    """Host and port; an IPv6 address with a port stands in brackets."""
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
