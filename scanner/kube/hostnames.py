"""Hostnames of the Gateway API, where ``*.shop.example`` stands for one label or more (apis/v1 ``Hostname``)."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def narrower(one: str, other: str) -> str:
    """In lower case, the hostname of those that both match, or "" where there is none. Empty matches every name."""
    one, other = one.lower(), other.lower()
    if one == other:
        return one
    if "*" not in one and "*" not in other and one and other:
        return ""
    if not other or within(one, other):
        return one
    return other if not one or within(other, one) else ""


def within(name: str, pattern: str) -> bool:
    """Whether all that ``name`` stands for, ``pattern`` matches. Both are hostnames in lower case."""
    if not pattern.startswith("*."):
        return pattern == name
    return name.removeprefix("*").endswith(pattern[1:]) and (name.startswith("*.") or len(name) > len(pattern) - 1)


def overlap(one: str, other: str) -> bool:
    """Whether some name is matched by both; empty matches every name."""
    return not one or not other or bool(narrower(one, other))


def is_address(text: str) -> bool:
    """Whether it is an IP address, which no hostname may be."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def host_of(url: str) -> str:
    """The host in a URL, or "" where there is none."""
    try:
        return urlsplit(url[:2048]).hostname or ""
    except ValueError:
        return ""
