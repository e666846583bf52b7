"""Server names as they are sent (RFC 6066, section 3): what is no DNS name is not sent anywhere."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import AF_INET, inet_pton

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
