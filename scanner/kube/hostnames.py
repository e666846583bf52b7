"""Hostnames, addresses and ports in objects, and server names for SNI (RFC 6066, section 3).

In a hostname of the Gateway API (apis/v1 ``Hostname``) ``*.shop.example`` matches one label or more. A text that is no
DNS name, address or port is never sent.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import AF_INET, inet_pton
from typing import Final
from urllib.parse import quote, urlsplit


def narrower(one: str, other: str) -> str:
    """The narrower of two hostnames, in lower case, or "" if no name matches both. An empty hostname matches every
    name."""
    one, other = one.lower(), other.lower()
    if one == other:
        return one
    if "*" not in one and "*" not in other and one and other:
        return ""
    if not other or within(one, other):
        return one
    return other if not one or within(other, one) else ""


def within(name: str, pattern: str) -> bool:
    """True if ``pattern`` matches every name that ``name`` matches. Both are hostnames in lower case."""
    if not pattern.startswith("*."):
        return pattern == name
    return name.removeprefix("*").endswith(pattern[1:]) and (name.startswith("*.") or len(name) > len(pattern) - 1)


def overlap(one: str, other: str) -> bool:
    """True if some name matches both; an empty hostname matches every name."""
    return not one or not other or bool(narrower(one, other))


def is_address(text: str) -> bool:
    """True if it is an IP address, which no hostname may be."""
    return parse_address(text) is not None


def host_of(url: str) -> str:
    """The host in a URL, or "" if there is none."""
    try:
        return urlsplit(url[:2048]).hostname or ""
    except ValueError:
        return ""


def https_place(url: str) -> tuple[str, int] | None:
    """The IP address or server name, and the port, of an ``https`` URL; None if it is none."""
    try:
        parts = urlsplit(url[:2048])
        number = parts.port or 443
    except ValueError:
        return None
    host = address(parts.hostname or "") or server_name(parts.hostname or "")
    return (host, number) if host and parts.scheme == "https" else None


MAX_NAME = 253
"""Maximum length of a DNS name, hence of the name of any object that can listen (RFC 1035, section 3.1)."""
PROBE_LABEL = "adhere-probe"
"""Label that replaces the asterisk of a wildcard in a request: one label, which every reading of wildcards covers."""

_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\Z")
_ADDRESS = re.compile(r"[0-9a-fA-F:.]{2,45}\Z")


def server_name(text: str) -> str | None:
    """Convert a hostname to a server name for SNI: lower case, no final dot, a wildcard's asterisk replaced; else None.

    An IP address is no server name: RFC 6066, section 3.
    """
    name = text[: MAX_NAME + 2].lower().removesuffix(".")
    if name.startswith("*."):
        name = f"{PROBE_LABEL}{name[1:]}"
    return name if _HOST.match(name) and parse_address(name) is None else None


@lru_cache(maxsize=1 << 17)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address; None if it is none."""
    if not _ADDRESS.match(text):
        return None
    try:
        # Both accept the same IPv4 texts: four decimal numbers without leading zeros. The C library is faster.
        return ip_address(text) if ":" in text else IPv4Address(inet_pton(AF_INET, text))
    except (ValueError, OSError):
        return None


def parse_zoned_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address that may have a zone, as ``fe80::1%eth0`` (RFC 4007 section 11); the zone is left out."""
    return parse_address(text.partition("%")[0] if ":" in text else text)


NO_SUCH_NAME = "no-such-name.adhere.invalid"
"""A name that cannot exist (RFC 6761, section 6.4)."""
_PATH: Final = re.compile(r"/[!-~]{0,1000}")


def request_path(path: str) -> str:
    """``path`` if a request can contain it unchanged (RFC 9112, section 3.2.1), else ``/``."""
    return path if _PATH.fullmatch(path) else "/"


MAX_NAMES = 100
"""Maximum number of server names that one object adds to one listener. A certificate seldom has more."""
_PRINTABLE = re.compile(r"[^\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff]{1,253}\Z")


def address(text: str) -> str | None:
    """Parse an IP address to its canonical text; None if it is none."""
    found = parse_address(text)
    return text if isinstance(found, IPv4Address) else str(found) if found else None  # IPv4 has one text only


def port(number: object) -> int | None:
    """Parse a port that can be dialled; else None. Text of digits counts, as in an IntOrString that was quoted."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 6:
        number = int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 65536 else None


def valid_names(*texts: str | None) -> bool:
    """True if an API server accepts these texts as names."""
    return all(each is not None and _PRINTABLE.match(each) for each in texts)


def escaped_id(text: str) -> str:
    """Escape a name for use in an id: the separators of ids must not be in it."""
    return text if text.replace("-", "").isalnum() and text.isascii() else quote(text, safe="-._~ ()")
