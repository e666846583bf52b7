"""Which HTTP proxy stands between us and an API server.

The HTTP client has a reading of ``NO_PROXY`` of its own that knows no CIDR, and clusters inject exactly that
(``172.30.0.0/16``) into every pod. So the decision is made here, as Go's clients make it
(golang.org/x/net/http/httpproxy), and the HTTP client is told the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import httpx2

from scanner.errors import InputError

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
