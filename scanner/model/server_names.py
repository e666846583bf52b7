"""Server names as they are sent (RFC 6066, section 3), and what names and protocols of ports say of TLS."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import AF_INET, inet_pton
from typing import Final

MAX_NAME = 253
"""Characters of a DNS name, hence of the name of any object that can listen (RFC 1035, section 3.1)."""
PROBE_LABEL = "adhere-probe"
"""What stands for the asterisk where a wildcard is asked for: one label, which every reading of wildcards covers."""

_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\Z")
_ADDRESS = re.compile(r"[0-9a-fA-F:.]{2,45}\Z")


def server_name(text: str) -> str | None:
    """A concrete name for SNI: lower case, without the last dot, a wildcard's asterisk filled in; else None.

    An IP address is none: RFC 6066, section 3.
    """
    name = text[: MAX_NAME + 2].lower().removesuffix(".")
    if name.startswith("*."):
        name = f"{PROBE_LABEL}{name[1:]}"
    return name if _HOST.match(name) and parsed(name) is None else None


@lru_cache(maxsize=1 << 17)
def parsed(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address, or None."""
    if not _ADDRESS.match(text):
        return None
    try:
        # Of IPv4 both take four decimal numbers without leading zeros and nothing else; the C library is faster.
        return ip_address(text) if ":" in text else IPv4Address(inet_pton(AF_INET, text))
    except (ValueError, OSError):
        return None


NOBODYS = "no-such-name.adhere.invalid"
"""A name that nobody can have (RFC 6761, section 6.4)."""
_PATH: Final = re.compile(r"/[!-~]{0,1000}")


def asked_path(path: str) -> str:
    """``path`` where a request can have it as it stands (RFC 9112, section 3.2.1), else ``/``."""
    return path if _PATH.fullmatch(path) else "/"


_TLS = frozenset({"https", "tls", "ssl", "wss", "grpcs", "kubernetes.io/wss", "ldaps", "amqps", "mqtts"})
"""``appProtocol`` of Service ports (Kubernetes, core/v1 ServicePort; IANA service names) that mean TLS."""
_PLAIN = frozenset({"http", "ws", "h2c", "kubernetes.io/h2c", "kubernetes.io/ws"})
"""Those that mean HTTP without."""
_TLS_NAME = re.compile(r"https|(^|-)(tls|ssl|wss|grpcs|ldaps|amqps|mqtts|webhook)(-|$)|^webhook")
"""Port names: ``https``, ``https-metrics``, ``metrics-tls``, ``webhook-server``."""
_PLAIN_NAME = re.compile(r"(^|-)(http|h2c|ws)(-|$)")


def protocol_says(app_protocol: str) -> bool | None:
    """Whether an ``appProtocol`` means TLS; None where it means neither that nor plain HTTP."""
    protocol = app_protocol.lower()
    return True if protocol in _TLS else False if protocol in _PLAIN else None


def name_says(name: str) -> bool | None:
    """The same of a port's name, which is a hint and no promise."""
    lower = name.lower()
    return True if _TLS_NAME.search(lower) else False if _PLAIN_NAME.search(lower) else None
