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
    """The credential for the API server. Without any field: anonymous."""

    token: str | None = field(default=None, repr=False)
    pair: Pair | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of impersonation (``kubectl --as``)."""


class Source(Protocol):
    """A source of credentials, which can renew an expired one."""

    async def credential(self, *, renew: bool = False) -> Credential:
        """Return the credential; ``renew``: the API server refused the last one. Raises ``ScannerError``."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The verification of the API server's certificate."""

    authorities: bytes | None = None
    """CA certificates in PEM; None: those of the system."""
    server_name: str | None = None
    """``tls-server-name``: the name for SNI and for the certificate, instead of the URL's host."""
    verify: bool = True
    """False is ``insecure-skip-tls-verify``: an attacker on the network path can read the credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One cluster's API and the credential for it, which is sent to ``server`` only."""

    name: str
    """Name of the cluster: the context of the kubeconfig, or ``in-cluster``."""
    server: str
    """``https://host:port/prefix``, without credentials."""
    source: Source = field(repr=False)
    trust: Trust = Trust()
    proxy: str | None = field(default=None, repr=False)
    """URL of an HTTP proxy, which may hold a password."""
    namespace: str = "default"
    origin: str = ""
    """File, context, cluster and user, for error messages."""
    warnings: tuple[str, ...] = ()
    """Warnings to show before the credential is sent."""


def ssl_context(access: Access, pair: Pair | None) -> ssl.SSLContext:
    """The client's TLS settings. Raises ``InputError`` for invalid CA certificates, ``ClusterError`` for an invalid
    client certificate."""
    trust = access.trust
    try:
        context = ssl.create_default_context(cadata=trust.authorities.decode("ascii") if trust.authorities else None)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            f"{access.origin}: the certificate authority is not a PEM certificate: {error}",
            hint="certificate-authority-data is base64 of PEM; certificate-authority names a PEM file",
        ) from None
    # SSLKEYLOGFILE of the environment would write this connection's secrets into a file.
    context.keylog_filename = None  # type: ignore[assignment]
    # Python 3.13 sets strict verification by RFC 5280; the CAs of many clusters lack a key identifier.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        _load(context, pair, access.origin)
    return context


def _load(context: ssl.SSLContext, pair: Pair, origin: str) -> None:
    """Load the key without a file on disk, since OpenSSL's Python binding reads keys from files only."""
    descriptor = os.memfd_create("adhere", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(pair.certificate.rstrip() + b"\n" + pair.key.rstrip() + b"\n")
        # Without ``password``, OpenSSL asks the terminal for that of an encrypted key, and a scan would hang.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=b"")
    except (ssl.SSLError, ValueError, OSError) as error:
        raise ClusterError(
            f"{origin}: the client certificate or its key is invalid: {_without_paths(error)}",
            hint="both are PEM, the key is not encrypted, and they belong together",
        ) from None
    finally:
        os.close(descriptor)


def _without_paths(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)


_PORTS = {"http": 80, "https": 443}


def environment_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy for ``server`` by HTTPS_PROXY or HTTP_PROXY and NO_PROXY (or in lower case), or None.

    Loopback addresses have no proxy. ALL_PROXY is not read: neither kubectl nor oc read it.
    """
    url = urlsplit(server)
    scheme = url.scheme or "https"
    proxy = _variable(environment, f"{scheme}_proxy")
    if not proxy or _direct(url, _variable(environment, "no_proxy")):
        return None
    return checked_proxy(proxy if "://" in proxy else f"http://{proxy}", f"{scheme.upper()}_PROXY")


def checked_proxy(proxy: str, origin: str) -> str:
    """Return ``proxy``. Raises ``InputError`` for an unusable one, without the URL: it may contain a password."""
    try:
        url = urlsplit(proxy)
        scheme, usable = url.scheme, is_usable_url(proxy) and (url.port or 0) >= 0
    except ValueError:
        scheme, usable = "http", False
    if scheme not in _PORTS:
        raise InputError(f"{origin}: proxy scheme {scheme[:20]!r} is not supported", hint="use an HTTP proxy")
    if not usable:
        raise InputError(f"{origin}: the proxy is not a valid URL", hint="write http://host:port")
    return proxy


def is_usable_url(url: str) -> bool:
    """True if the HTTP client accepts this URL; it is stricter than ``urlsplit``, for example about international
    names."""
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
    name, entry_port = _split(entry)
    if entry_port and entry_port != str(port):
        return False
    entry_address = _address(name)
    if entry_address is not None or address is not None:
        return entry_address == address
    domain = name.removeprefix("*")
    return host.endswith(domain) if domain.startswith(".") else host == domain or host.endswith(f".{domain}")


def _split(entry: str) -> tuple[str, str]:
    """Host and port; an IPv6 address with a port is in brackets."""
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
